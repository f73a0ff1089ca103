//! Two networks of this machine, connected by a wire of limited speed.
//!
//! The wire is a pair of virtual Ethernet devices. Each has a token bucket that includes the overhead of a frame on a
//! real wire: preamble, checksum and gap, 24 bytes in all. Super-segments are segmented before they are counted, as a
//! network card does.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use crate::kernel::{self, Control, Listener, Test, TestResult};
use crate::sys::{self, Feature};

/// The address of this end. Only the two ends are in the networks.
pub(crate) const HERE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The address of the other end.
pub const THERE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The length of the common prefix of both addresses.
pub const PREFIX: u8 = 30;
/// The other end's Ethernet address, from the locally administered range.
pub(crate) const THERE_MAC: [u8; 6] = [2, 0, 0, 77, 0, 1];
/// The device of the wire at this end, and the bridge to a TAP device.
const DEVICE: &str = "wire0";
const BRIDGE: &str = "bridge0";
/// The length of a frame's Ethernet header.
const ETHERNET_BYTES: u16 = 14;
/// The bytes of preamble, checksum and gap of a frame on a wire.
pub const WIRE_BYTES: u16 = 24;
/// The maximum burst when the bucket's timer is late.
const BURST: &str = "64kb";
/// Far faster than any wire here. The second bucket only prevents super-segments from being counted as one frame.
const PEAK: &str = "400gbit";
/// The queue of the wire: larger than most windows, because packet loss is not measured.
const LIMIT: &str = "8mb";

/// The properties of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkOptions {
    /// Its speed in bits per second, in each direction.
    pub bits_per_second: u64,
    /// The maximum size of an IP packet.
    pub mtu: u16,
}

/// Why the wire cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Network namespaces require privileges.
    #[error("network namespaces need the superuser's rights: run this with sudo, or as unshare -rn wharf …")]
    Permission,
    /// A program is not installed.
    #[error("there is no program {program}; install iproute2")]
    NoProgram {
        /// Its name.
        program: &'static str,
    },
    /// A program fails.
    #[error(
        "{command} fails: {said}; the kernel may lack veth, bridge or sch_tbf: modprobe them, or use another machine"
    )]
    Command {
        /// What was run.
        command: String,
        /// What it said.
        said: String,
    },
    /// The system refuses something.
    #[error("cannot change to another network namespace: {0}")]
    System(#[source] io::Error),
    /// The kernel's work on received frames has no thread of its own.
    #[error(
        "no kernel thread receives the frames of the wire: cannot {action}: {source}; run as root outside of a \
         container, with Linux 5.13 or newer"
    )]
    Thread {
        /// What was tried.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// The wire, as long as this lives. It belongs to the thread that made it, which is in this end's network.
#[derive(Debug)]
pub(crate) struct Link {
    here: File,
    there: File,
    /// The device of the other end; its name is unique, because the kernel names a thread after it.
    peer: String,
}

impl Link {
    /// Moves this thread to a new network with a wire to another one.
    pub fn new(options: LinkOptions) -> Result<Link, LinkError> {
        own_network().map_err(failed)?;
        let there = network()?;
        own_network().map_err(failed)?;
        let link = Link { here: network()?, there, peer: unique_name() };
        let peer = link.peer.as_str();
        let path = |file: &File| {
            use std::os::fd::AsRawFd;
            format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd())
        };
        let mtu = options.mtu.to_string();
        let mac = THERE_MAC.map(|byte| format!("{byte:02x}")).join(":");
        let device = ["link", "add", DEVICE, "mtu", &mtu, "type", "veth", "peer", "name", peer, "address", &mac];
        let netns = path(&link.there);
        ip(&[&device[..], &["mtu", &mtu, "netns", &netns]].concat())?;
        shape(DEVICE, options)?;
        ip(&["link", "set", DEVICE, "up"])?;
        let address = format!("{THERE}/{PREFIX}");
        link.there(|| {
            shape(peer, options)?;
            ip(&["address", "add", &address, "dev", peer])?;
            ip(&["link", "set", peer, "up"])
        })??;
        Ok(link)
    }

    /// Gives this end an address, for kernel sockets. Without offload it sends no super-segments.
    pub fn address(&self, has_offload: bool) -> Result<(), LinkError> {
        if !has_offload {
            ip(&["link", "set", DEVICE, "gso_max_segs", "1"])?;
        }
        ip(&["address", "add", &format!("{HERE}/{PREFIX}"), "dev", DEVICE])
    }

    /// Bridges the wire to other devices of this network.
    pub fn bridge(&self) -> Result<(), LinkError> {
        ip(&["link", "add", BRIDGE, "type", "bridge"])?;
        join_bridge(DEVICE)?;
        ip(&["link", "set", BRIDGE, "up"])
    }

    /// Runs `work` in the other end's network. Threads that it starts stay there.
    pub fn there<T>(&self, work: impl FnOnce() -> T) -> Result<T, LinkError> {
        within(&self.there, &self.here, work)
    }

    /// Has a thread of the kernel receive the frames at the other end, instead of the sender's one. Returns its number.
    pub fn receive_in_thread(&self) -> Result<u32, LinkError> {
        let failed = |action| move |source| LinkError::Thread { action, source };
        // A virtual device queues received frames only if it may merge them, and the sending one cannot have done so.
        self.there(|| sys::set_feature(&self.peer, Feature::Merging, true))?
            .map_err(failed("merge received frames"))?;
        sys::set_feature(DEVICE, Feature::Segmentation, false).map_err(failed("segment before frames are sent"))?;
        let attribute = format!("/sys/class/net/{}/threaded", self.peer);
        // The new thread shows the devices of its network under /sys, and nobody else does.
        let set = || thread::scope(|scope| scope.spawn(|| set_own_attribute(&attribute, "1")).join());
        let died = |_| io::Error::other("a thread has ended early");
        self.there(set)?.map_err(died).flatten().map_err(failed("set the attribute 'threaded' of its device"))?;
        receiving_thread(&self.peer).map_err(failed("find it in /proc"))
    }
}

