//! `wharf lab`: experiments, what they are, and what they found.

mod explain;
mod precision;
mod run;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use lab::Parent;
use lab::contender::Named;
use lab::engine::{Experiment, Settings};
use lab::experiments::{self, Conditions, Only, Scale, custom};

use crate::failure::{BenchError, Failure};

/// Measure what a change does to NFS: experiments with randomised, paired passes, on any NFS server.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Command {
    /// List the experiments, and how much time and space they take.
    List(explain::ListFlags),
    /// Say what an experiment asks, varies and takes.
    Explain(explain::Flags),
    Run(run::Flags),
    /// Show what a run has found so far.
    Report(show::ReportFlags),
    /// Compare what several runs of an experiment found.
    Compare(show::CompareFlags),
}

/// The rounds of a quick run.
const QUICK_ROUNDS: u32 = 6;

/// How much to measure, where, and with which servers.
#[derive(Debug, Args)]
struct ConditionFlags {
    /// Small files and few levels: minutes on any laptop, without root.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The sizes of the source.
    #[arg(long)]
    full: bool,
    /// A directory in memory, for files that servers serve from memory.
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    memory_dir: PathBuf,
    /// A directory on a disk, for files that servers read from there.
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    disk_dir: PathBuf,
    /// A further server: NAME=nfs://HOST/EXPORT for one that runs, NAME=ganesha for NFS-Ganesha, or NAME=COMMAND, which finds
    /// its directory in $EXPORT, its ports in $PORT and $MOUNT_PORT, and room for its own things in $STATE.
    #[arg(long = "server", value_name = "NAME=URL|COMMAND")]
    servers: Vec<Named>,
    /// Do a part: the level of a factor with this name, or those that have it in their names; several times for several.
    #[arg(long, value_name = "FACTOR=TEXT")]
    only: Vec<Only>,
}

impl ConditionFlags {
    /// Makes the experiment of this name, or of this file.
    fn make(&self, name: &str) -> Result<Box<dyn Experiment>, Failure> {
        let conditions = self.conditions()?;
        let experiment = match custom::is_file(name) {
            true => custom::read(name.as_ref(), &conditions),
            false => (experiments::find(name).map_err(BenchError::from)?.make)(&conditions),
        };
        let experiment = experiment.map_err(BenchError::from)?;
        if !experiment.takes_servers() && !self.servers.is_empty() {
            return Err(BenchError::NoServers { name: name.to_owned() }.into());
        }
        Ok(experiments::restricted(experiment, self.only.clone()).map_err(BenchError::from)?)
    }

    /// How many rounds there are when nobody says.
    fn rounds(&self) -> u32 {
        if self.quick { QUICK_ROUNDS } else { Settings::ROUNDS }
    }

    fn conditions(&self) -> Result<Conditions, Failure> {
        let program = std::env::current_exe();
        Ok(Conditions {
            program: program.map_err(|source| Failure::System { action: "find this program's file", source })?,
            scale: match (self.quick, self.full) {
                (true, _) => Scale::Quick,
                (_, true) => Scale::Full,
                _ => Scale::Usual,
            },
            memory: Parent { path: self.memory_dir.clone(), flag: "--memory-dir" },
            disk: Parent { path: self.disk_dir.clone(), flag: "--disk-dir" },
            servers: self.servers.clone(),
        })
    }
}

/// Does it.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    match &flags.command {
        Command::List(flags) => explain::list(flags),
        Command::Explain(flags) => explain::explain(flags),
        Command::Run(flags) => run::run(flags),
        Command::Report(flags) => show::report(flags),
        Command::Compare(flags) => show::compare(flags),
    }
}
