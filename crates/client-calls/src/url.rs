//! URLs of files on NFS servers, in the form of libnfs: `nfs://host[:port]/path?name=value&…` (RFC 2224 §2).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use peer::Transport;

use crate::{Credentials, Options, Version};

/// The longest URL, in bytes: a path of the longest names with every byte escaped, and parameters.
const MAX_URL_BYTES: usize = 16 * 1024;
const SCHEME: &str = "nfs://";

/// The address of a file: a server, a path on it, and options for the mount.
///
/// ```
/// use client::Url;
///
/// let url: Url = "nfs://[::1]:2049/export/a%20file?version=2&proto=udp".parse()?;
/// assert_eq!((url.host.as_str(), url.port), ("::1", Some(2049)));
/// assert_eq!(url.path, b"/export/a file");
/// # Ok::<(), client::UrlError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// The server's name or address, without brackets; a link-local one has a zone, such as `fe80::1%eth0`.
    pub host: String,
    /// The port of NFS.
    pub port: Option<u16>,
    /// The path, with escapes resolved: bytes that need not be UTF-8. It begins with `/`.
    pub path: Vec<u8>,
    /// The part behind the `?`.
    pub parameters: Parameters,
}

/// The parameters of a [`Url`]; each takes precedence over the corresponding option.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters {
    /// `version`: 2, 3, 4.0, 4.1 or 4.2; 4 stands for the newest minor version that the server speaks.
    pub version: Option<Version>,
    /// The oldest version to fall back to: 4.0 with `version=4`; otherwise none.
    pub lowest_version: Option<Version>,
    /// `proto`: `tcp` or `udp`.
    pub transport: Option<Transport>,
    /// `nfsport`.
    pub nfs_port: Option<u16>,
    /// `mountport`.
    pub mount_port: Option<u16>,
    /// `lockport`, the port of the lock manager of NFSv2 and NFSv3.
    pub lock_port: Option<u16>,
    /// `uid`.
    pub uid: Option<u32>,
    /// `gid`.
    pub gid: Option<u32>,
    /// `rsize`, in bytes.
    pub read_bytes: Option<u32>,
    /// `wsize`, in bytes.
    pub write_bytes: Option<u32>,
    /// `timeo`, in tenths of a second as in nfs(5).
    pub timeout: Option<Duration>,
    /// `retrans`.
    pub retransmissions: Option<u32>,
    /// `nconnect`.
    pub connections: Option<usize>,
    /// `hard` or `soft`, without a value.
    pub is_hard: Option<bool>,
    /// `readplus` or `noreadplus`, without a value.
    pub uses_read_plus: Option<bool>,
}

/// Why a text is not a valid [`Url`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// It does not begin with the scheme.
    #[error("'{0}' does not begin with nfs://")]
    Scheme(String),
    /// It is too long.
    #[error("the URL is longer than {MAX_URL_BYTES} bytes")]
    TooLong,
    /// It names no host.
    #[error("'{0}' names no host between nfs:// and the path")]
    NoHost(String),
    /// A `[` has no `]`.
    #[error("'{0}' opens a bracket and does not close it")]
    Bracket(String),
    /// It has no path.
    #[error("'{0}' has no path: write nfs://host/export")]
    NoPath(String),
    /// A port is not valid.
    #[error("'{0}' is no port: ports are 1 to 65535")]
    Port(String),
    /// A `%` is not followed by two hexadecimal digits, or encodes NUL, which no path has.
    #[error("'{0}' is no escape: a percent sign is followed by two hexadecimal digits, and never by 00")]
    Escape(String),
    /// The parameter is unknown.
    #[error(
        "'{0}' is no parameter: there are version, proto, nfsport, mountport, lockport, uid, gid, rsize, wsize, timeo, retrans, \
         nconnect, hard, soft, readplus and noreadplus"
    )]
    Parameter(String),
    /// The value is not valid for the parameter.
    #[error("'{value}' is no value of '{name}': {expected}")]
    Value {
        /// The parameter.
        name: &'static str,
        /// The value.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Url, UrlError> {
        if text.len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong);
        }
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| UrlError::Scheme(text.to_owned()))?;
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let slash = place.find('/').ok_or_else(|| UrlError::NoPath(text.to_owned()))?;
        let (authority, path) = place.split_at(slash);
        let (host, port) = split_authority(authority)?;
        // A zone is written as in RFC 6874, or with a plain percent sign.
        let host = host.replacen("%25", "%", 1);
        if host.is_empty() {
            return Err(UrlError::NoHost(text.to_owned()));
        }
        let path = unescape(path)?;
        Ok(Url { host, port, path, parameters: parameters.parse()? })
    }
}

