//! PUTPUBFH sets the current file handle to the public one (RFC 7530 §16.21, RFC 8881 §18.20).

use super::{CompoundOperation, OpNumber, Res};

/// PUTPUBFH sets the current file handle to the public one.
#[derive(Debug, Clone, Copy)]
pub struct Putpubfh;

impl CompoundOperation for Putpubfh {
    const NUMBER: OpNumber = OpNumber::Putpubfh;
    type Arguments<'a> = ();
    type Reply<'a> = Res<()>;
}
