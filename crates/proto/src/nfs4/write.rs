//! WRITE writes to a file (RFC 7530 §16.36, RFC 8881 §18.32).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_DATA_BYTES, OpNumber, Res, StableHow, Stateid, Verifier};

/// What WRITE needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteArgs<'a> {
    /// The open, the locks or the delegation that it is written under.
    pub stateid: Stateid,
    /// Where to begin, in bytes.
    pub offset: u64,
    /// How safe the bytes must be when the reply is sent.
    pub stable: StableHow,
    /// The bytes.
    #[xdr(max = MAX_DATA_BYTES)]
    pub data: &'a [u8],
}

/// What WRITE tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteOk {
    /// How many bytes were written.
    pub count: u32,
    /// How safe they are.
    pub committed: StableHow,
    /// Another one as soon as unstable bytes may have been lost.
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
