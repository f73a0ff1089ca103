//! RESTOREFH makes the saved file handle the current one (RFC 7530 §16.29, RFC 8881 §18.27).

use super::{CompoundOperation, OpNumber, Res};

/// RESTOREFH makes the saved file handle the current one.
#[derive(Debug, Clone, Copy)]
pub struct Restorefh;

impl CompoundOperation for Restorefh {
    const NUMBER: OpNumber = OpNumber::Restorefh;
    type Arguments<'a> = ();
    type Reply<'a> = Res<()>;
}
