use std::net::Ipv6Addr;

use client::Url;

use crate::failure::Failure;

/// Reads a server as `host`, `host:port`, an address, or the beginning of a URL.
///
/// # Errors
/// When it is none of these.
pub fn server_url(text: &str) -> Result<Url, Failure> {
    let host = text.strip_prefix("nfs://").unwrap_or(text);
    let address = host.split_once('%').map_or(host, |(address, _zone)| address);
    let host = if address.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.to_owned() };
    let url = if host.contains('/') { format!("nfs://{host}") } else { format!("nfs://{host}/") };
    url.parse().map_err(|source: client::UrlError| Failure::BadUrl { text: text.to_owned(), source: source.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_named_in_many_ways() {
        for (text, host, port) in [
            ("fs.example.org", "fs.example.org", None),
            ("127.0.0.1:2049", "127.0.0.1", Some(2049)),
            ("::1", "::1", None),
            ("[::1]:5", "::1", Some(5)),
            ("fe80::1%eth0", "fe80::1%eth0", None),
            ("[fe80::1%25eth0]:5", "fe80::1%eth0", Some(5)),
            ("nfs://host:7/export", "host", Some(7)),
        ] {
            let url = server_url(text).unwrap();
            assert_eq!((url.host.as_str(), url.port), (host, port), "{text}");
        }
        assert!(server_url("host:x").is_err());
    }
}