/// Connects a device of this thread's network to its bridge.
pub(crate) fn join_bridge(device: &str) -> Result<(), LinkError> {
    ip(&["link", "set", device, "master", BRIDGE])
}

/// The number of frames sent so far by the end of a wire in this thread's network.
pub(crate) fn sent_frames() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    sent_packets(&text, DEVICE).unwrap_or_default()
}

/// A wire between two networks, to which the creating thread does not belong. They end with this and the processes in
/// them.
#[derive(Debug)]
pub struct Wire {
    home: File,
    link: Link,
}

impl Wire {
    /// Creates the networks and the wire.
    ///
    /// # Errors
    /// When the system does not allow it, or a program fails.
    pub fn new(options: LinkOptions) -> Result<Wire, LinkError> {
        Wire::make(options, |link| {
            link.address(true)?;
            link.there(|| ip(&["link", "set", "lo", "up"]))?
        })
    }

    /// Creates them for devices of this end's network, which join its bridge.
    pub(crate) fn bridged(options: LinkOptions) -> Result<Wire, LinkError> {
        Wire::make(options, Link::bridge)
    }

    fn make(options: LinkOptions, prepare: impl FnOnce(&Link) -> Result<(), LinkError>) -> Result<Wire, LinkError> {
        let home = network()?;
        let made = Link::new(options).and_then(|link| prepare(&link).map(|()| link));
        enter(&home)?;
        Ok(Wire { home, link: made? })
    }

    /// Moves this thread to this end's network.
    pub(crate) fn enter_here(&self) -> Result<(), LinkError> {
        enter(&self.link.here)
    }

    /// As [`Link::receive_in_thread`].
    pub(crate) fn receive_in_thread(&self) -> Result<u32, LinkError> {
        self.here(|| self.link.receive_in_thread())?
    }

    /// Runs `work` in this end's network.
    ///
    /// # Errors
    /// When the network cannot be entered or left.
    pub fn here<T>(&self, work: impl FnOnce() -> T) -> Result<T, LinkError> {
        within(&self.link.here, &self.home, work)
    }

    /// Runs `work` in the other end's network, with address [`THERE`]. Processes that it starts stay there.
    ///
    /// # Errors
    /// As for [`Wire::here`].
    pub fn there<T>(&self, work: impl FnOnce() -> T) -> Result<T, LinkError> {
        within(&self.link.there, &self.home, work)
    }
}

/// Whether this program may create networks: a thread tries, and ends with what it created.
pub fn is_permitted() -> bool {
    thread::spawn(|| own_network().is_ok()).join().unwrap_or(false)
}

/// Runs a test between two kernels over a wire, and returns the number of frames that this end sent.
///
/// # Errors
/// When there is no wire, or the test fails.
pub fn run(
    options: LinkOptions,
    has_offload: bool,
    test: &Test,
    control: &Control,
) -> Result<(TestResult, u64), Failure> {
    let died = || Failure::Link(LinkError::System(io::Error::other("a thread has ended early")));
    // The network belongs to the thread, and ends with it.
    thread::scope(|scope| scope.spawn(|| run_here(options, has_offload, test, control)).join()).unwrap_or(Err(died()))
}

/// Why a test over a wire has no result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There is no wire.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The test has failed.
    #[error(transparent)]
    Test(#[from] kernel::Error),
}

