use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{OsStringValueParser, TypedValueParser};
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

/// Reads an argument as a URL or `host:/path`, whose path need not be UTF-8.
pub fn url_argument() -> impl TypedValueParser<Value = Url> {
    OsStringValueParser::new().try_map(|text: OsString| parse_url_bytes(&text))
}

/// Reads a URL, or `host:/path`, whose path need not be UTF-8.
///
/// # Errors
/// When it is neither.
pub fn parse_url_bytes(text: &OsStr) -> Result<Url, LocationError> {
    match text.to_str() {
        Some(text) => parse_url(text),
        None => match read_bytes(text)? {
            Location::Remote(url) => Ok(url),
            _ => Err(LocationError::Malformed(text.to_string_lossy().into_owned())),
        },
    }
}

/// Reads an argument as a [`Location`], whose path need not be UTF-8.
pub fn location_argument() -> impl TypedValueParser<Value = Location> {
    OsStringValueParser::new().try_map(|text: OsString| text.to_str().map_or_else(|| read_bytes(&text), str::parse))
}

/// Reads a text that is not UTF-8.
fn read_bytes(text: &OsStr) -> Result<Location, LocationError> {
    let bytes = text.as_bytes();
    // In a URL, escapes stand for bytes.
    let escaped = |byte: &u8| if byte.is_ascii() { char::from(*byte).to_string() } else { format!("%{byte:02x}") };
    let url: String = bytes.iter().map(escaped).collect();
    if is_url(&url) {
        return Ok(Location::Remote(url.parse()?));
    }
    let colon = bytes.windows(2).position(|pair| pair == b":/");
    let host = colon.and_then(|colon| str::from_utf8(&bytes[..colon + 2]).ok().zip(Some(&bytes[colon + 1..])));
    match host.and_then(|(host, path)| Some((parse_url(host).ok()?, path))) {
        Some((url, path)) => Ok(Location::Remote(Url { path: path.to_vec(), ..url })),
        None => Ok(Location::Local(PathBuf::from(text))),
    }
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

    #[test]
    fn path_need_not_be_utf_8() {
        for text in [&b"nfs://h/a\xff?version=3"[..], b"h:/a\xff", b"[h]:/a\xff"] {
            let Ok(Location::Remote(url)) = read_bytes(OsStr::from_bytes(text)) else { panic!("{text:?}") };
            assert_eq!((url.host.as_str(), url.path.as_slice()), ("h", &b"/a\xff"[..]), "{text:?}");
        }
        for text in [&b"./a\xff"[..], b"/a:/\xff", b"\xff:/x"] {
            let local = read_bytes(OsStr::from_bytes(text));
            assert!(matches!(local, Ok(Location::Local(path)) if path.as_os_str().as_bytes() == text), "{text:?}");
        }
    }
}
