use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use proto::nfs4;

use crate::core::Failure;
use crate::location::advice;
use crate::{Location, NoExport, Status, UrlError, Version};

/// What the operations of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// Which operation failed, at which server, on which file, and why.
///
/// ```
/// fn is_missing(error: &client::Error) -> bool {
///     error.status() == Some(client::Status::NoEntry)
/// }
/// ```
#[derive(Clone)]
pub struct Error(Box<Parts>);

#[derive(Clone)]
struct Parts {
    operation: &'static str,
    server: Arc<str>,
    file: Option<Vec<u8>>,
    /// Shared by all who wait for one thing that went wrong.
    reason: Arc<Reason>,
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The server carried the call out and says no.
    #[error("{0}")]
    Status(Status),
    /// The server refuses to mount.
    #[error("{0}")]
    Mount(MountRefusal),
    /// The path is in no export of the server.
    #[error("{0}")]
    NoExport(NoExport),
    /// The server did not carry the call out.
    #[error("{0}")]
    Rejected(#[source] rpc::Rejection),
    /// There was no reply.
    #[error("{0}")]
    NoReply(#[source] Failure),
    /// The host's name means nothing.
    #[error("cannot find the address of the host: {0}; check its name")]
    Resolve(#[source] io::Error),
    /// There is no connection.
    #[error("cannot connect to {address}: {source}; {}", connect_advice(*address))]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// A further connection of a session leads to another server than the first (RFC 8881 §2.10.5).
    #[error(
        "a further connection leads to another server, {found}, than the first, {expected}: mount with nconnect=1, or by an address \
         that is one server's"
    )]
    OtherServer {
        /// What the server of the session calls itself.
        expected: String,
        /// What the other one calls itself.
        found: String,
    },
    /// The server's sessions have less room than the client's requests and their replies take.
    #[error(
        "the server's sessions have room for {offered} {limit}, and {needed} are needed: raise the server's limit, or mount with vers=4.0 \
         or vers=3"
    )]
    SessionTooSmall {
        /// What there is too little room for.
        limit: SessionLimit,
        /// How much the server allows.
        offered: u32,
        /// How much it must allow at the least.
        needed: u32,
    },
    /// The port cannot be opened at which the server is to call the client.
    #[error(
        "cannot listen for the server's calls at {address}: {source}; name an address of this machine and a free port"
    )]
    Callbacks {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The server's rpcbind knows no such program.
    #[error("the server's rpcbind has no program {program} version {version}; name its port in the URL")]
    NotRegistered {
        /// The program.
        program: u32,
        /// The version.
        version: u32,
    },
    /// The reply's header makes no sense.
    #[error("{0}")]
    NotAReply(#[source] rpc::ReplyError),
    /// The reply is not made as its type is.
    #[error("the server's reply makes no sense: {0}")]
    BadReply(#[source] xdr::Error),
    /// The reply is well made and cannot be true.
    #[error("the server's reply cannot be right: {0}")]
    Lie(#[source] Lie),
    /// The protocol's version has no such operation.
    #[error("NFS version {0} cannot do this")]
    NotInVersion(Version),
    /// The protocol's version has no such time: NFSv2 and NFSv3 have those from 1970 to 2106 (RFC 1813 §2.5).
    #[error(
        "NFS version {version} stores times from 1970 to 2106, and this one is {seconds} s after 1970: use NFSv4, or set another time"
    )]
    TimeOutOfRange {
        /// The version.
        version: Version,
        /// The time, in seconds since 1970.
        seconds: i64,
    },
    /// This version of NFS has no such transport.
    #[error("NFS version {0} needs TCP")]
    NeedsStream(Version),
    /// The server lost what this client had opened or locked, and it could not be had back.
    #[error("the server lost the state of the file, and it could not be had back: another client may have changed it")]
    StateLost,
    /// The file system is at another server now, or always was: referrals are not followed.
    #[error("the file system is at another server; {}", advice(locations))]
    Moved {
        /// Where it is, as far as the server tells.
        locations: Vec<Location>,
    },
    /// Somebody else's lock is in the way.
    #[error("bytes {offset} to {} are locked by somebody else", last_byte(*offset, *length))]
    Locked {
        /// Where the lock begins, in bytes.
        offset: u64,
        /// How long it is, in bytes; all ones for everything from there on.
        length: u64,
    },
    /// The server says that a copy goes on, and it does not (RFC 7862 §15.9.3).
    #[error(
        "the server says that it still copies, and came no further than byte {copied} within {waited:.0?}; check the server, or wait \
         for ever with hard in the URL"
    )]
    CopyStalled {
        /// How much is copied, in bytes.
        copied: u64,
        /// How long nothing more was.
        waited: Duration,
    },
    /// The path cannot be followed.
    #[error("{0}")]
    Path(#[source] PathError),
    /// A request is larger than its limit.
    #[error("{bytes} bytes are over the limit of {max}")]
    TooLarge {
        /// How large it is.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The name cannot be one.
    #[error("{0}")]
    Name(#[source] vfs::NameError),
    /// The URL cannot be one.
    #[error("{0}")]
    Url(#[source] UrlError),
}

fn last_byte(offset: u64, length: u64) -> String {
    match offset.checked_add(length) {
        Some(end) if end > offset => (end - 1).to_string(),
        _ => "the end".to_owned(),
    }
}

/// What may help where there is no connection. The port of rpcbind is asked when nobody names another one.
fn connect_advice(address: SocketAddr) -> &'static str {
    match address.port() {
        proto::rpcbind::PORT => {
            "there is no rpcbind that tells ports: name the server's port, as in nfs://host:2049/path or with port=2049, or ask \
             for NFSv4, which needs none"
        }
        _ => "check that the server runs and the port is right",
    }
}

/// What a session limits (RFC 8881 §18.36.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionLimit {
    /// How many operations a request may have (`ca_maxoperations`).
    Operations,
    /// How long a request may be (`ca_maxrequestsize`).
    RequestBytes,
    /// How long a reply may be (`ca_maxresponsesize`).
    ReplyBytes,
}

impl fmt::Display for SessionLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SessionLimit::Operations => "operations in a request",
            SessionLimit::RequestBytes => "bytes in a request",
            SessionLimit::ReplyBytes => "bytes in a reply",
        })
    }
}

