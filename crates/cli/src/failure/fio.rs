use std::io;
use std::path::PathBuf;

/// Why a job file of fio cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line means nothing here, or something else than in fio.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: FioProblem,
    },
}

/// What is wrong with a line of a job file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FioProblem {
    /// A section has no end.
    #[error("the name of a section ends with ']'")]
    Bracket,
    /// There is nothing to run.
    #[error("the file has no job: begin one with its name in brackets, such as [randread]")]
    NoJob,
    /// There are too many jobs.
    #[error("the file has {count} jobs, and {max} are possible: split it")]
    TooManyJobs {
        /// How many.
        count: usize,
        /// The most.
        max: usize,
    },
    /// A value has a variable.
    #[error("{key}={value}: variables are not replaced: write the value")]
    Variable {
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
    /// The key is none that a benchmark of an NFS server has.
    #[error("{0} is not supported: remove the line; docs/measuring.md lists the keys")]
    Key(String),
    /// The key has values without a meaning here.
    #[error("{key}={value}: {why}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// Why that is not possible, and what to do.
        why: String,
    },
    /// Jobs would run at once.
    #[error("[{0}] would run beside the section above: jobs run one after the other, so add stonewall")]
    Parallel(String),
    /// The amount of work is unknown.
    #[error("[{0}] has no size: add size=, the bytes of each file")]
    NoSize(String),
    /// Settings contradict each other.
    #[error("[{section}]: {why}")]
    Section {
        /// The section.
        section: String,
        /// What the command line says to the same options.
        why: String,
    },
}
