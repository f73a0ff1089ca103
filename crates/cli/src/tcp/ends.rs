//! Parses the address of a test's other end.

use std::net::{SocketAddr, ToSocketAddrs};

use segments::kernel::DEFAULT_PORT;

use crate::failure::Failure;

/// The address of `HOST`, `HOST:PORT`, `IPV6` or `[IPV6]:PORT`.
///
/// # Errors
/// [`Failure::Resolve`].
pub fn resolve(text: &str) -> Result<SocketAddr, Failure> {
    let (host, port) = split(text);
    let failed = |source| Failure::Resolve { host: host.to_owned(), source };
    let found = (host, port).to_socket_addrs().map_err(failed)?.next();
    found.ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))
}

/// Splits a host from its port, or returns the default port.
fn split(text: &str) -> (&str, u16) {
    match text.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) if !host.contains(':') || host.ends_with(']') => (unbracketed(host), port),
        _ => (unbracketed(text), DEFAULT_PORT),
    }
}

fn unbracketed(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_is_the_usual_one_unless_given() {
        let cases = [
            ("host", ("host", DEFAULT_PORT)),
            ("host:7", ("host", 7)),
            ("10.0.0.1:7", ("10.0.0.1", 7)),
            ("::1", ("::1", DEFAULT_PORT)),
            ("[::1]", ("::1", DEFAULT_PORT)),
            ("[::1]:7", ("::1", 7)),
        ];
        cases.iter().for_each(|(text, expected)| assert_eq!(split(text), *expected, "{text}"));
        assert_eq!(resolve("127.0.0.1:7").unwrap().to_string(), "127.0.0.1:7");
    }
}
