//! CREATE makes a regular file (RFC 1813 §3.3.8).

use xdr::{Decode, Encode};

use super::{DirOp, FileHandle, PROGRAM, PostOpAttr, Res, Sattr, VERSION, WccData};
use crate::Operation;

/// What CREATE needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CreateArgs<'a> {
    /// Where to make it.
    pub place: DirOp<'a>,
    /// What to do if there is such a name.
    pub how: CreateHow,
}

/// What to do if there is such a name already (`createhow3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum CreateHow {
    /// Take the file that is there.
    #[xdr(case = 0)]
    Unchecked(Sattr),
    /// Refuse.
    #[xdr(case = 1)]
    Guarded(Sattr),
    /// Refuse, unless the file was made with this very verifier.
    #[xdr(case = 2)]
    Exclusive([u8; 8]),
}

/// What CREATE, MKDIR, SYMLINK and MKNOD tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CreateOk {
    /// The new file.
    pub object: Option<FileHandle>,
    /// Its attributes.
    pub attributes: PostOpAttr,
    /// The directory's attributes before and after.
    pub dir_wcc: WccData,
}

/// CREATE makes a regular file.
#[derive(Debug, Clone, Copy)]
pub struct Create;

impl Operation for Create {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 8;
    const NAME: &'static str = "CREATE";
    type Arguments<'a> = CreateArgs<'a>;
    type Reply<'a> = Res<CreateOk, WccData>;
}
