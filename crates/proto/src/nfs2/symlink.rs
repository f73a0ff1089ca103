//! SYMLINK makes a symbolic link (RFC 1094 §2.2.14).

use xdr::{Decode, Encode};

use super::{DirOp, PROGRAM, Res, Sattr, VERSION};
use crate::MAX_ARGUMENT_BYTES;
use crate::Operation;

/// The arguments of SYMLINK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SymlinkArgs<'a> {
    /// Its directory and name.
    pub place: DirOp<'a>,
    /// Its target.
    #[xdr(max = MAX_ARGUMENT_BYTES)]
    pub target: &'a [u8],
    /// Its initial attributes, which UNIX servers ignore.
    pub attributes: Sattr,
}

/// SYMLINK makes a symbolic link.
#[derive(Debug, Clone, Copy)]
pub struct Symlink;

impl Operation for Symlink {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 13;
    const NAME: &'static str = "SYMLINK";
    type Arguments<'a> = SymlinkArgs<'a>;
    type Reply<'a> = Res<()>;
}
