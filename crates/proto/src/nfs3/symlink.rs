//! SYMLINK makes a symbolic link (RFC 1813 §3.3.10).

use xdr::{Decode, Encode};

use super::create::CreateOk;
use super::{DirOp, PROGRAM, Res, Sattr, VERSION, WccData};
use crate::MAX_ARGUMENT_BYTES;
use crate::Operation;

/// The arguments of SYMLINK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SymlinkArgs<'a> {
    /// Its directory and name.
    pub place: DirOp<'a>,
    /// Its initial attributes.
    pub attributes: Sattr,
    /// Its target.
    #[xdr(max = MAX_ARGUMENT_BYTES)]
    pub target: &'a [u8],
}

/// SYMLINK makes a symbolic link.
#[derive(Debug, Clone, Copy)]
pub struct Symlink;

impl Operation for Symlink {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 10;
    const NAME: &'static str = "SYMLINK";
    type Arguments<'a> = SymlinkArgs<'a>;
    type Reply<'a> = Res<CreateOk, WccData>;
}
