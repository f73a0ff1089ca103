//! PUTROOTFH sets the current file handle to the root (RFC 7530 §16.22, RFC 8881 §18.21).

use super::{CompoundOperation, OpNumber, Res};

/// PUTROOTFH sets the current file handle to the root.
#[derive(Debug, Clone, Copy)]
pub struct Putrootfh;

impl CompoundOperation for Putrootfh {
    const NUMBER: OpNumber = OpNumber::Putrootfh;
    type Arguments<'a> = ();
    type Reply<'a> = Res<()>;
}