/// What a server says that cannot be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lie {
    /// A READ brought more bytes than were asked for.
    #[error("{got} bytes of data where {asked} were asked for")]
    TooMuchData {
        /// What was asked for, in bytes.
        asked: u32,
        /// What came, in bytes.
        got: usize,
    },
    /// A READ brought another number of bytes than it says.
    #[error("{got} bytes of data where {said} are announced")]
    WrongCount {
        /// What the reply says, in bytes.
        said: u32,
        /// What came, in bytes.
        got: usize,
    },
    /// A READ brought nothing although the file goes on.
    #[error("no data before the end of the file")]
    NoData,
    /// A WRITE wrote nothing, or more than it was given.
    #[error("{said} bytes written of {given}")]
    WrongWrite {
        /// What the reply says, in bytes.
        said: u32,
        /// What was given, in bytes.
        given: usize,
    },
    /// A WRITE is less safe than it was asked to be.
    #[error("the data is less safe than was asked for")]
    LessStable,
    /// A listing goes round in a circle.
    #[error("the directory's cookies repeat: its listing has no end")]
    CookieLoop,
    /// A listing has more entries than can be.
    #[error("the directory has more than {0} entries")]
    TooManyEntries(u64),
    /// A listing has an entry whose name cannot be one.
    #[error("a directory entry is no name: {0}")]
    BadName(vfs::NameError),
    /// The transfer size is zero, or the like.
    #[error("the server allows transfers of {0} bytes only")]
    TransferSize(u32),
    /// The reply to a compound ends before its last operation, and says that all is well.
    #[error("the reply ends before the last operation")]
    FewResults,
    /// An attribute that every server has is not there (RFC 8881 §5.6).
    #[error("the attribute {0} is missing")]
    NoAttribute(&'static str),
    /// A session without slots.
    #[error("the session is of no use: {0}")]
    UselessSession(&'static str),
    /// The reply to a request of a session has another place in it than the request.
    #[error("the reply is one of another slot")]
    WrongSlot,
    /// A lease is no time at all.
    #[error("a lease of {0} seconds")]
    Lease(u32),
    /// A COPY that had to be over when it was answered goes on (RFC 7862 §15.2.3).
    #[error("the server copies in the background, which it was asked not to")]
    UnwantedBackground,
    /// A COPY copied more than it was asked to.
    #[error("{said} bytes copied where {asked} were asked for")]
    TooMuchCopied {
        /// What was asked for, in bytes.
        asked: u64,
        /// What the reply says, in bytes.
        said: u64,
    },
    /// Segments of a READ_PLUS do not follow on each other (RFC 7862 §15.10.3).
    #[error("a segment begins at byte {got}, and byte {expected} comes next")]
    Segment {
        /// What comes next.
        expected: u64,
        /// Where the segment begins.
        got: u64,
    },
    /// A SEEK found something in front of where it began.
    #[error("something was found at byte {got} when it was looked for from byte {from} on")]
    SoughtBackwards {
        /// Where it was to begin.
        from: u64,
        /// What the reply says.
        got: u64,
    },
    /// A SEEK found something where no file can have it (RFC 8881 §5.8.2.21: offsets are those of the host's files).
    #[error("something was found at byte {0}, where no file goes on")]
    SoughtTooFar(u64),
    /// The target of a symbolic link has a NUL in it, which ends every path.
    #[error("the symbolic link's target has a NUL in it")]
    BadTarget,
    /// The reply to a compound has more results than there were operations.
    #[error("{said} results for {asked} operations")]
    ManyResults {
        /// How many operations there were.
        asked: u32,
        /// How many results the reply has.
        said: u32,
    },
    /// The names of a file's extended attributes are longer than all that any file has.
    #[error("the names of the extended attributes take more than {0} bytes")]
    TooLongList(usize),
    /// The lock manager answered another call than the one that was made.
    #[error("the lock manager's answer has the cookie of another call")]
    OtherCookie,
    /// A READ_PLUS brought more segments than any reply has.
    #[error("{0} segments in one reply")]
    TooManySegments(u32),
    /// A handle is longer than its version allows.
    #[error("a file handle of {0} bytes")]
    HandleLength(usize),
}

/// Why a path leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// Symbolic links lead to symbolic links without end.
    #[error("more than {0} symbolic links on the way")]
    TooManyLinks(usize),
    /// A symbolic link's target is outside of what is mounted.
    #[error("a symbolic link leads out of the export")]
    LeavesExport,
    /// The path has too many components.
    #[error("the path has more than {0} components")]
    TooLong(usize),
}