impl Url {
    /// `options` with the URL's values in their place.
    pub fn over(&self, options: &Options) -> Options {
        let parameters = &self.parameters;
        let mut merged = options.clone();
        if let Some(version) = parameters.version {
            (merged.version, merged.lowest_version) = (version, parameters.lowest_version);
        }
        merged.transport = parameters.transport.unwrap_or(options.transport);
        merged.nfs_port = parameters.nfs_port.or(self.port).or(options.nfs_port);
        merged.mount_port = parameters.mount_port.or(options.mount_port);
        merged.lock_port = parameters.lock_port.or(options.lock_port);
        merged.read_bytes = parameters.read_bytes.or(options.read_bytes);
        merged.write_bytes = parameters.write_bytes.or(options.write_bytes);
        merged.timeout = parameters.timeout.or(options.timeout);
        merged.retransmissions = parameters.retransmissions.or(options.retransmissions);
        merged.connections = parameters.connections.unwrap_or(options.connections);
        merged.is_hard = parameters.is_hard.unwrap_or(options.is_hard);
        merged.uses_read_plus = parameters.uses_read_plus.unwrap_or(options.uses_read_plus);
        merged.credentials = parameters.credentials(&options.credentials);
        merged
    }
}

impl Url {
    /// The URL with its parameters, which [`Url::to_string`](ToString::to_string) leaves out.
    #[must_use]
    pub fn with_parameters(&self) -> String {
        match self.parameters.to_string() {
            parameters if parameters.is_empty() => self.to_string(),
            parameters => format!("{self}?{parameters}"),
        }
    }
}

impl Parameters {
    fn credentials(&self, other: &Credentials) -> Credentials {
        if self.uid.is_none() && self.gid.is_none() {
            return other.clone();
        }
        let (uid, gid) = match other.resolve() {
            Credentials::Sys { uid, gid, .. } => (uid, gid),
            Credentials::None | Credentials::Process => (NOBODY, NOBODY),
        };
        // The groups of this process are not those of another user.
        Credentials::Sys { uid: self.uid.unwrap_or(uid), gid: self.gid.unwrap_or(gid), groups: Vec::new() }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), UrlError> {
        const BYTES: &str = "a number of bytes is wanted";
        const ID: &str = "a number from 0 to 4294967295 is wanted";
        match name {
            "version" | "vers" | "nfsvers" => {
                self.version = Some(version(value)?);
                self.lowest_version = (value == "4").then_some(Version::V4_0);
            }
            "proto" => self.transport = Some(transport(value)?),
            "nfsport" | "port" => self.nfs_port = Some(port(value)?),
            "mountport" => self.mount_port = Some(port(value)?),
            "lockport" => self.lock_port = Some(port(value)?),
            "uid" => self.uid = Some(number("uid", value, ID)?),
            "gid" => self.gid = Some(number("gid", value, ID)?),
            "rsize" => self.read_bytes = Some(number("rsize", value, BYTES)?),
            "wsize" => self.write_bytes = Some(number("wsize", value, BYTES)?),
            "timeo" => self.timeout = Some(deciseconds(value)?),
            "retrans" => self.retransmissions = Some(number("retrans", value, "a number of times is wanted")?),
            "nconnect" => self.connections = Some(connections(value)?),
            "hard" | "soft" if value.is_empty() => self.is_hard = Some(name == "hard"),
            "readplus" | "noreadplus" if value.is_empty() => self.uses_read_plus = Some(name == "readplus"),
            _ => return Err(UrlError::Parameter(name.to_owned())),
        }
        Ok(())
    }
}

impl FromStr for Parameters {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Parameters, UrlError> {
        let mut parameters = Parameters::default();
        for parameter in text.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            parameters.set(name, value)?;
        }
        Ok(parameters)
    }
}

