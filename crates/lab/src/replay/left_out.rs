//! Why captured calls are not replayed.

use std::fmt;

use client::Version;
use client::proto::nfs3::MAX_DATA_BYTES;
use client::proto::nfs4::OpNumber;

/// Why a captured call is not replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum LeftOut {
    /// It is of another version of NFS than those before.
    #[error("NFSv{0}: one version is replayed at a time, and --version chooses it")]
    Version(Version),
    /// It is of NFSv2.
    #[error("NFSv2, of which calls are not replayed")]
    Version2,
    /// It is about what the client keeps at its server.
    #[error("only for the client's session, lease or connection: the replay has its own")]
    Session,
    /// A server made it.
    #[error("callbacks of servers to clients")]
    Callback,
    /// It has an operation that the replay cannot make.
    #[error("with {0}, which cannot be carried over to another server")]
    Operation(OperationName),
    /// It has too many operations.
    #[error("of more operations than a session has room for")]
    ManyOperations,
    /// It is of another program.
    #[error("of program {0}, which is not NFS")]
    Program(u32),
    /// Its arguments are wrapped.
    #[error("secured by RPCSEC_GSS, which hides their arguments")]
    Secured,
    /// The packets are too short, or some are missing.
    #[error("not captured up to the end of their arguments; tcpdump without -s captures them")]
    Truncated,
    /// The arguments make no sense.
    #[error("with arguments that cannot be decoded")]
    Damaged,
    /// There is no such procedure.
    #[error("of procedure {0}, which their version of NFS does not have")]
    Procedure(u32),
    /// A transfer is larger than Wharf's client sends.
    #[error("with more than 1 MiB of data")]
    TooLarge,
    /// There are too many files or names.
    #[error("of files beyond the first million; replay a part of the capture")]
    TooMany,
    /// The replay has no handle for the file.
    #[error("of files that the replay could not make")]
    NoFile,
    /// The open or the lock is not known.
    #[error(
        "on opens or locks that were refused here or are older than the capture; start the capture before the mount"
    )]
    NoState,
    /// The listing that it continues is not known.
    #[error("that continue listings whose beginning was not captured")]
    NoPosition,
}

/// The name of an operation, or its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationName(pub u32);

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match OpNumber::from_number(self.0) {
            Some(operation) => f.write_str(operation.name()),
            None => write!(f, "operation {}", self.0),
        }
    }
}

impl From<xdr::Error> for LeftOut {
    fn from(error: xdr::Error) -> LeftOut {
        match error {
            xdr::Error::Truncated { .. } => LeftOut::Truncated,
            _ => LeftOut::Damaged,
        }
    }
}

/// The bytes of a transfer, if they are not too many.
pub(super) fn transfer(count: u32) -> Result<u32, LeftOut> {
    if count as usize <= MAX_DATA_BYTES { Ok(count) } else { Err(LeftOut::TooLarge) }
}
