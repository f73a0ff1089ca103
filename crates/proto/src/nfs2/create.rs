//! CREATE makes a regular file, or uses the existing one (RFC 1094 §2.2.10).

use xdr::{Decode, Encode};

use super::{DirOp, DirOpOk, PROGRAM, Res, Sattr, VERSION};
use crate::Operation;

/// The arguments of CREATE and MKDIR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CreateArgs<'a> {
    /// Its directory and name.
    pub place: DirOp<'a>,
    /// Its initial attributes.
    pub attributes: Sattr,
}

/// CREATE makes a regular file, or uses the existing one.
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