/// Writes the parameters as a URL has them behind its `?`.
impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.map(|version| match self.lowest_version {
            Some(_) => "4".to_owned(),
            None => version.to_string(),
        });
        let deciseconds = self.timeout.map(|timeout| timeout.as_millis() / 100);
        let is_hard = self.is_hard.map(|is_hard| if is_hard { "hard" } else { "soft" });
        let read_plus = self.uses_read_plus.map(|uses| if uses { "readplus" } else { "noreadplus" });
        let all = [
            version.map(|version| format!("version={version}")),
            self.transport.map(|transport| format!("proto={}", name(transport))),
            self.nfs_port.map(|port| format!("nfsport={port}")),
            self.mount_port.map(|port| format!("mountport={port}")),
            self.lock_port.map(|port| format!("lockport={port}")),
            self.uid.map(|uid| format!("uid={uid}")),
            self.gid.map(|gid| format!("gid={gid}")),
            self.read_bytes.map(|bytes| format!("rsize={bytes}")),
            self.write_bytes.map(|bytes| format!("wsize={bytes}")),
            deciseconds.map(|tenths| format!("timeo={tenths}")),
            self.retransmissions.map(|times| format!("retrans={times}")),
            self.connections.map(|count| format!("nconnect={count}")),
            is_hard.map(str::to_owned),
            read_plus.map(str::to_owned),
        ];
        f.write_str(&all.into_iter().flatten().collect::<Vec<_>>().join("&"))
    }
}

fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    }
}

impl fmt::Display for Url {
    /// Writes the server and the path without the parameters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        match self.host.contains(':') {
            true => write!(f, "[{}]", self.host.replacen('%', "%25", 1))?,
            false => f.write_str(&self.host)?,
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        self.path.iter().try_for_each(|byte| match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' | b'+' | b',' | b'@' => write!(f, "{}", char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => write!(f, "{}", char::from(*byte)),
            byte => write!(f, "%{byte:02X}"),
        })
    }
}

/// The user and the group for unknown ones.
const NOBODY: u32 = 65534;

/// Splits `host:port`, where the host may be an IPv6 address in brackets (RFC 3986 §3.2.2).
fn split_authority(authority: &str) -> Result<(&str, Option<u16>), UrlError> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => inner.split_once(']').ok_or_else(|| UrlError::Bracket(authority.to_owned()))?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    match rest.strip_prefix(':') {
        Some(text) => Ok((host, Some(port(text)?))),
        None if rest.is_empty() => Ok((host, None)),
        None => Err(UrlError::Port(rest.to_owned())),
    }
}

