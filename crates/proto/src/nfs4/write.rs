//! WRITE writes to a file (RFC 7530 §16.36, RFC 8881 §18.32).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, StableHow, Stateid, Verifier};
use crate::MAX_ARGUMENT_BYTES;

/// The arguments of WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteArgs<'a> {
    /// The stateid of an open, of locks or of a delegation.
    pub stateid: Stateid,
    /// The offset, in bytes.
    pub offset: u64,
    /// The requested stability.
    pub stable: StableHow,
    /// The bytes.
    #[xdr(max = MAX_ARGUMENT_BYTES)]
    pub data: &'a [u8],
}

/// The results of WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteOk {
    /// The number of bytes written.
    pub count: u32,
    /// The stability of the data.
    pub committed: StableHow,
    /// Changes when unstable data may have been lost.
    pub verifier: Verifier,
}

/// WRITE writes to a file.
#[derive(Debug, Clone, Copy)]
pub struct Write;

impl CompoundOperation for Write {
    const NUMBER: OpNumber = OpNumber::Write;
    type Arguments<'a> = WriteArgs<'a>;
    type Reply<'a> = Res<WriteOk>;
}
