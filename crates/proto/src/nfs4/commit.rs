//! COMMIT brings written bytes to safety (RFC 7530 §16.3, RFC 8881 §18.3).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Verifier};

/// What COMMIT needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CommitArgs {
    /// Where to begin, in bytes.
    pub offset: u64,
    /// How many bytes, or 0 for all from there on.
    pub count: u32,
}

/// COMMIT brings written bytes to safety.
#[derive(Debug, Clone, Copy)]
pub struct Commit;

impl CompoundOperation for Commit {
    const NUMBER: OpNumber = OpNumber::Commit;
    type Arguments<'a> = CommitArgs;
    type Reply<'a> = Res<Verifier>;
}
