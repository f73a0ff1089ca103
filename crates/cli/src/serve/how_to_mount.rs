//! The commands to mount an export on a client.

use std::net::SocketAddr;

use client::{Parameters, Url};
use vfs::quoted;

/// A mount command for an export, for NFSv4.2 (one port, with locks), and its URL for clients of every version.
pub fn describe(name: &str, address: SocketAddr) -> String {
    let host = host_of(address);
    let port = address.port();
    let bracketed = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let transport = if address.is_ipv4() { "tcp" } else { "tcp6" };
    let path = quoted(format!("{bracketed}:{name}"));
    let url = Url { host, port: None, path: name.as_bytes().to_vec(), parameters: Parameters::default() };
    format!(
        "mount -t nfs -o vers=4.2,port={port},proto={transport} {path} /mnt   \
         or '{url}?nfsport={port}&mountport={port}'"
    )
}

/// The host name for clients; for an unspecified address, that of this machine.
fn host_of(address: SocketAddr) -> String {
    let ip = address.ip().to_canonical();
    match address {
        _ if ip.is_unspecified() => rustix::system::uname().nodename().to_string_lossy().into_owned(),
        SocketAddr::V6(address) if address.scope_id() != 0 => format!("{ip}%{}", address.scope_id()),
        _ => ip.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_and_url_name_the_port() {
        let text = describe("/srv/data", "127.0.0.1:1234".parse().unwrap());
        assert!(text.starts_with("mount -t nfs -o vers=4.2,port=1234,proto=tcp 127.0.0.1:/srv/data /mnt"));
        assert!(text.ends_with("'nfs://127.0.0.1/srv/data?nfsport=1234&mountport=1234'"), "{text}");
    }

    #[test]
    fn address_of_ipv6_and_odd_names_are_quoted() {
        let text = describe("/it's", "[::1]:1".parse().unwrap());
        assert!(text.contains(r"proto=tcp6 '[::1]:/it'\''s' /mnt"), "{text}");
        assert!(text.contains("nfs://[::1]/it%27s?"), "{text}");
        let text = describe("/srv", "[fe80::1%3]:1".parse().unwrap());
        assert!(text.contains("'[fe80::1%3]:/srv' /mnt") && text.contains("nfs://[fe80::1%253]/srv?"), "{text}");
    }

    #[test]
    fn any_address_is_called_by_the_machine() {
        let text = describe("/srv", "0.0.0.0:1".parse().unwrap());
        assert!(!text.contains("0.0.0.0"), "{text}");
    }
}