/// Resolves `%` escapes (RFC 3986 §2.1).
fn unescape(text: &str) -> Result<Vec<u8>, UrlError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let bad = || UrlError::Escape(format!("%{}", String::from_utf8_lossy(&after[..after.len().min(2)])));
        let (digits, after) = after.split_at_checked(2).ok_or_else(bad)?;
        let byte = hex(digits[0]).zip(hex(digits[1])).map(|(high, low)| high << 4 | low);
        bytes.push(byte.filter(|byte| *byte != 0).ok_or_else(bad)?);
        rest = after;
    }
    Ok(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn port(text: &str) -> Result<u16, UrlError> {
    text.parse().ok().filter(|port| *port != 0).ok_or_else(|| UrlError::Port(text.to_owned()))
}

/// The valid values of `version`.
const VERSIONS: &str = "2, 3, 4, 4.0, 4.1 and 4.2 are there";

fn version(value: &str) -> Result<Version, UrlError> {
    match value {
        "2" => Ok(Version::V2),
        "3" => Ok(Version::V3),
        "4.0" => Ok(Version::V4_0),
        "4.1" => Ok(Version::V4_1),
        "4" | "4.2" => Ok(Version::V4_2),
        _ => Err(UrlError::Value { name: "version", value: value.to_owned(), expected: VERSIONS }),
    }
}

fn transport(value: &str) -> Result<Transport, UrlError> {
    match value {
        "tcp" => Ok(Transport::Tcp),
        "udp" => Ok(Transport::Udp),
        _ => Err(UrlError::Value { name: "proto", value: value.to_owned(), expected: "tcp and udp are there" }),
    }
}

fn number<T: FromStr>(name: &'static str, value: &str, expected: &'static str) -> Result<T, UrlError> {
    value.parse().map_err(|_| UrlError::Value { name, value: value.to_owned(), expected })
}

fn deciseconds(value: &str) -> Result<Duration, UrlError> {
    let tenths: u32 = number("timeo", value, "a number of tenths of a second is wanted")?;
    Ok(Duration::from_millis(u64::from(tenths) * 100))
}

fn connections(value: &str) -> Result<usize, UrlError> {
    let expected = "1 to 64 connections are possible";
    let count: usize = number("nconnect", value, expected)?;
    match (1..=Options::MAX_CONNECTIONS).contains(&count) {
        true => Ok(count),
        false => Err(UrlError::Value { name: "nconnect", value: value.to_owned(), expected }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Url, UrlError> {
        text.parse()
    }

    #[test]
    fn path_is_bytes_that_need_not_be_utf8() {
        let url = parse("nfs://host/a%FFb%3f/%2F").unwrap();
        assert_eq!(url.path, b"/a\xffb?//");
        assert_eq!(url.to_string(), "nfs://host/a%FFb%3F//");
    }

    #[test]
    fn address_of_ipv6_stands_in_brackets() {
        let url = parse("nfs://[fe80::1%lo]:1/x").unwrap();
        assert_eq!((url.host.as_str(), url.port), ("fe80::1%lo", Some(1)));
        assert_eq!(parse("nfs://[::1]/x").unwrap().port, None);
        assert_eq!(parse("nfs://[::1]/x").unwrap().to_string(), "nfs://[::1]/x");
    }

    #[test]
    fn parameters_go_before_options() {
        let url =
            parse("nfs://h:5/x?version=2&mountport=7&rsize=4096&timeo=11&retrans=9&proto=udp&uid=3&hard&noreadplus")
                .unwrap();
        let options = url.over(&Options { nfs_port: Some(1), write_bytes: Some(8), ..Options::default() });
        assert_eq!((options.version, options.transport, options.is_hard), (Version::V2, Transport::Udp, true));
        assert_eq!((options.nfs_port, options.mount_port), (Some(5), Some(7)));
        assert_eq!((options.read_bytes, options.write_bytes), (Some(4096), Some(8)));
        assert_eq!((options.timeout, options.retransmissions), (Some(Duration::from_millis(1100)), Some(9)));
        assert!(matches!(options.credentials, Credentials::Sys { uid: 3, .. }));
        assert!(!options.uses_read_plus);
    }

    #[test]
    fn version_that_is_named_is_the_only_one_but_for_4_which_is_any_minor_one() {
        let versions = |text: &str| {
            let options = parse(text).unwrap().over(&Options::negotiating());
            (options.version, options.lowest_version)
        };
        assert_eq!(versions("nfs://h/x"), (Version::V4_2, Some(Version::V2)));
        assert_eq!(versions("nfs://h/x?version=4"), (Version::V4_2, Some(Version::V4_0)));
        assert_eq!(versions("nfs://h/x?vers=4.1"), (Version::V4_1, None));
        assert_eq!(versions("nfs://h/x?version=3"), (Version::V3, None));
    }

    #[test]
    fn url_with_its_parameters_is_the_same_url() {
        let text = "nfs://h:5/x?version=4.1&proto=udp&nfsport=1&mountport=2&lockport=3&uid=4&gid=5&rsize=6&wsize=7\
            &timeo=8&retrans=9&nconnect=10&soft&noreadplus";
        assert_eq!(parse(text).unwrap().with_parameters(), text);
        for text in ["nfs://h/x", "nfs://h/x?version=4", "nfs://h/x?version=4.2&hard&readplus"] {
            assert_eq!(parse(text).unwrap().with_parameters(), text);
        }
    }

    #[test]
    fn errors_quote_what_is_wrong() {
        let cases = [
            ("http://h/x", "'http://h/x' does not begin with nfs://"),
            ("nfs:///x", "'nfs:///x' names no host"),
            ("nfs://h", "'nfs://h' has no path"),
            ("nfs://h:0/x", "'0' is no port"),
            ("nfs://h:99999/x", "'99999' is no port"),
            ("nfs://[::1/x", "'[::1' opens a bracket"),
            ("nfs://[::1]9/x", "'9' is no port"),
            ("nfs://h/%4", "'%4' is no escape"),
            ("nfs://h/%zz", "'%zz' is no escape"),
            ("nfs://h/a%00", "'%00' is no escape"),
            ("nfs://h/%+1", "'%+1' is no escape"),
            ("nfs://h/x?colour=red", "'colour' is no parameter"),
            ("nfs://h/x?version=7", "'7' is no value of 'version'"),
            ("nfs://h/x?rsize=big", "'big' is no value of 'rsize'"),
            ("nfs://h/x?nconnect=65", "'65' is no value of 'nconnect'"),
        ];
        for (text, message) in cases {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
