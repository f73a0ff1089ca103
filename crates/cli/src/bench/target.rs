//! What a benchmark uses: an export, or a path of this machine.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use client::{Parameters, Url};
use lab::bench::{Job, LocalPath};

use crate::remote::{LocationError, parse_url_bytes};

/// A file or directory.
#[derive(Debug, Clone)]
pub(super) enum Target {
    Export(Url),
    Local(PathBuf),
}

/// Reads an argument as a URL, `host:/path`, or a path that begins with `/` or `.`.
pub(super) fn target_argument() -> impl TypedValueParser<Value = Target> {
    OsStringValueParser::new().try_map(|text: OsString| -> Result<Target, LocationError> {
        match text.as_bytes().first() {
            Some(b'/' | b'.') => Ok(Target::Local(PathBuf::from(text))),
            _ => Ok(Target::Export(parse_url_bytes(&text)?)),
        }
    })
}

impl Target {
    /// A file in it, or itself.
    pub(super) fn with_file(&self, name: Option<&str>) -> Target {
        match (self, name) {
            (target, None) => target.clone(),
            (Target::Local(path), Some(name)) => Target::Local(path.join(name)),
            (Target::Export(url), Some(name)) => {
                let path = [&url.path, &b"/"[..], name.as_bytes()].concat();
                Target::Export(Url { path, ..url.clone() })
            }
        }
    }

    /// A job on it.
    pub(super) fn job(&self, is_direct: bool) -> Job {
        match self {
            Target::Export(url) => Job::new(url.clone()),
            Target::Local(path) => {
                let local = Some(LocalPath { path: path.clone(), is_direct });
                Job { local, ..Job::new(unused_url(path)) }
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Export(url) => write!(f, "{url}"),
            Target::Local(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A job has a URL, also where nothing is called.
fn unused_url(path: &Path) -> Url {
    let path = path.as_os_str().as_bytes().to_vec();
    Url { host: "localhost".to_owned(), port: None, path, parameters: Parameters::default() }
}
