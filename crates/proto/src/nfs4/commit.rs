//! COMMIT flushes written data to stable storage (RFC 7530 §16.3, RFC 8881 §18.3).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Verifier};

/// The arguments of COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CommitArgs {
    /// The offset, in bytes.
    pub offset: u64,
    /// The number of bytes, or 0 for all from the offset on.
    pub count: u32,
}

/// COMMIT flushes written data to stable storage.
#[derive(Debug, Clone, Copy)]
pub struct Commit;

impl CompoundOperation for Commit {
    const NUMBER: OpNumber = OpNumber::Commit;
    type Arguments<'a> = CommitArgs;
    type Reply<'a> = Res<Verifier>;
}
