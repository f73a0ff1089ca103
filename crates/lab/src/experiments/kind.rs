//! How an experiment is made.

use std::path::PathBuf;

use client::{Url, UrlError, Version};

use crate::contender::Named;
use crate::engine::{Error, Experiment};
use crate::scratch::Parent;

/// An experiment by its name.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it asks, in a line.
    pub summary: &'static str,
    /// Makes it; nothing is started or written yet.
    pub make: fn(&Conditions) -> Result<Box<dyn Experiment>, Error>,
}

/// Under which conditions an experiment is done.
#[derive(Debug, Clone)]
pub struct Conditions {
    /// This program, which loads run.
    pub program: PathBuf,
    /// The program that is started as a server of Wharf, or mounts as a client that is compared.
    pub server_program: PathBuf,
    /// How much is done in each pass.
    pub scale: Scale,
    /// Where files in memory are made.
    pub memory: Parent,
    /// Where files on a disk are made.
    pub disk: Parent,
    /// Further servers that take part.
    pub servers: Vec<Named>,
}

/// How much is done in each pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Small files, few levels: minutes on any laptop.
    Quick,
    /// Files that are large enough for steady figures.
    #[default]
    Usual,
    /// The sizes of the source.
    Full,
}

/// A version of NFS by its name, as URLs have it.
pub(crate) fn version(name: &str) -> Result<Version, UrlError> {
    let url: Url = format!("nfs://host/?version={name}").parse()?;
    Ok(url.parameters.version.unwrap_or(Version::V3))
}

/// A name in a record.
pub(crate) fn named<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}
