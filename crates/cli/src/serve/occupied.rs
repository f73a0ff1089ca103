//! Says who has what the server needs: a port or the state directory; and what to do about it.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use daemon::{StartError, StateDirError};
use fs_host::OpenError;
use net::NetError;
use rustix::io::Errno;

use crate::failure::{ExportError, Failure};

/// Ports below this one are for the superuser.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;
/// A port that anybody may listen on.
const NFS_PORT: u16 = 2049;

/// The failure of a start, with the process that is in the way if /proc shows it.
pub fn explained(failure: Failure) -> Failure {
    match failure {
        Failure::Start(StartError::Net(NetError::Bind { address, transport, source })) => {
            let advice = advice(address, transport, &source);
            Failure::Listen { address, transport, source, advice }
        }
        Failure::Start(StartError::State(StateDirError::InUse(dir))) => in_use(dir.clone(), &dir),
        Failure::Export { source: ExportError::Open(OpenError::StateInUse { file }), .. } => {
            in_use(file.parent().unwrap_or(Path::new("/")).to_owned(), &file)
        }
        Failure::Several(failures) => Failure::Several(failures.into_iter().map(explained).collect()),
        failure => failure,
    }
}

fn advice(address: SocketAddr, transport: &str, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            let other = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(NFS_PORT));
            let owner =
                owner_of_port(address, transport).map_or("another process".to_owned(), |owner| owner.to_string());
            format!("; {owner} uses the port: stop it, or choose another port with --listen {other}")
        }
        io::ErrorKind::PermissionDenied if address.port() < FIRST_UNPRIVILEGED_PORT => {
            let higher = SocketAddr::new(address.ip(), NFS_PORT);
            format!(
                "; ports below {FIRST_UNPRIVILEGED_PORT} require root or CAP_NET_BIND_SERVICE: choose a higher port \
                 with --listen {higher}"
            )
        }
        io::ErrorKind::AddrNotAvailable => {
            "; this machine does not have the address: `ip address` shows those that it \
                                            has"
            .to_owned()
        }
        _ if source.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => {
            "; the limit of open files is too low: raise it with `ulimit -n`, or LimitNOFILE= in a systemd unit"
                .to_owned()
        }
        _ => String::new(),
    }
}

/// `file`, in the state directory `dir`, is locked by another process.
fn in_use(dir: PathBuf, file: &Path) -> Failure {
    let holder = holder_of_lock(file).map_or("another server".to_owned(), |holder| holder.to_string());
    Failure::StateInUse { dir, holder }
}

/// A running process.
struct Process {
    id: u32,
    name: String,
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (process {})", self.name, self.id)
    }
}

impl Process {
    fn of(id: u32) -> Option<Process> {
        let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?.trim_end().to_owned();
        Some(Process { id, name })
    }
}

/// Who holds a lock (flock(2)) of a file: a line of /proc/locks has `FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF`.
fn holder_of_lock(file: &Path) -> Option<Process> {
    let inode = format!(":{}", fs::metadata(file).ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let words = locks.lines().map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>());
    let holder = words.filter(|words| words.first() == Some(&"FLOCK")).find(|words| words[4].ends_with(&inode));
    Process::of(holder?[3].parse().ok()?)
}

/// Who has a socket at the port. Only root sees the descriptors of other users' processes.
fn owner_of_port(address: SocketAddr, transport: &str) -> Option<Process> {
    let tables: &[&str] = match transport {
        "TCP" => &["tcp", "tcp6"],
        "UDP" => &["udp", "udp6"],
        _ => &["tcp", "tcp6", "udp", "udp6"],
    };
    let read = |table: &&str| fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
    let socket = tables.iter().map(read).find_map(|table| socket_at(&table, address))?;
    let link = PathBuf::from(format!("socket:[{socket}]"));
    let ids = fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let has_socket = |id: &u32| {
        let descriptors = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
        descriptors.into_iter().any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == link))
    };
    Process::of(ids.filter(|id| *id != std::process::id()).find(has_socket)?)
}

/// The inode of the socket in the way of `address`: one that is bound and not connected, at the same address or at all
/// of them.
fn socket_at(table: &str, address: SocketAddr) -> Option<u64> {
    const LISTENING: &str = "0A";
    const UNCONNECTED: &str = "07";
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (ip, port) = words.get(1)?.split_once(':')?;
        let is_bound = matches!(*words.get(3)?, LISTENING | UNCONNECTED);
        let is_in_the_way = u16::from_str_radix(port, 16).ok()? == address.port()
            && (ip.bytes().all(|digit| digit == b'0') || ip == in_hex(address.ip()) || address.ip().is_unspecified());
        (is_bound && is_in_the_way).then(|| words.get(9)?.parse().ok())?
    })
}

/// An address as /proc/net shows it: words of 4 bytes, each in the machine's order.
fn in_hex(address: IpAddr) -> String {
    let bytes = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let word = |bytes: &[u8]| format!("{:08X}", bytes.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes)));
    bytes.chunks(4).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    #[test]
    fn socket_in_the_way_is_found_in_the_kernels_tables() {
        for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let (Ok(tcp), Ok(udp)) = (TcpListener::bind(address), UdpSocket::bind(address)) else { continue };
            let family = if address.starts_with('[') { "6" } else { "" };
            for (table, at) in [("tcp", tcp.local_addr().unwrap()), ("udp", udp.local_addr().unwrap())] {
                let text = fs::read_to_string(format!("/proc/net/{table}{family}")).unwrap();
                assert!(socket_at(&text, at).is_some(), "{table} {at}: {text}");
            }
        }
    }

    #[test]
    fn holder_of_a_lock_is_found_by_the_locked_file() {
        let path = std::env::temp_dir().join(format!("wharf-occupied-{}", std::process::id()));
        let file = fs::File::create(&path).unwrap();
        assert!(holder_of_lock(&path).is_none());
        file.lock().unwrap();
        assert_eq!(holder_of_lock(&path).unwrap().id, std::process::id());
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn failures_say_who_and_what_to_do() {
        let bind = |address: &str, kind: io::ErrorKind| {
            let source = NetError::Bind { address: address.parse().unwrap(), transport: "TCP", source: kind.into() };
            explained(Failure::Start(source.into())).to_string()
        };
        let low = bind("127.0.0.1:111", io::ErrorKind::PermissionDenied);
        assert!(low.contains("CAP_NET_BIND_SERVICE") && low.contains("--listen 127.0.0.1:2049"), "{low}");
        let used = bind("127.0.0.1:9", io::ErrorKind::AddrInUse);
        assert!(used.contains("uses the port") && used.contains("--listen 127.0.0.1:10"), "{used}");
    }
}
