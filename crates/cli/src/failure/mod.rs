//! The failures of commands, and their messages.
//!
//! Commands depend on this module, and it does not depend on them.

mod bench;
mod export;
mod fio;
mod mount;
mod several;
mod tcp;

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use client::Status;
use client::copy::CopyError;
use stable::LogSite;
use vfs::{counted, listed, quoted};

pub use self::mount::MountFailure;
use crate::ending;
use crate::remote::{LocationError, acts_as_root};
pub use bench::BenchError;
pub use export::ExportError;
pub use fio::{FioError, FioProblem};
pub use several::{Failures, tell};
pub use tcp::TcpError;

/// Why a command failed or is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    /// An export cannot be served.
    #[error("{}", of_export(origin, source))]
    Export {
        /// Where it is configured.
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
    /// The write log belongs to a server with another state directory.
    #[error(
        "the write log {} is not of the server with the state directory {}: name that of its server with --state-dir \
         {}; if it is lost, run {} first",
        quoted(path),
        quoted(state_dir),
        server.as_ref().map_or_else(|| "DIR".to_owned(), quoted),
        LogSite::new(path, Some(state_dir)).adopt()
    )]
    LogOfOtherState {
        /// The log.
        path: PathBuf,
        /// The state directory.
        state_dir: PathBuf,
        /// The one of its server, if a directory names it.
        server: Option<PathBuf>,
    },
    /// Changes of a server with another state directory would be dropped.
    #[error(
        "the write log {} has changes of {}, and is not of the server with the state directory {}: name that of its \
         server with --state-dir {}; if nobody needs these changes, drop them with {}, or remove the log",
        quoted(path),
        listed(dirs),
        quoted(state_dir),
        server.as_ref().map_or_else(|| "DIR".to_owned(), quoted),
        LogSite::new(path, Some(state_dir)).discard(dirs)
    )]
    DiscardOfOtherState {
        /// The log.
        path: PathBuf,
        /// The state directory.
        state_dir: PathBuf,
        /// The directories in the log.
        dirs: Vec<PathBuf>,
        /// The state directory of its server, if a directory names it.
        server: Option<PathBuf>,
    },
    /// There is nothing to give up.
    #[error(
        "there is no write log {}, and no export depends on it as far as the state directory {} knows: name that of its \
         server with --state-dir DIR, or a directory that is marked itself with --export DIR",
        quoted(path),
        quoted(state_dir)
    )]
    NoLogToDiscard {
        /// Where the log would be.
        path: PathBuf,
        /// The state directory.
        state_dir: PathBuf,
    },
    /// A directory of a write log cannot be opened.
    #[error(
        "{}: {source}; the write log knows this directory: if it is at another path now, bring it back there, with \
         `mount --bind` or by its old name",
        quoted(dir)
    )]
    Logged {
        /// The directory.
        dir: PathBuf,
        /// Why not.
        source: ExportError,
    },
    /// Changes of a write log cannot be made.
    #[error(
        "the write log had {}: {} set aside, and all others were brought to storage; the messages above and {} have those \
         set aside, the reasons and the remedies; the log is empty now",
        counted(*changes, "change", "changes"), counted(*set_aside, "is", "are"), quoted(path)
    )]
    SetAside {
        /// How many the log had.
        changes: u64,
        /// How many are set aside.
        set_aside: u64,
        /// The file that has them.
        path: PathBuf,
    },
    /// A server has ended, and its write log has changes.
    #[error("the write log {} is not empty, and the next start needs it: {source}", quoted(path))]
    LogNotEmpty {
        /// The log.
        path: PathBuf,
        /// Why it is not empty.
        source: Box<stable::WriteLogError>,
    },
    /// The write log requires a state directory.
    #[error(
        "a write log requires its server's state directory, and there is no default one, since neither STATE_DIRECTORY \
         nor XDG_STATE_HOME nor HOME is set: name it with --state-dir DIR"
    )]
    WriteLogWithoutState,
    /// A log in memory requires a second flag.
    #[error(
        "a write log in memory loses acknowledged changes when the server is killed; add --lose-my-data to accept that"
    )]
    WriteLogInMemory,
    /// A log on a file system or device in memory requires a second flag.
    #[error(
        "the write log {} is on {place}: acknowledged changes end with a power failure; choose a \
         place on a disk, or add --lose-my-data to accept that", path.display()
    )]
    WriteLogOnMemory {
        /// The log.
        path: PathBuf,
        /// The file system or device, and why it loses them.
        place: String,
    },
    /// A log with its state directory in memory requires a second flag.
    #[error(
        "the state directory {} is on {place}: what a write log has there, and the replies to \
         requests that clients repeat, end with a power failure; choose a directory on a disk with --state-dir DIR, or \
         add --lose-my-data to accept that", path.display()
    )]
    WriteLogStateOnMemory {
        /// The state directory.
        path: PathBuf,
        /// The file system or device, and why it loses them.
        place: String,
    },
    /// The kernel hides failures of the flush before the log is trimmed.
    #[error(
        "a write log needs Linux 5.17 or later: older kernels do not report every write that storage has lost, and the \
         log would drop its records; run the server without --write-log, or with a newer kernel"
    )]
    WriteLogKernel,
    /// The write log would be too small.
    #[error("a write log of {size_bytes} bytes is too small: --write-log-size needs at least {min_bytes} bytes")]
    WriteLogSize {
        /// The size that is asked for.
        size_bytes: u64,
        /// The smallest one.
        min_bytes: u64,
    },
    /// The water marks of the write log contradict each other.
    #[error(
        "the write log's low water mark of {low} % is above its high water mark of {high} %: change \
         --write-log-low-water or --write-log-high-water"
    )]
    WriteLogMarks {
        /// The fill level in percent at which the log is flushed.
        high: u8,
        /// The fill level in percent above which another flush follows.
        low: u8,
    },
    /// There can be no write log at the place.
    #[error("the write log {} cannot be opened or created: {source}; if the server had one there, bring it \
             back, otherwise choose another place", path.display())]
    WriteLogPlace {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There would be more event loops than are of use.
    #[error(
        "{loops} event loops are too many: at most {most} on this machine, which has {processors} processors; --loops 0 \
         starts one for each processor"
    )]
    TooManyLoops {
        /// How many are asked for.
        loops: usize,
        /// How many there may be.
        most: usize,
        /// The processors.
        processors: usize,
    },
    /// There are not enough file descriptors for the event loops.
    #[error(
        "{loops} event loops need more file descriptors than this process may open: they are enough for {most}; raise \
         the limit with `ulimit -n`, or choose fewer with --loops"
    )]
    TooFewDescriptors {
        /// How many are asked for.
        loops: usize,
        /// How many there may be.
        most: usize,
    },
    /// An address cannot be served.
    #[error("cannot listen on {address} over {transport}: {source}{advice}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Over which protocol.
        transport: &'static str,
        /// What the system said.
        source: io::Error,
        /// Who is in the way, and what to do.
        advice: String,
    },
    /// Settings of a write log are given, and no log.
    #[error("there are settings of a write log, and no log: name it with --write-log PATH, or leave them out")]
    WriteLogUnnamed,
    /// Two addresses cannot both be bound.
    #[error("the server cannot listen on both {first} and {second}, which have one port: leave one out of `listen`")]
    ListenTwice {
        /// One of them.
        first: std::net::SocketAddr,
        /// The other.
        second: std::net::SocketAddr,
    },
    /// The state directory cannot be made or written.
    #[error(
        "cannot use the state directory {}: {}: {}", dir.display(), existing.display(),
        own_files::explained(source, own_files::NAME_ANOTHER)
    )]
    StateDir {
        /// The directory.
        dir: PathBuf,
        /// The part of its path that exists.
        existing: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another server has the state directory.
    #[error(
        "{holder} uses the state directory {}: stop it, or give this server its own with --state-dir DIR", dir.display()
    )]
    StateInUse {
        /// The directory.
        dir: PathBuf,
        /// The process.
        holder: String,
    },
    /// A server uses the state directory of a log that is to be changed.
    #[error(
        "{holder} uses the state directory {}: stop it first; or, if the log is of another server, name the state \
         directory of that one with --state-dir DIR", dir.display()
    )]
    LogInUse {
        /// The directory.
        dir: PathBuf,
        /// The process.
        holder: String,
    },
    /// The server did not start.
    #[error(transparent)]
    Start(#[from] daemon::StartError),
    /// The sockets from the service manager cannot be used.
    #[error(transparent)]
    Inherited(#[from] net::NetError),
    /// The exports of a reload collide.
    #[error(transparent)]
    Reload(#[from] daemon::ReloadError),
    /// The server refused, or did not answer.
    #[error("{file}: {} ({})", source.reason(), source.operation())]
    Remote {
        /// The file, as the user named it.
        file: String,
        /// What the client says.
        source: client::Error,
    },
    /// Nothing lists the programs of the server.
    #[error(
        "{host}: no rpcbind at port 111 ({why}), and no list at port 2049; name the server's own port as HOST:PORT"
    )]
    NoRpcbind {
        /// The server, as the user named it.
        host: String,
        /// What the system says of rpcbind's port.
        why: String,
    },
    /// The host name cannot be resolved.
    #[error("cannot find the address of {host}: {source}")]
    Resolve {
        /// The host.
        host: String,
        /// What the system says.
        source: io::Error,
    },
    /// A text is not a URL.
    #[error("{text}: {source}")]
    BadUrl {
        /// The text.
        text: String,
        /// Why it is none.
        source: LocationError,
    },
    /// A directory would be moved below itself.
    #[error("{from} cannot be moved to {to}, which is inside of it")]
    MoveIntoItself {
        /// The directory.
        from: String,
        /// Where to.
        to: String,
    },
    /// Two files must be in one export, but are not.
    #[error("{first} and {second} are not in the same export; {remedy}")]
    TwoExports {
        /// What to do.
        remedy: &'static str,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// The name of an export cannot be changed.
    #[error("{file}: this is the export itself, whose name only the server's administrator can change")]
    ExportItself {
        /// The export.
        file: String,
    },
    /// A file cannot have the wanted size.
    #[error("{file}: no file can be that large")]
    FileTooLarge {
        /// The file.
        file: String,
    },
    /// A directory cannot be used here without -r.
    #[error("{file}: is a directory; -r includes directories and their contents")]
    IsDirectory {
        /// The directory.
        file: String,
    },
    /// A directory has no data.
    #[error("{file}: is a directory; wharf ls lists it")]
    NotReadable {
        /// The directory.
        file: String,
    },
    /// A directory cannot have hard links.
    #[error("{file}: is a directory, which cannot have hard links; -s creates a symbolic link")]
    OneName {
        /// The directory.
        file: String,
    },
    /// Several sources require a directory.
    #[error("{file}: is not a directory; several sources require an existing directory")]
    NoDirectory {
        /// The target.
        file: String,
    },
    /// A copy ended early.
    #[error("{file}: {source}{}{left}", advice(source))]
    Copy {
        /// The remote side, as the user named it.
        file: String,
        /// Why.
        source: CopyError,
        /// What is incomplete, and what to do about it; empty if nothing has begun.
        left: String,
    },
    /// The command line is wrong in a way that clap does not detect.
    #[error("{0}")]
    Usage(clap::Error),
    /// Some files of a tree were not copied; their failures were printed.
    #[error("{left}")]
    CopyIncomplete {
        /// How much was copied, and what to do about the rest.
        left: String,
    },
    /// Copies are complete and belong to another user or group.
    #[error(
        "{file}: everything is copied, but the users and groups of {count} copies cannot be kept: the target permits \
         only an administrator to set them (a server maps root to another user unless the export has \
         --no-root-squash); copy without -p, -a and --owners to leave them alone"
    )]
    OwnersRefused {
        /// What was copied.
        file: String,
        /// How many copies.
        count: u64,
    },
    /// An existing directory is an incomplete copy, so nothing is copied into it.
    #[error(
        "{file}: is an incomplete copy of {origin}; {}, or remove {mark} to keep it as it is",
        if *is_same { "--resume completes it" } else { "complete it first with --resume" }
    )]
    Unfinished {
        /// The directory.
        file: String,
        /// The file that marks it.
        mark: String,
        /// The original of that copy.
        origin: String,
        /// Whether this is the same source.
        is_same: bool,
    },
    /// The target of standard input exists.
    #[error("{file}: exists already; --overwrite replaces it")]
    Exists {
        /// The file.
        file: String,
    },
    /// Standard input has no name of its own.
    #[error("{file}: is a directory; name a file in it for {input}")]
    StreamNeedsName {
        /// The directory.
        file: String,
        /// What is copied.
        input: String,
    },
    /// An input cannot be read again.
    #[error("--resume cannot continue {file}, which cannot be read again; --overwrite copies all of it")]
    NoResume {
        /// The input.
        file: String,
    },
    /// It ended early and left something behind.
    #[error("{failure}; {left}")]
    Partly {
        /// Why it ended.
        failure: Box<Failure>,
        /// What is left.
        left: String,
    },
    /// Both sides of a copy are local.
    #[error("neither SRC nor DST is on a server: write nfs://host/export or host:/export; cp(1) copies local files")]
    NoRemoteSide,
    /// Mounting failed.
    #[error(transparent)]
    Mount(#[from] MountFailure),
    /// No client publishes statistics.
    #[error(
        "no running Wharf mount found: wharf mount has statistics for its user and root; cat, ls, cp and bench have \
         them with --nfsstat"
    )]
    NoClients,
    /// No such client publishes statistics.
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
         give up all its changes with {} and its server's --state-dir",
        quoted(path), damage.from_bytes, damage.to_bytes, LogSite::new(path, None).discard(&[])
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
    /// A TCP command failed.
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
    /// A copy differs from its original.
    #[error("{}: the copy has other {what}", path.display())]
    Differs {
        /// The original.
        path: PathBuf,
        /// What is different.
        what: &'static str,
    },
    /// The user interrupted it.
    #[error("interrupted; {left}")]
    Interrupted {
        /// By which signal.
        signal: i32,
        /// What it left behind.
        left: String,
    },
    /// The user interrupted it, and there is nothing to add.
    #[error("interrupted")]
    Ended {
        /// By which signal.
        signal: i32,
    },
    /// A tree is deeper than any path allows.
    #[error("{file}: more than {max} directories deep")]
    TooDeep {
        /// Where the walk ended.
        file: String,
        /// The most directories.
        max: usize,
    },
    /// Failures were printed, but for this many.
    #[error("{untold} more failures are not shown")]
    Told {
        /// The number of failures that were not printed.
        untold: u64,
    },
    /// Standard output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// The failure of an export, which often names the directory itself.
