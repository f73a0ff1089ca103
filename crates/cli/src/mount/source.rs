use std::fmt;
use std::str::FromStr;

use client::{Parameters, Url, UrlError};

/// What is mounted, as a URL or as mount(8) writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source(Url);

/// Why a text names nothing that can be mounted.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It looks like a URL and is none.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// It looks like nothing.
    #[error("'{0}' names no export: write nfs://host/export or host:/export")]
    Malformed(String),
}

impl Source {
    /// As a URL.
    pub fn url(&self) -> &Url {
        &self.0
    }
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Source, SourceError> {
        if text.starts_with("nfs://") {
            return Ok(Source(text.parse()?));
        }
        let malformed = || SourceError::Malformed(text.to_owned());
        // The first colon with a slash behind it: an address of IPv6 has colons of its own.
        let (host, path) = text.split_once(":/").ok_or_else(malformed)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() || host.contains('/') {
            return Err(malformed());
        }
        let path = format!("/{path}").into_bytes();
        Ok(Source(Url { host: host.to_owned(), port: None, path, parameters: Parameters::default() }))
    }
}

/// As mount(8) writes it.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Url { host, path, .. } = &self.0;
        let path = path.escape_ascii();
        if host.contains(':') { write!(f, "[{host}]:{path}") } else { write!(f, "{host}:{path}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_is_named_as_a_url_or_as_mount_does() {
        for (text, host, path) in [
            ("nfs://h:7/a/b?version=3", "h", "/a/b"),
            ("h:/a:/b", "h", "/a:/b"),
            ("[fe80::1]:/a", "fe80::1", "/a"),
            ("h:/", "h", "/"),
        ] {
            let source: Source = text.parse().unwrap();
            assert_eq!((source.url().host.as_str(), source.url().path.as_slice()), (host, path.as_bytes()), "{text}");
        }
        for text in ["", "h", "h:x", ":/x", "/a:/x"] {
            let error = text.parse::<Source>().unwrap_err().to_string();
            assert!(error.contains("write nfs://host/export or host:/export"), "{error}");
        }
        assert!("nfs://h".parse::<Source>().is_err());
    }

    #[test]
    fn source_is_shown_as_mount_writes_it() {
        assert_eq!("nfs://[::1]:7/a?version=3".parse::<Source>().unwrap().to_string(), "[::1]:/a");
        assert_eq!("h:/a".parse::<Source>().unwrap().to_string(), "h:/a");
    }
}
