//! GETFH gets the current file handle (RFC 7530 §16.8, RFC 8881 §18.8).

use super::{CompoundOperation, FileHandle, OpNumber, Res};

/// GETFH gets the current file handle.
#[derive(Debug, Clone, Copy)]
pub struct Getfh;

impl CompoundOperation for Getfh {
    const NUMBER: OpNumber = OpNumber::Getfh;
    type Arguments<'a> = ();
    type Reply<'a> = Res<FileHandle>;
}
