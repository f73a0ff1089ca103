//! SAVEFH saves the current file handle (RFC 7530 §16.30, RFC 8881 §18.28).

use super::{CompoundOperation, OpNumber, Res};

/// SAVEFH saves the current file handle.
#[derive(Debug, Clone, Copy)]
pub struct Savefh;

impl CompoundOperation for Savefh {
    const NUMBER: OpNumber = OpNumber::Savefh;
    type Arguments<'a> = ();
    type Reply<'a> = Res<()>;
}
