//! What commands end with that could not do what they were asked, and what the user is told then.
//!
//! Commands know of this, and it knows nothing of how they work.

mod bench;
mod export;
mod mount;
mod several;
mod tcp;

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use client::copy::CopyError;

pub use self::mount::MountFailure;
use crate::ending;
use crate::remote::LocationError;
pub use bench::BenchError;
pub use export::ExportError;
pub use several::{Failures, tell};
pub use tcp::TcpError;

/// Why a command did not do all of what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The configuration makes no sense.
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    /// An export cannot be served.
    #[error("{origin}: {source}")]
    Export {
        /// Where it was asked for.
        origin: config::Origin,
        /// Why it cannot.
        source: ExportError,
    },
    /// Several things are wrong.
    #[error("{}", lines(.0))]
    Several(Vec<Failure>),
    /// The write log cannot be used.
    #[error(transparent)]
    WriteLog(#[from] stable::WriteLogError),
    /// A directory of a write log cannot be had.
    #[error("{}: {source}", dir.display())]
    Logged {
        /// The directory.
        dir: PathBuf,
        /// Why not.
        source: ExportError,
    },
    /// The write log needs a place for its own state.
    #[error("a write log requires a state directory; choose one with --state-dir DIR")]
    WriteLogWithoutState,
    /// A log in memory has to be asked for twice.
    #[error(
        "a write log in memory loses acknowledged changes when the server is killed; add --lose-my-data to accept that"
    )]
    WriteLogInMemory,
    /// The server did not start.
    #[error(transparent)]
    Start(#[from] daemon::StartError),
    /// The sockets that the service manager handed over are of no use.
    #[error(transparent)]
    Inherited(#[from] net::NetError),
    /// The exports of a reload cannot be told apart.
    #[error(transparent)]
    Reload(#[from] daemon::ReloadError),
    /// The server said no, or did not answer.
    #[error("{file}: {} ({})", source.reason(), source.operation())]
    Remote {
        /// The file, as the user named it.
        file: String,
        /// What the client says.
        source: client::Error,
    },
    /// The address of a host cannot be found.
    #[error("cannot find the address of {host}: {source}")]
    Resolve {
        /// The host.
        host: String,
        /// What the system says.
        source: io::Error,
    },
    /// A text that has to be a URL is none.
    #[error("{text}: {source}")]
    BadUrl {
        /// The text.
        text: String,
        /// Why it is none.
        source: LocationError,
    },
    /// Two files have to be in one export and are not.
    #[error("{first} and {second} are not in the same export; use wharf cp and then wharf rm")]
    TwoExports {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A directory is where only a file will do.
    #[error("{file}: is a directory; -r includes directories and their contents")]
    IsDirectory {
        /// The directory.
        file: String,
    },
    /// A directory has no bytes of its own.
    #[error("{file}: is a directory; wharf ls lists it")]
    NotReadable {
        /// The directory.
        file: String,
    },
    /// A directory has one name.
    #[error("{file}: is a directory, which cannot have hard links; -s creates a symbolic link")]
    OneName {
        /// The directory.
        file: String,
    },
    /// Several files cannot become one.
    #[error("{file}: is not a directory; several sources require an existing directory")]
    NoDirectory {
        /// What was named as the target.
        file: String,
    },
    /// A copy ended early.
    #[error("{file}: {source}{}{left}", advice(source))]
    Copy {
        /// The remote side, as the user named it.
        file: String,
        /// Why.
        source: CopyError,
        /// What is incomplete now, and what to do about it; empty when nothing was begun.
        left: String,
    },
    /// The command line makes no sense, in a way that its parser does not see.
    #[error("{0}")]
    Usage(clap::Error),
    /// Some files of a tree were not copied, and were told.
    #[error("{left}")]
    CopyIncomplete {
        /// How much was copied, and what to do about the rest.
        left: String,
    },
    /// A directory that is there is an unfinished copy, so that it takes no other one in.
    #[error(
        "{file}: is an incomplete copy of {origin}; {}, or remove {file}/.wharf-copy to keep it as it is",
        if *is_same { "--resume completes it" } else { "complete it first with --resume" }
    )]
    Unfinished {
        /// The directory.
        file: String,
        /// The original of which it is a copy.
        origin: String,
        /// Whether that is what is to be copied.
        is_same: bool,
    },
    /// Something is there where standard input is to go.
    #[error("{file}: exists already; --overwrite replaces it")]
    Exists {
        /// The file.
        file: String,
    },
    /// Standard input has no name of its own.
    #[error("{file}: is a directory; name a file in it for standard input")]
    StreamNeedsName {
        /// The directory.
        file: String,
    },
    /// Standard input cannot be read again.
    #[error("--resume cannot continue standard input, which cannot be read again; --overwrite copies all of it")]
    NoResume,
    /// Something ended early and has left something behind.
    #[error("{failure}; {left}")]
    Partly {
        /// Why it ended.
        failure: Box<Failure>,
        /// What is left.
        left: String,
    },
    /// Both sides of a copy are here.
    #[error("neither SRC nor DST is on a server: write nfs://host/export or host:/export; cp(1) copies local files")]
    NoRemoteSide,
    /// A mount did not come about.
    #[error(transparent)]
    Mount(#[from] MountFailure),
    /// Nobody tells what they count.
    #[error(
        "no running Wharf mount found: wharf mount has statistics for its user and root; cat, ls, cp and bench have \
         them with --nfsstat"
    )]
    NoClients,
    /// Nobody tells what this mount counts.
    #[error("{mount}: no such mount, or it is another user's; wharf nfsstat -m lists the mounts")]
    NoSuchClient {
        /// The mount, as the user named it.
        mount: String,
    },
    /// A write log cannot be used.
    #[error(transparent)]
    Log(#[from] stable::LogError),
    /// Records of a write log are lost.
    #[error(
        "log {} is damaged from byte {} to byte {}: acknowledged changes may be lost; restore the log from a copy, or \
         remove it together with the changes in it",
        path.display(), damage.from_bytes, damage.to_bytes
    )]
    LogDamage {
        /// The log.
        path: PathBuf,
        /// Where.
        damage: stable::Damage,
    },
    /// A benchmark failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The work on TCP failed.
    #[error(transparent)]
    Tcp(#[from] TcpError),
    /// A local file could not be read or written.
    #[error("{}: {source}", path.display())]
    Local {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A copy is not what the original is.
    #[error("{}: the copy has other {what}", path.display())]
    Differs {
        /// The original.
        path: PathBuf,
        /// What is different.
        what: &'static str,
    },
    /// The user wants no more of it.
    #[error("interrupted; {left}")]
    Interrupted {
        /// By which signal.
        signal: i32,
        /// What is left of it.
        left: String,
    },
    /// The user interrupted it, and nothing is left to be said.
    #[error("interrupted")]
    Ended {
        /// By which signal.
        signal: i32,
    },
    /// A tree is deeper than any that a path can name.
    #[error("{file}: more than {max} directories deep")]
    TooDeep {
        /// Where the walk ended.
        file: String,
        /// The most directories.
        max: usize,
    },
    /// Things failed, and were told; all but so many.
    #[error("{untold} more failures are not shown")]
    Told {
        /// How many were not told.
        untold: u64,
    },
    /// Standard output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// The system refuses something that the program needs.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// One failure a line.
fn lines(failures: &[Failure]) -> String {
    failures.iter().map(|failure| explain(failure)).collect::<Vec<_>>().join("\n")
}

/// What the user may do about a failure of a copy.
pub fn advice(source: &CopyError) -> &'static str {
    match source {
        CopyError::Exists { .. } => "; --overwrite replaces it, --resume continues a copy that ended early",
        CopyError::Xattrs { source, .. } if source.kind() == io::ErrorKind::Unsupported => {
            "; --xattrs requires NFSv4.2 and a file system with extended attributes; omit it to copy without them"
        }
        _ => "",
    }
}

impl From<Vec<config::ConfigError>> for Failure {
    fn from(mistakes: Vec<config::ConfigError>) -> Failure {
        let mut failures: Vec<Failure> = mistakes.into_iter().map(Failure::from).collect();
        if failures.len() == 1 { failures.remove(0) } else { Failure::Several(failures) }
    }
}

impl Failure {
    /// All of these failures as one, if there are any.
    ///
    /// # Errors
    /// When there are some.
    pub fn if_any(mut failures: Vec<Failure>) -> Result<(), Failure> {
        match failures.len() {
            0 => Ok(()),
            1 => Err(failures.remove(0)),
            _ => Err(Failure::Several(failures)),
        }
    }

    /// Whether it will be the same with every further file: the server is gone or has no room.
    pub fn ends_all(&self) -> bool {
        match self {
            Failure::Copy { source, .. } => source.ends_all(),
            Failure::Remote { source, .. } => source.status().is_none(),
            Failure::Local { .. }
            | Failure::IsDirectory { .. }
            | Failure::NotReadable { .. }
            | Failure::TooDeep { .. }
            | Failure::CopyIncomplete { .. } => false,
            _ => true,
        }
    }

    /// Says on standard error what failed, and with which status the program ends.
    pub fn report(&self) -> ExitCode {
        // Whoever reads our output may stop when they have seen enough: `wharf ls … | head` is no failure of anything.
        if matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        if let Failure::Usage(error) = self {
            error.exit();
        }
        tell(self);
        if let Failure::Interrupted { signal, .. } | Failure::Ended { signal } = self {
            ending::end_by(*signal);
        }
        ExitCode::FAILURE
    }
}

/// The message of an error, with those of its sources that are not in it already.
pub fn explain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_told_once() {
        let source = io::Error::from(io::ErrorKind::NotFound);
        let failure = Failure::System { action: "look", source };
        assert_eq!(explain(&failure), "cannot look: entity not found");
        let bind = net::NetError::Bind {
            address: "127.0.0.1:1".parse().unwrap(),
            transport: "TCP",
            source: io::ErrorKind::AddrInUse.into(),
        };
        assert_eq!(explain(&Failure::Inherited(bind)), "cannot listen on 127.0.0.1:1 over TCP: address in use");
    }
}
