//! LOOKUPP finds the parent directory (RFC 7530 §16.14, RFC 8881 §18.14).

use super::{CompoundOperation, OpNumber, Res};

/// LOOKUPP finds the parent directory.
#[derive(Debug, Clone, Copy)]
pub struct Lookupp;

impl CompoundOperation for Lookupp {
    const NUMBER: OpNumber = OpNumber::Lookupp;
    type Arguments<'a> = ();
    type Reply<'a> = Res<()>;
}