fn of_export(origin: &config::Origin, source: &ExportError) -> String {
    let (origin, source) = (origin.to_string(), source.to_string());
    if source.contains(&format!(" {origin} ")) { source } else { format!("{origin}: {source}") }
}

/// One failure a line.
fn lines(failures: &[Failure]) -> String {
    failures.iter().map(|failure| explain(failure)).collect::<Vec<_>>().join("\n")
}

/// A remedy for a failed copy.
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
    /// Combines these failures, if there are any.
    ///
    /// # Errors
    /// If there are some.
    pub fn if_any(mut failures: Vec<Failure>) -> Result<(), Failure> {
        match failures.len() {
            0 => Ok(()),
            1 => Err(failures.remove(0)),
            _ => Err(Failure::Several(failures)),
        }
    }

    /// Whether all further files would fail, too: the server is unreachable or has no room.
    pub fn ends_all(&self) -> bool {
        match self {
            Failure::Copy { source, .. } => source.ends_all(),
            Failure::Remote { source, .. } => source.status().is_none(),
            Failure::Local { .. }
            | Failure::IsDirectory { .. }
            | Failure::ExportItself { .. }
            | Failure::FileTooLarge { .. }
            | Failure::NotReadable { .. }
            | Failure::TooDeep { .. }
            | Failure::CopyIncomplete { .. } => false,
            _ => true,
        }
    }

    /// Prints the failure to standard error, and returns the exit status.
    pub fn report(&self) -> ExitCode {
        // A reader may close the pipe early, as in `wharf ls …
        // head`: this is not a failure.
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
        if self.is_of_arguments() { ExitCode::from(WRONG_ARGUMENTS) } else { ExitCode::FAILURE }
    }

    /// What root has to know when a server refuses it.
    pub(super) fn advice_for_root(&self) -> &'static str {
        let status = match self {
            Failure::Remote { source, .. } => source.status(),
            Failure::Copy { source: CopyError::Remote(error), .. } => error.status(),
            Failure::Bench(BenchError::Lab(lab::bench::Error::File { error, .. })) => error.status(),
            _ => None,
        };
        if matches!(status, Some(Status::AccessDenied | Status::NotPermitted)) && acts_as_root() {
            "; you are root, which the server maps to another user unless the export has --no-root-squash: then run \
             this as the owner of the files"
        } else {
            ""
        }
    }

    /// Whether the command line is wrong.
    fn is_of_arguments(&self) -> bool {
        match self {
            Failure::Config(mistake) => mistake.is_of_arguments(),
            Failure::Export { origin: config::Origin::Argument(_), source: ExportError::Faults(_) } => true,
            Failure::Export { origin: config::Origin::Argument(_), source: ExportError::BadUrl(_) } => true,
            Failure::Bench(error) => error.is_of_arguments(),
            Failure::Several(failures) => failures.iter().any(Failure::is_of_arguments),
            _ => false,
        }
    }
}

/// The exit status for a wrong command line, as clap has it.
const WRONG_ARGUMENTS: u8 = 2;

/// The message of an error, with those of its sources that it does not contain.
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
