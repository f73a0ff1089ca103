use std::fmt;
use std::str::FromStr;

use client::Url;

use crate::remote::{LocationError, parse_url};

/// The source of a mount, as a URL or in the notation of mount(8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source(Url);

impl Source {
    /// As a URL.
    pub fn url(&self) -> &Url {
        &self.0
    }
}

impl FromStr for Source {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Source, LocationError> {
        parse_url(text).map(Source)
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
    fn source_is_shown_as_mount_writes_it() {
        assert_eq!("nfs://[::1]:7/a?version=3".parse::<Source>().unwrap().to_string(), "[::1]:/a");
        assert_eq!("h:/a".parse::<Source>().unwrap().to_string(), "h:/a");
    }
}
