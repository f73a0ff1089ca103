//! CREATE makes a regular file, or takes the one that is there (RFC 1094 §2.2.10).

use xdr::{Decode, Encode};

use super::{DirOp, DirOpOk, PROGRAM, Res, Sattr, VERSION};
use crate::Operation;

/// What CREATE and MKDIR need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CreateArgs<'a> {
    /// Where to make it.
    pub place: DirOp<'a>,
    /// Its first attributes.
    pub attributes: Sattr,
}

/// CREATE makes a regular file, or takes the one that is there.
#[derive(Debug, Clone, Copy)]
pub struct Create;

impl Operation for Create {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 9;
    const NAME: &'static str = "CREATE";
    type Arguments<'a> = CreateArgs<'a>;
    type Reply<'a> = Res<DirOpOk>;
}
