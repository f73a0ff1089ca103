use std::path::PathBuf;
use std::str::FromStr;

use client::{Parameters, Url, UrlError};

/// A local or remote file, or a standard stream.
#[derive(Debug, Clone)]
pub enum Location {
    /// On a server.
    Remote(Url),
    /// Here.
    Local(PathBuf),
    /// Standard input or standard output.
    Stream,
}

/// Why a text does not name a remote file.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    /// It is not a valid URL.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// It looks like nothing.
    #[error("'{0}' names nothing on a server: write nfs://host/export or host:/export")]
    Malformed(String),
}

impl FromStr for Location {
    type Err = LocationError;

    /// `-` is a stream. A text that begins like a URL or `host:/` is remote; a local file with such a name is written
    /// `./nfs://…` or `./host:/…`, as for scp(1).
    fn from_str(text: &str) -> Result<Location, LocationError> {
        match text {
            "-" => Ok(Location::Stream),
            _ if is_url(text) || split_host(text).is_some() => Ok(Location::Remote(parse_url(text)?)),
            _ => Ok(Location::Local(PathBuf::from(text))),
        }
    }
}

/// Whether a text is meant as a URL, of any scheme (RFC 3986 §3.1).
fn is_url(text: &str) -> bool {
    let is_scheme = |scheme: &str| !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// Reads a URL, or `host:/path` as in mount(8).
///
/// # Errors
/// When it is neither.
pub fn parse_url(text: &str) -> Result<Url, LocationError> {
    if is_url(text) {
        return Ok(text.parse()?);
    }
    let (host, path) = split_host(text).ok_or_else(|| LocationError::Malformed(text.to_owned()))?;
    let path = path.as_bytes().to_vec();
    Ok(Url { host: host.to_owned(), port: None, path, parameters: Parameters::default() })
}

/// Splits `host:/path`, and removes brackets around the host.
fn split_host(text: &str) -> Option<(&str, &str)> {
    // The first colon before a slash: IPv6 addresses contain colons.
    let (host, path) = text.split_at(text.find(":/")?);
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty() && !host.contains('/')).then_some((host, &path[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_on_a_server_is_named_as_a_url_or_as_mount_does() {
        for (text, host, path) in [
            ("nfs://h:7/a/b?version=3", "h", "/a/b"),
            ("h:/a:/b", "h", "/a:/b"),
            ("[fe80::1]:/a", "fe80::1", "/a"),
            ("fe80::1:/a", "fe80::1", "/a"),
            ("[fe80::1%eth0]:/a", "fe80::1%eth0", "/a"),
            ("nfs://[fe80::1%eth0]/a", "fe80::1%eth0", "/a"),
            ("nfs://[fe80::1%25eth0]:7/a", "fe80::1%eth0", "/a"),
            ("h:/", "h", "/"),
        ] {
            let url = parse_url(text).unwrap();
            assert_eq!((url.host.as_str(), url.path.as_slice()), (host, path.as_bytes()), "{text}");
            assert!(matches!(text.parse(), Ok(Location::Remote(also)) if also == url), "{text}");
        }
        for text in ["", "h", "h:x", ":/x", "/a:/x", "./h:/x"] {
            let error = parse_url(text).unwrap_err().to_string();
            assert!(error.contains("write nfs://host/export or host:/export"), "{error}");
            assert!(matches!(text.parse(), Ok(Location::Local(path)) if path.to_str() == Some(text)), "{text}");
        }
        for text in ["nfs://h", "http://h/x"] {
            assert!(text.parse::<Location>().is_err() && parse_url(text).is_err(), "{text}");
        }
        assert!(matches!("-".parse(), Ok(Location::Stream)));
    }
}
