use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::fio::FioError;

/// Why a benchmark has no figures, or none that can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// It could not be done.
    #[error(transparent)]
    Lab(#[from] lab::bench::Error),
    /// A capture could not be replayed.
    #[error("{}: {source}", file.display())]
    Replay {
        /// The capture.
        file: PathBuf,
        /// Why.
        source: lab::replay::Error,
    },
    /// The experiment is unknown.
    #[error(transparent)]
    Unknown(#[from] lab::experiments::Unknown),
    /// The experiment has no such level.
    #[error(transparent)]
    Only(#[from] lab::experiments::OnlyError),
    /// The experiment does not compare servers.
    #[error("--server: {name} takes no other servers: {why}; `wharf lab list` shows which experiments do")]
    NoServers {
        /// The experiment.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// The experiment does not compare builds of Wharf.
    #[error("--binary: {name} compares no builds of Wharf: {why}")]
    NoBuilds {
        /// The experiment.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// A limit is of a figure that there is not.
    #[error("--fail-if: {experiment} has no figure '{figure}'; it has {known}")]
    NoFigure {
        /// The figure.
        figure: String,
        /// The experiment.
        experiment: String,
        /// The figures that there are.
        known: String,
    },
    /// A limit was compared with nothing.
    #[error("--fail-if: {experiment} has no ratio of these figures, so that nothing was checked")]
    NoRatio {
        /// The experiment.
        experiment: String,
    },
    /// A ratio is beyond its limit.
    #[error("--fail-if: {experiment}: {failed} of {of} ratios are beyond their limit")]
    Gate {
        /// The experiment.
        experiment: String,
        /// How many.
        failed: usize,
        /// Of how many.
        of: usize,
    },
    /// The experiment could not be done.
    #[error(transparent)]
    Experiment(#[from] lab::engine::Error),
    /// The file of an experiment is none.
    #[error(transparent)]
    Custom(#[from] lab::experiments::custom::FileError),
    /// The folder of a run cannot be used.
    #[error(transparent)]
    Folder(#[from] lab::engine::FolderError),
    /// Profiles in the folder of a run cannot be read.
    #[error(transparent)]
    Profile(#[from] lab::engine::ProfileError),
    /// A flame graph cannot be drawn.
    #[error("cannot draw a flame graph: {0}")]
    FlameGraph(#[source] io::Error),
    /// Operations failed; this is the first failure.
    #[error("operations failed: {0}")]
    Operation(#[from] lab::bench::OperationError),
    /// A job file cannot be run.
    #[error("--fio: {0}")]
    Fio(#[source] FioError),
    /// A curve gives each job its rates.
    #[error("--curve: the job {0} has a rate or a thinktime of its own: remove it from the job file")]
    Paced(String),
    /// Calls are replayed to a server.
    #[error("--replay: the calls of a capture go to a server: name a URL, not {0}")]
    ReplayPath(String),
    /// Agents could not measure in step.
    #[error(transparent)]
    Agents(#[from] lab::agents::Error),
    /// A file has no token.
    #[error(transparent)]
    Token(#[from] lab::agents::TokenError),
    /// An agent cannot listen.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The command line cannot be sent to agents.
    #[error("{}: with --agents, all arguments must be UTF-8", .0.display())]
    NotUnicode(OsString),
    /// Operations of an agent failed; this is its first failure.
    #[error("agent {agent}: operations failed: {error}")]
    AgentOperation {
        /// The agent.
        agent: String,
        /// The failure.
        error: String,
    },
    /// The ceiling cannot be measured.
    #[error(transparent)]
    Ceiling(#[from] lab::ceiling::CeilingError),
    /// Only runs of one experiment can be compared.
    #[error("{first} and {other} are different experiments: compare runs of one")]
    Experiments {
        /// The experiment of the first run.
        first: String,
        /// That of another one.
        other: String,
    },
    /// A folder has several runs, and one is needed.
    #[error("{} has several runs; name one of them: {runs}", folder.display())]
    SeveralRuns {
        /// The folder.
        folder: PathBuf,
        /// Their folders.
        runs: String,
    },
    /// A line of a history is none.
    #[error("{}, line {line}: {source}; each line is written by `wharf lab run --history`", path.display())]
    HistoryLine {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A history is of another machine.
    #[error(
        "{}: line {line} is of another machine: {what} {was}, and {is} {place}; their figures cannot be compared, so take \
         a file for each machine",
        path.display()
    )]
    HistoryMachine {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What differs.
        what: &'static str,
        /// What it is there.
        was: String,
        /// What it is elsewhere.
        is: String,
        /// Where that is.
        place: &'static str,
    },
    /// A history has nothing to show.
    #[error("{} has no run with {wanted}", path.display())]
    HistoryEmpty {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        wanted: String,
    },
    /// A chart cannot be drawn.
    #[error(transparent)]
    Chart(#[from] report::ChartError),
    /// The figures cannot be written as JSON.
    #[error("cannot write the figures: {0}")]
    Json(#[source] serde_json::Error),
}

impl BenchError {
    /// Whether it only says that a signal ended a job before anything was measured.
    pub fn is_stop(&self) -> bool {
        matches!(
            self,
            BenchError::Lab(lab::bench::Error::Stopped)
                | BenchError::Replay { source: lab::replay::Error::Stopped, .. }
                | BenchError::Agents(lab::agents::Error::Stopped)
        )
    }

    /// Whether the command line is wrong.
    pub fn is_of_arguments(&self) -> bool {
        use lab::bench::Error::{BlockSize, FileSize, NoBlocks, NotRandom, NothingToCommit, Range};
        match self {
            BenchError::Unknown(_)
            | BenchError::Only(_)
            | BenchError::NoServers { .. }
            | BenchError::NoBuilds { .. }
            | BenchError::Fio(FioError::Line { .. })
            | BenchError::Paced(_)
            | BenchError::ReplayPath(_)
            | BenchError::NoFigure { .. } => true,
            BenchError::Lab(error) => matches!(
                error,
                Range { .. } | FileSize { .. } | BlockSize(_) | NoBlocks { .. } | NotRandom(_) | NothingToCommit(_)
            ),
            _ => false,
        }
    }
}
