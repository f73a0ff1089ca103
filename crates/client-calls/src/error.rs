use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use proto::nfs4;

use crate::core::Failure;
use crate::location::advice;
use crate::mount_refusal::MountRefusal;
use crate::{Location, NoExport, Status, UrlError, Version};

/// The result of operations of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed operation: its name, the server, the file and the reason.
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
    /// Shared by all callers that wait for the same failure.
    reason: Arc<Reason>,
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The server carried the call out and returned an error.
    #[error("{0}")]
    Status(Status),
    /// The server refused to mount.
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
    /// The host's name cannot be resolved.
    #[error("cannot find the address of the host: {0}; check its name")]
    Resolve(#[source] io::Error),
    /// No connection can be made.
    #[error("cannot connect to {address}: {source}; {}", connect_advice(*address))]
    Connect {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// A further connection of a session leads to another server than the first (RFC 8881 §2.10.5).
    #[error(
        "a further connection leads to another server, {found}, than the first, {expected}: mount with nconnect=1, or by an address \
         that is one server's"
    )]
    OtherServer {
        /// The identity of the session's server.
        expected: String,
        /// The identity of the other server.
        found: String,
    },
    /// The server's sessions allow less than the client's requests and replies need.
    #[error(
        "the server's sessions have room for {offered} {limit}, and {needed} are needed: raise the server's limit, or mount with vers=4.0 \
         or vers=3"
    )]
    SessionTooSmall {
        /// The limit that is too small.
        limit: SessionLimit,
        /// The server's limit.
        offered: u32,
        /// The least that the client needs.
        needed: u32,
    },
    /// The port for the server's callbacks cannot be opened.
    #[error(
        "cannot listen for the server's calls at {address}: {source}; name an address of this machine and a free port"
    )]
    Callbacks {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The server's rpcbind does not know the program.
    #[error("the server's rpcbind has no program {program} version {version}; name its port in the URL")]
    NotRegistered {
        /// The program.
        program: u32,
        /// The version.
        version: u32,
    },
    /// The reply's header is malformed.
    #[error("{0}")]
    NotAReply(#[source] rpc::ReplyError),
    /// The reply is malformed.
    #[error("the server's reply makes no sense: {0}")]
    BadReply(#[source] xdr::Error),
    /// The reply is well-formed, but cannot be true.
    #[error("the server's reply cannot be right: {0}")]
    Lie(#[source] Lie),
    /// The protocol's version has no such operation.
    #[error("NFS version {0} cannot do this")]
    NotInVersion(Version),
    /// The protocol's version cannot express this time: NFSv2 and NFSv3 have times from 1970 to 2106 (RFC 1813 §2.5).
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
    /// The server lost this client's opens or locks, and they could not be recovered.
    #[error("the server lost the state of the file, and it could not be had back: another client may have changed it")]
    StateLost,
    /// The file system is at another server; referrals are not followed.
    #[error("the file system is at another server; {}", advice(locations))]
    Moved {
        /// Its locations, as far as the server tells.
        locations: Vec<Location>,
    },
    /// Another owner's lock conflicts.
    #[error("bytes {offset} to {} are locked by somebody else", last_byte(*offset, *length))]
    Locked {
        /// The start of the lock, in bytes.
        offset: u64,
        /// The length of the lock, in bytes; all ones for everything from there on.
        length: u64,
        /// Whether it is exclusive, or shared.
        is_exclusive: bool,
    },
    /// The server reports that a copy goes on, but it makes no progress (RFC 7862 §15.9.3).
    #[error(
        "the server says that it still copies, and came no further than byte {copied} within {waited:.0?}; check the server, or wait \
         for ever with hard in the URL"
    )]
    CopyStalled {
        /// How many bytes are copied.
        copied: u64,
        /// How long there was no progress.
        waited: Duration,
    },
    /// The path cannot be followed.
    #[error("{0}")]
    Path(#[source] PathError),
    /// A request is larger than its limit.
    #[error("{bytes} bytes are over the limit of {max}")]
    TooLarge {
        /// Its size, in bytes.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The version has no offset or length that large.
    #[error("NFSv2 has no files with more than {max} bytes, and byte {offset} was to be reached; use NFSv3 or NFSv4")]
    BeyondVersion {
        /// The offset or length.
        offset: u64,
        /// The largest one.
        max: u64,
    },
    /// The name is not valid.
    #[error("{0}")]
    Name(#[source] vfs::NameError),
    /// The URL is not valid.
    #[error("{0}")]
    Url(#[source] UrlError),
}

fn last_byte(offset: u64, length: u64) -> String {
    match offset.checked_add(length) {
        Some(end) if end > offset => (end - 1).to_string(),
        _ => "the end".to_owned(),
    }
}

/// Advice for a failed connection. rpcbind's port is in use only if the user named no other.
fn connect_advice(address: SocketAddr) -> &'static str {
    match address.port() {
        proto::rpcbind::PORT => {
            "there is no rpcbind that tells ports: name the server's port, as in nfs://host:2049/path or with port=2049, or ask \
             for NFSv4, which needs none"
        }
        _ => "check that the server runs and the port is right",
    }
}

/// The limits of a session (RFC 8881 §18.36.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionLimit {
    /// The operations of a request (`ca_maxoperations`).
    Operations,
    /// The size of a request (`ca_maxrequestsize`).
    RequestBytes,
    /// The size of a reply (`ca_maxresponsesize`).
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

/// A claim of a server that cannot be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lie {
    /// A READ returned more bytes than requested.
    #[error("{got} bytes of data where {asked} were asked for")]
    TooMuchData {
        /// The requested bytes.
        asked: u32,
        /// The received bytes.
        got: usize,
    },
    /// A READ returned another number of bytes than its count.
    #[error("{got} bytes of data where {said} are announced")]
    WrongCount {
        /// The count in the reply, in bytes.
        said: u32,
        /// The received bytes.
        got: usize,
    },
    /// A READ returned nothing before the end of the file.
    #[error("no data before the end of the file")]
    NoData,
    /// A WRITE wrote nothing, or more than it got.
    #[error("{said} bytes written of {given}")]
    WrongWrite {
        /// The count in the reply, in bytes.
        said: u32,
        /// The bytes sent.
        given: usize,
    },
    /// A WRITE is less stable than requested.
    #[error("the data is less safe than was asked for")]
    LessStable,
    /// The cookies of a listing repeat.
    #[error("the directory's cookies repeat: its listing has no end")]
    CookieLoop,
    /// A listing has more entries than the limit.
    #[error("the directory has more than {0} entries, or no end; --max-names of commands sets this limit")]
    TooManyEntries(u64),
    /// A listing has an entry with an invalid name.
    #[error("a directory entry is no name: {0}")]
    BadName(vfs::NameError),
    /// A transfer size is not usable, such as zero.
    #[error("the server allows transfers of {0} bytes only")]
    TransferSize(u32),
    /// The reply to a COMPOUND ends before its last operation, but reports success.
    #[error("the reply ends before the last operation")]
    FewResults,
    /// A required attribute is missing (RFC 8881 §5.6).
    #[error("the attribute {0} is missing")]
    NoAttribute(&'static str),
    /// The session has no slots, or is useless otherwise.
    #[error("the session is of no use: {0}")]
    UselessSession(&'static str),
    /// The reply to a request of a session has another slot than the request.
    #[error("the reply is one of another slot")]
    WrongSlot,
    /// The lease time is not usable, such as zero.
    #[error("a lease of {0} seconds")]
    Lease(u32),
    /// A synchronous COPY goes on after its reply (RFC 7862 §15.2.3).
    #[error("the server copies in the background, which it was asked not to")]
    UnwantedBackground,
    /// A COPY copied more than requested.
    #[error("{said} bytes copied where {asked} were asked for")]
    TooMuchCopied {
        /// The requested bytes.
        asked: u64,
        /// The bytes in the reply.
        said: u64,
    },
    /// Segments of a READ_PLUS are not adjacent (RFC 7862 §15.10.3).
    #[error("a segment begins at byte {got}, and byte {expected} comes next")]
    Segment {
        /// The expected offset.
        expected: u64,
        /// The offset of the segment.
        got: u64,
    },
    /// A SEEK found something in front of its start.
    #[error("something was found at byte {got} when it was looked for from byte {from} on")]
    SoughtBackwards {
        /// The start of the search.
        from: u64,
        /// The offset in the reply.
        got: u64,
    },
    /// A SEEK found something where no file has bytes (RFC 8881 §5.8.2.21: offsets are those of the host's files).
    #[error("something was found at byte {0}, where no file goes on")]
    SoughtTooFar(u64),
    /// A symbolic link's target contains a NUL, which ends every path.
    #[error("the symbolic link's target has a NUL in it")]
    BadTarget,
    /// The reply to a COMPOUND has more results than operations were sent.
    #[error("{said} results for {asked} operations")]
    ManyResults {
        /// The number of operations.
        asked: u32,
        /// The number of results.
        said: u32,
    },
    /// The names of a file's extended attributes are longer than those of any file.
    #[error("the names of the extended attributes take more than {0} bytes")]
    TooLongList(usize),
    /// The lock manager's reply has the cookie of another call.
    #[error("the lock manager's answer has the cookie of another call")]
    OtherCookie,
    /// A READ_PLUS returned more segments than any reply has.
    #[error("{0} segments in one reply")]
    TooManySegments(u32),
    /// A handle is longer than its version allows.
    #[error("a file handle of {0} bytes")]
    HandleLength(usize),
}

/// Why a path cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// Symbolic links form a loop, or a chain that is too long.
    #[error("more than {0} symbolic links on the way")]
    TooManyLinks(usize),
    /// A symbolic link's target is outside of the mounted export.
    #[error("a symbolic link leads out of the export")]
    LeavesExport,
    /// The path has too many components.
    #[error("the path has more than {0} components")]
    TooLong(usize),
}

impl Error {
    /// The failure of `operation` at `server`.
    #[doc(hidden)]
    pub fn new(server: &Arc<str>, operation: &'static str, reason: Reason) -> Error {
        Error(Box::new(Parts { operation, server: Arc::clone(server), file: None, reason: Arc::new(reason) }))
    }

    /// Names the operation if the failed call was only a part of it.
    pub(crate) fn during(mut self, operation: &'static str) -> Error {
        self.0.operation = operation;
        self
    }

    /// Replaces the reason by a more precise one.
    #[doc(hidden)]
    pub fn because(mut self, reason: Reason) -> Error {
        self.0.reason = Arc::new(reason);
        self
    }

    /// Names the file; the outermost caller, which knows the path, comes last.
    #[must_use]
    pub fn about(mut self, file: &[u8]) -> Error {
        self.0.file = Some(file.to_vec());
        self
    }

    /// The operation's name in the RFC.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// The server, as the URL names it.
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// The file's path or name, if known.
    pub fn file(&self) -> Option<&[u8]> {
        self.0.file.as_deref()
    }

    /// The reason.
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// The status, if the server carried the call out and returned an error.
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
    /// The status as one of NFSv4, for those that decide about recovery and retries.
    #[doc(hidden)]
    pub fn v4_status(&self) -> Option<nfs4::Status> {
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
