//! `wharf lab`: experiments, what they are, and what they found.

mod agent;
mod ceiling;
mod disk;
mod explain;
mod gate;
mod history;
mod precision;
mod run;
mod show;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod truth;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use lab::Parent;
use lab::contender::{Build, Named};
use lab::engine::{Experiment, Settings};
use lab::experiments::{self, Conditions, Only, Scale, custom};

use crate::failure::{BenchError, Failure};

/// Run experiments on any NFS server: benchmarks of a change with randomised, paired passes.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Command {
    /// List the experiments, with their time and space.
    List(explain::ListFlags),
    /// Explain an experiment: question, factors, figures, time, space.
    Explain(explain::Flags),
    Run(run::Flags),
    /// Show the results of a run so far.
    Report(show::ReportFlags),
    /// Compare the results of several runs of an experiment.
    Compare(show::CompareFlags),
    History(history::Flags),
    Ceiling(ceiling::Flags),
    Agent(agent::Flags),
    #[command(hide = true)]
    Disk(disk::Flags),
}

/// How much to measure, where, and with which servers.
#[derive(Debug, Args)]
struct ConditionFlags {
    /// Small files and few levels: minutes on a laptop, without root.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Use the sizes of the original publication.
    #[arg(long)]
    full: bool,
    /// Directory in memory (tmpfs) for files that servers read from memory.
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    memory_dir: PathBuf,
    /// Directory on a disk for files that servers read from disk.
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    disk_dir: PathBuf,
    /// Add a server: NAME=nfs://HOST/EXPORT if it is running, NAME=ganesha for NFS-Ganesha, or NAME=COMMAND, which is
    /// started with its export in $EXPORT, its ports in $PORT and $MOUNT_PORT, and a directory for its state in $STATE.
    #[arg(long = "server", value_name = "NAME=URL|COMMAND")]
    servers: Vec<Named>,
    /// Compare builds of Wharf as servers, in turns within one run: NAME=PATH for each, the reference first.
    #[arg(long = "binary", value_name = "NAME=PATH", conflicts_with = "servers")]
    builds: Vec<Build>,
    /// Run only levels of a factor whose name is or contains TEXT. May be repeated.
    #[arg(long, value_name = "FACTOR=TEXT")]
    only: Vec<Only>,
}

impl ConditionFlags {
    /// Makes the experiment of this name, or of this file.
    fn make(&self, name: &str) -> Result<Box<dyn Experiment>, Failure> {
        let make = |conditions: &Conditions| match custom::is_file(name) {
            true => custom::read(name.as_ref(), conditions).map_err(BenchError::from),
            false => Ok((experiments::find(name)?.make)(conditions)?),
        };
        let experiment = experiments::with_builds(&self.builds, &self.conditions()?, make)?;
        if let Some(why) = experiment.refuses_servers().filter(|_| !self.servers.is_empty()) {
            return Err(BenchError::NoServers { name: name.to_owned(), why }.into());
        }
        if let Some(why) = experiment.refuses_builds().filter(|_| !self.builds.is_empty()) {
            return Err(BenchError::NoBuilds { name: name.to_owned(), why }.into());
        }
        Ok(experiments::restricted(experiment, self.only.clone()).map_err(BenchError::from)?)
    }

    /// How many rounds there are when nobody says.
    fn rounds(&self) -> u32 {
        if self.quick { Settings::QUICK_ROUNDS } else { Settings::ROUNDS }
    }

    fn conditions(&self) -> Result<Conditions, Failure> {
        let program = std::env::current_exe();
        let program = program.map_err(|source| Failure::System { action: "find this program's file", source })?;
        Ok(Conditions {
            server_program: program.clone(),
            program,
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
        Command::History(flags) => history::run(flags),
        Command::Ceiling(flags) => ceiling::run(flags),
        Command::Agent(flags) => agent::run(flags),
        Command::Disk(flags) => disk::run(flags),
    }
}