/// Why MOUNT was refused (RFC 1813 §5.1.5, `mountstat3`), and what may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MountRefusal {
    /// Only the superuser may.
    NotPermitted,
    /// There is no such export.
    NoEntry,
    /// The storage failed.
    Io,
    /// The export is not for this client.
    AccessDenied,
    /// The path is not a directory.
    NotDirectory,
    /// The path makes no sense.
    Invalid,
    /// The path is too long.
    NameTooLong,
    /// The server cannot do it.
    NotSupported,
    /// The server failed.
    ServerFault,
    /// A number that MOUNT version 1 gives, from Unix.
    Other(u32),
}

impl fmt::Display for MountRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MountRefusal::NotPermitted => "the server does not permit the mount; it may want a privileged port",
            MountRefusal::NoEntry => "the server has no such export; wharf showmount lists those that it has",
            MountRefusal::Io => "input/output error on the server",
            MountRefusal::AccessDenied => {
                "the server refuses this client; check the export's client list and whether it wants a privileged port"
            }
            MountRefusal::NotDirectory => "not a directory",
            MountRefusal::Invalid => "invalid argument",
            MountRefusal::NameTooLong => "the path is too long",
            MountRefusal::NotSupported => "the server does not support it",
            MountRefusal::ServerFault => "server fault",
            MountRefusal::Other(number) => return write!(f, "the server refuses the mount with error {number}"),
        })
    }
}

impl Error {
    pub(crate) fn new(server: &Arc<str>, operation: &'static str, reason: Reason) -> Error {
        Error(Box::new(Parts { operation, server: Arc::clone(server), file: None, reason: Arc::new(reason) }))
    }

    /// Says which operation it was, where what failed carried it.
    pub(crate) fn during(mut self, operation: &'static str) -> Error {
        self.0.operation = operation;
        self
    }

    /// Says more exactly why.
    pub(crate) fn because(mut self, reason: Reason) -> Error {
        self.0.reason = Arc::new(reason);
        self
    }

    /// Says which file the error is about: whoever knows the path says it last.
    #[must_use]
    pub fn about(mut self, file: &[u8]) -> Error {
        self.0.file = Some(file.to_vec());
        self
    }

    /// The operation, as the RFC writes its name.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// The server, as the URL names it.
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// The file's path or name, where it is known.
    pub fn file(&self) -> Option<&[u8]> {
        self.0.file.as_deref()
    }

    /// Why.
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// The status, when the server carried the call out and says no.
    pub fn status(&self) -> Option<Status> {
        match *self.0.reason {
            Reason::Status(status) => Some(status),
            Reason::Moved { .. } => Some(Status::Moved),
            Reason::NoExport(_) => Some(Status::NoEntry),
            _ => None,
        }
    }
}

impl Error {
    /// The status as NFSv4 has it, as far as what is done about errors depends on it.
    pub(crate) fn v4_status(&self) -> Option<nfs4::Status> {
        match self.status()? {
            Status::V4(status) => Some(status),
            Status::TryLater => Some(nfs4::Status::Delay),
            Status::Grace => Some(nfs4::Status::Grace),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { operation, server, file, reason } = &*self.0;
        match file {
            Some(file) => write!(f, "{}: {reason} ({operation}, server {server})", file.escape_ascii()),
            None => write!(f, "{reason} ({operation}, server {server})"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("operation", &self.0.operation)
            .field("server", &self.0.server)
            .field("file", &self.0.file.as_ref().map(|file| file.escape_ascii().to_string()))
            .field("reason", &self.0.reason)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0.reason)
    }
}
