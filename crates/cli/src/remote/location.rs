use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use client::{Url, UrlError};

/// A file here or on a server.
#[derive(Debug, Clone)]
pub enum Location {
    /// On a server.
    Remote(Url),
    /// Here.
    Local(PathBuf),
}

impl FromStr for Location {
    type Err = UrlError;

    /// Whatever begins like a URL is one; a local file with such a name is written `./nfs://…`.
    fn from_str(text: &str) -> Result<Location, UrlError> {
        if text.starts_with("nfs://") {
            return text.parse().map(Location::Remote);
        }
        let path: Result<PathBuf, Infallible> = text.parse();
        path.map(Location::Local).map_err(|never| match never {})
    }
}