fn run_here(
    options: LinkOptions,
    has_offload: bool,
    test: &Test,
    control: &Control,
) -> Result<(TestResult, u64), Failure> {
    let link = Link::new(options)?;
    link.address(has_offload)?;
    let address = SocketAddr::from((THERE, kernel::DEFAULT_PORT));
    let listener = link.there(|| Listener::bind(address, 0))??;
    // It ends with its test. If the test never begins, this end fails, and the program ends.
    let serve = move || drop(listener.serve(true, |_| {}));
    link.there(|| thread::Builder::new().name("listener".to_owned()).spawn(serve))?.map_err(failed)?;
    let outcome = kernel::run(address, test, control)?;
    Ok((outcome, sent_frames()))
}

/// Moves this thread to a new network.
pub(crate) fn own_network() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWNET)?)
}

/// The network of this thread.
fn network() -> Result<File, LinkError> {
    File::open("/proc/thread-self/ns/net").map_err(failed)
}

fn enter(network: &File) -> Result<(), LinkError> {
    setns(network, CloneFlags::CLONE_NEWNET).map_err(|errno| failed(errno.into()))
}

/// Runs `work` in a network, and moves this thread to another one afterwards.
fn within<T>(network: &File, afterwards: &File, work: impl FnOnce() -> T) -> Result<T, LinkError> {
    enter(network)?;
    let result = work();
    enter(afterwards)?;
    Ok(result)
}

fn shape(device: &str, options: LinkOptions) -> Result<(), LinkError> {
    let rate = format!("{}bit", options.bits_per_second);
    let (overhead, mtu) = (WIRE_BYTES.to_string(), options.mtu.saturating_add(ETHERNET_BYTES + WIRE_BYTES).to_string());
    let bucket = ["tbf", "rate", &rate, "burst", BURST, "limit", LIMIT, "overhead", &overhead];
    call("tc", &[&["qdisc", "add", "dev", device, "root"], &bucket[..], &["peakrate", PEAK, "mtu", &mtu]].concat())
}

fn ip(arguments: &[&str]) -> Result<(), LinkError> {
    call("ip", arguments)
}

fn call(program: &'static str, arguments: &[&str]) -> Result<(), LinkError> {
    let output = Command::new(program).args(arguments).output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => LinkError::NoProgram { program },
        _ => LinkError::System(error),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let command = format!("{program} {}", arguments.join(" "));
    Err(LinkError::Command { command, said: String::from_utf8_lossy(&output.stderr).trim().to_owned() })
}

fn failed(error: io::Error) -> LinkError {
    match error.kind() {
        ErrorKind::PermissionDenied => LinkError::Permission,
        _ => LinkError::System(error),
    }
}

/// A name of a device that no other process or wire of this machine has.
fn unique_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("w{}n{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed) % 10_000)
}

/// Writes an attribute of a device below `/sys`, where this thread sees the devices of its network from now on.
fn set_own_attribute(path: &str, value: &str) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount::<str, str, str, str>(None, "/", None, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None)?;
    mount::<str, str, str, str>(None, "/sys", Some("sysfs"), MsFlags::empty(), None)?;
    fs::write(path, value)
}

/// The thread of the kernel that receives the frames of a device.
fn receiving_thread(device: &str) -> io::Result<u32> {
    let prefix = format!("napi/{device}-");
    let numbers = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_meant = |number: &u32| {
        let name = fs::read_to_string(format!("/proc/{number}/comm"));
        name.is_ok_and(|name| name.starts_with(&prefix))
    };
    let mut found = numbers.filter(is_meant);
    found.next().ok_or_else(|| ErrorKind::NotFound.into())
}

/// The tenth number after the device's name in /proc/net/dev.
fn sent_packets(text: &str, device: &str) -> Option<u64> {
    let counts = text.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    counts.split_whitespace().nth(9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn sent_packets_are_those_of_the_device() {
        let text = "Inter-|   Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10\n wire0: 1 2 3 4 5 6 7 8 9 42 0\n";
        assert_eq!(sent_packets(text, "wire0"), Some(42));
        assert_eq!(sent_packets(text, "wire"), None);
    }

    #[test]
    fn ends_of_a_wire_reach_each_other_and_this_thread_is_where_it_was() {
        if !is_permitted() {
            println!("skipped: networks of one's own need root");
            return;
        }
        let inode = || fs::read_link("/proc/thread-self/ns/net").unwrap();
        let before = inode();
        let wire = Wire::new(LinkOptions { bits_per_second: 1_000_000_000, mtu: 1500 }).unwrap();
        let listener = wire.there(|| TcpListener::bind((THERE, 0)).unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        let caller = wire.here(|| TcpStream::connect((THERE, port)).unwrap()).unwrap();
        let (_, from) = listener.accept().unwrap();
        assert_eq!((from, from.ip()), (caller.local_addr().unwrap(), HERE.into()));
        assert_eq!(inode(), before);
    }
}
