//! `wharf bench --agents`: the same load from several hosts in step.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use lab::agents::{Conductor, Found as Together, HostFound, Token};
use lab::bench::{Job, Stop};

use super::found::Found;
use crate::failure::BenchError;

/// Which hosts load.
#[derive(Debug, Clone, Args)]
pub(super) struct AgentFlags {
    /// Load from these agents in step, not from this host: HOST:PORT of `wharf lab agent`, separated by commas. Each
    /// does the whole load. The first job of the output is all of them together.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', requires = "agent_token",
        conflicts_with_all = ["fio", "curve", "server_pid", "verify", "nfsstat"])]
    agents: Vec<String>,
    /// File with the token of the agents.
    #[arg(long, value_name = "FILE", requires = "agents")]
    agent_token: Option<PathBuf>,
}

impl AgentFlags {
    pub(super) fn is_wanted(&self) -> bool {
        !self.agents.is_empty()
    }

    /// Has the agents do all jobs, and adds what they found together and each. They end their jobs when they are to
    /// stop.
    pub(super) fn measure(&self, jobs: &[Job], stop: &Stop, found: &Found) -> Result<(), BenchError> {
        let token = Token::read(self.agent_token.as_deref().ok_or(lab::agents::Error::NoAgents)?)?;
        let command_line = command_line()?;
        let mut conductor = Conductor::connect(&self.agents, &token, env!("CARGO_PKG_VERSION"), stop.clone())?;
        for (number, job) in jobs.iter().enumerate().take_while(|_| !stop.is_stopped()) {
            let Together { mut all, hosts } = conductor.run(&command_line, number, job)?;
            all.name = format!("{} on {} hosts", job.name, hosts.len());
            found.push(all);
            for HostFound { agent, summary, late, uncertainty, first_error } in hosts {
                eprintln!("agent {agent}: started {late:.1?} after its time; its clock is known to ±{uncertainty:.1?}");
                found.push(summary);
                if let Some(error) = first_error {
                    found.note_error(BenchError::AgentOperation { agent, error });
                }
            }
        }
        Ok(())
    }
}

/// The arguments of this process behind `wharf bench`: an agent reads them as this process does.
fn command_line() -> Result<Vec<String>, BenchError> {
    let read = std::env::args_os().skip(2).map(OsString::into_string);
    read.collect::<Result<_, _>>().map_err(BenchError::NotUnicode)
}
