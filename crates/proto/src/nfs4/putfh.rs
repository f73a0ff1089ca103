//! PUTFH sets the current file handle (RFC 7530 §16.20, RFC 8881 §18.19).

use xdr::{Decode, Encode};

use super::{CompoundOperation, FileHandle, OpNumber, Res};

/// The arguments of PUTFH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct PutfhArgs {
    /// The handle.
    pub object: FileHandle,
}

/// PUTFH sets the current file handle.
#[derive(Debug, Clone, Copy)]
pub struct Putfh;

impl CompoundOperation for Putfh {
    const NUMBER: OpNumber = OpNumber::Putfh;
    type Arguments<'a> = PutfhArgs;
    type Reply<'a> = Res<()>;
}
