//! `--nfsstat` of commands that are clients for a while.

use std::io::Write;

use clap::{Args, ValueEnum};
use client::{Mount, Statistics};

use super::document::Figures;
use super::layout::{self, Extent};
use super::operations;
use crate::failure::Failure;

/// Which statistics a command tells at its end.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct OwnFlags {
    /// Say on standard error at the end what was called and what the caches did: what nfsstat -c or nfsstat -E says, the
    /// figures of each procedure, or everything as JSON.
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "basic")]
    nfsstat: Option<Telling>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Telling {
    Basic,
    All,
    Operations,
    Json,
}

/// The mounts of this command, until its end.
#[derive(Debug)]
pub struct OwnMounts {
    telling: Option<Telling>,
    mounts: Vec<Mount>,
}

impl OwnMounts {
    /// Begins with none.
    pub fn new(flags: OwnFlags) -> OwnMounts {
        OwnMounts { telling: flags.nfsstat, mounts: Vec::new() }
    }

    /// Adds one.
    pub fn add(&mut self, mount: &Mount) {
        if self.telling.is_some() {
            self.mounts.push(mount.clone());
        }
    }

    /// Says what they counted, all together, when somebody wants to know.
    ///
    /// # Errors
    /// What the system says of standard error.
    pub fn tell(&self) -> Result<(), Failure> {
        let mut sum = Statistics::default();
        self.mounts.iter().for_each(|mount| sum.merge(&mount.statistics()));
        tell(self.telling, &sum)
    }
}

fn tell(telling: Option<Telling>, statistics: &Statistics) -> Result<(), Failure> {
    let text = match telling {
        None => return Ok(()),
        Some(Telling::Basic) => layout::text(statistics, Extent::Basic),
        Some(Telling::All) => layout::text(statistics, Extent::V42),
        Some(Telling::Operations) => operations::text(statistics),
        Some(Telling::Json) => {
            serde_json::to_string_pretty(&Figures::from(statistics)).map_err(std::io::Error::from)? + "\n"
        }
    };
    Ok(std::io::stderr().write_all(text.as_bytes())?)
}
