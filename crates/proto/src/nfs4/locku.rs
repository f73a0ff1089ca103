//! LOCKU unlocks a range (RFC 7530 §16.12, RFC 8881 §18.12).

use xdr::{Decode, Encode};

use super::{CompoundOperation, LockType, OpNumber, Res, Stateid};

/// The arguments of LOCKU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LockuArgs {
    /// For reading or writing.
    pub lock_type: LockType,
    /// The owner's sequence number; ignored from 4.1 on.
    pub seqid: u32,
    /// The owner's locks on the file.
    pub stateid: Stateid,
    /// The offset of the range, in bytes.
    pub offset: u64,
    /// Its length in bytes; all ones for everything from the offset on.
    pub length: u64,
}

/// LOCKU unlocks a range.
#[derive(Debug, Clone, Copy)]
pub struct Locku;

impl CompoundOperation for Locku {
    const NUMBER: OpNumber = OpNumber::Locku;
    type Arguments<'a> = LockuArgs;
    type Reply<'a> = Res<Stateid>;
}
