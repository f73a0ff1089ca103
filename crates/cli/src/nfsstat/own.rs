//! `--nfsstat` of commands that run as clients.

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::{Args, ValueEnum};
use client::{Meter, Mount, Statistics};

use super::document::Figures;
use super::layout::{self, Extent};
use super::operations;
use super::publish::Publication;
use crate::failure::Failure;

/// Which statistics a command prints at its end.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct OwnFlags {
    /// Print statistics to standard error at the end: the tables of nfsstat -c (`basic`) or nfsstat -E (`all`), figures
    /// per procedure, or JSON. [default without WHAT: basic]
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

impl OwnFlags {
    /// Whether statistics are wanted.
    pub fn is_wanted(self) -> bool {
        self.nfsstat.is_some()
    }
}

/// The mounts of this command.
#[derive(Debug)]
pub struct OwnMounts {
    telling: Option<Telling>,
    command: &'static str,
    counted: Mutex<Counted>,
    publication: Option<Publication>,
}

#[derive(Debug, Default)]
struct Counted {
    meters: Vec<Meter>,
    /// Counts of mounts that have ended.
    ended: Statistics,
}

impl OwnMounts {
    /// Starts without mounts. While the command runs, `wharf nfsstat` shows its counts too.
    pub fn new(command: &'static str, flags: OwnFlags) -> OwnMounts {
        let publication = flags.nfsstat.and_then(|_| match Publication::start() {
            Ok(publication) => Some(publication),
            Err(error) => {
                eprintln!("wharf: wharf nfsstat cannot show this command: {error}");
                None
            }
        });
        OwnMounts { telling: flags.nfsstat, command, counted: Mutex::default(), publication }
    }

    /// Adds a mount, unless it is known.
    pub fn add(&self, mount: &Mount) {
        let Counted { meters, ended } = &mut *self.counted();
        let meter = mount.meter();
        if self.telling.is_none() || meters.iter().any(|known| known.is_same(&meter)) {
            return;
        }
        if let Some(publication) = &self.publication {
            publication.add(mount, self.command);
        }
        for meter in meters.extract_if(.., |meter| meter.is_over()) {
            ended.merge(&meter.statistics());
        }
        meters.push(meter);
    }

    /// Prints the sum of all mounts if statistics are wanted, and returns the result of the command.
    ///
    /// # Errors
    /// That of the command, or of writing to standard error.
    pub fn tell(&self, result: Result<(), Failure>) -> Result<(), Failure> {
        let Some(telling) = self.telling else { return result };
        let counted = self.counted();
        let mut sum = counted.ended.clone();
        counted.meters.iter().for_each(|meter| sum.merge(&meter.statistics()));
        let told = telling.tell(&sum);
        result.and(told)
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Telling {
    fn tell(self, statistics: &Statistics) -> Result<(), Failure> {
        let text = match self {
            Telling::Basic => layout::text(statistics, Extent::Basic, false),
            Telling::All => layout::text(statistics, Extent::V42, false),
            Telling::Operations => operations::text(statistics),
            Telling::Json => report::to_json(&Figures::from(statistics)).map_err(std::io::Error::from)? + "\n",
        };
        Ok(std::io::stderr().write_all(text.as_bytes())?)
    }
}
