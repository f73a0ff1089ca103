//! A wire of a given speed between two networks of this machine.
//!
//! It is a pair of virtual Ethernet devices, each with a token bucket that counts what a frame takes on a real wire: preamble,
//! checksum and the gap behind it. No super-segment crosses it: each frame is counted by itself.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::process;
use std::thread;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};

use crate::tool::{ToolError, run};

/// The address of the network with the servers.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Both addresses, as exports name clients.
pub(crate) const NETWORK: &str = "10.77.0.0/30";
const PREFIX: u8 = 30;

const SERVER_DEVICE: &str = "wire-server";
const CLIENT_DEVICE: &str = "wire-client";
const RATE: &str = "1gbit";
pub(crate) const MTU: &str = "1500";
/// Bytes of preamble, checksum and gap of a frame.
pub(crate) const OVERHEAD_BYTES: &str = "24";
/// The MTU, the Ethernet header and the overhead.
const FRAME_BYTES: &str = "1538";
/// How much may leave at once when the bucket's timer was late.
const BURST: &str = "64kb";
/// Far more than any wire here has: the second bucket only keeps super-segments from being counted as one frame.
const PEAK: &str = "400gbit";
/// How much may wait for the wire: more than most windows, since lost frames are not what is measured.
const QUEUE: &str = "8mb";

/// Two networks with a wire between them, which end with this and the processes in them.
#[derive(Debug)]
pub(crate) struct Wire {
    home: File,
    server: File,
    client: File,
}

impl Wire {
    /// Makes the networks and the wire. This thread stays where it is.
    pub(crate) fn new() -> Result<Wire, ToolError> {
        let home = network()?;
        let made = own_network().and_then(|server| {
            enter(&home)?;
            Ok((server, own_network()?))
        });
        enter(&home)?;
        let (server, client) = made?;
        let wire = Wire { home, server, client };
        wire.at_client(|| {
            let there = format!("/proc/{}/fd/{}", process::id(), wire.server.as_raw_fd());
            let peer = ["peer", "name", SERVER_DEVICE, "mtu", MTU, "netns", &there];
            let device = ["link", "add", CLIENT_DEVICE, "mtu", MTU, "type", "veth"];
            run("ip", &[&device[..], &peer].concat())?;
            bring_up(CLIENT_DEVICE, CLIENT)
        })??;
        wire.at_server(|| bring_up(SERVER_DEVICE, SERVER))??;
        Ok(wire)
    }

    /// Does something in the servers' network. Processes that it starts stay there.
    pub(crate) fn at_server<T>(&self, work: impl FnOnce() -> T) -> Result<T, ToolError> {
        self.within(&self.server, work)
    }

    /// Does something at the other end of the wire.
    pub(crate) fn at_client<T>(&self, work: impl FnOnce() -> T) -> Result<T, ToolError> {
        self.within(&self.client, work)
    }

    fn within<T>(&self, network: &File, work: impl FnOnce() -> T) -> Result<T, ToolError> {
        enter(network)?;
        let result = work();
        enter(&self.home)?;
        Ok(result)
    }
}

/// Whether this program may make networks: tried by a thread that ends with what it made.
pub(crate) fn is_permitted() -> bool {
    thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET).is_ok()).join().unwrap_or(false)
}

fn bring_up(device: &str, address: Ipv4Addr) -> Result<(), ToolError> {
    run("ip", &["link", "set", "lo", "up"])?;
    run("ip", &["link", "set", device, "gso_max_segs", "1"])?;
    run("ip", &["address", "add", &format!("{address}/{PREFIX}"), "dev", device])?;
    let bucket = ["tbf", "rate", RATE, "burst", BURST, "limit", QUEUE, "overhead", OVERHEAD_BYTES];
    let frames = ["peakrate", PEAK, "mtu", FRAME_BYTES];
    run("tc", &[&["qdisc", "add", "dev", device, "root"][..], &bucket, &frames].concat())?;
    run("ip", &["link", "set", device, "up"]).map(drop)
}

/// Moves this thread into a network of its own.
fn own_network() -> Result<File, ToolError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(failed)?;
    network()
}

/// The network of this thread.
fn network() -> Result<File, ToolError> {
    File::open("/proc/thread-self/ns/net").map_err(ToolError::Namespace)
}

fn enter(network: &File) -> Result<(), ToolError> {
    setns(network, CloneFlags::CLONE_NEWNET).map_err(failed)
}

fn failed(errno: Errno) -> ToolError {
    ToolError::Namespace(io::Error::from(errno))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn ends_of_the_wire_reach_each_other_and_this_thread_is_where_it_was() {
        if !is_permitted() {
            println!("skipped: networks of one's own need root");
            return;
        }
        let inode = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        let before = inode();
        let wire = Wire::new().unwrap();
        let listener = wire.at_server(|| TcpListener::bind((SERVER, 0)).unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        let caller = wire.at_client(|| TcpStream::connect((SERVER, port)).unwrap()).unwrap();
        let (_, from) = listener.accept().unwrap();
        assert_eq!((from, from.ip()), (caller.local_addr().unwrap(), CLIENT.into()));
        assert_eq!(inode(), before);
    }
}
