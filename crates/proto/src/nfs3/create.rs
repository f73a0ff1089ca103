//! CREATE makes a regular file (RFC 1813 §3.3.8).

use xdr::{Decode, Encode};

use super::{DirOp, FileHandle, PROGRAM, PostOpAttr, Res, Sattr, VERSION, WccData};
use crate::Operation;

/// The arguments of CREATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CreateArgs<'a> {
    /// Its directory and name.
    pub place: DirOp<'a>,
    /// What to do if the name exists.
    pub how: CreateHow,
}

/// The mode of creation, for names that exist (`createhow3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum CreateHow {
    /// Use the existing file.
    #[xdr(case = 0)]
    Unchecked(Sattr),
    /// Fail if the name exists.
    #[xdr(case = 1)]
    Guarded(Sattr),
    /// Fail if the name exists, unless the file was made with this verifier.
    #[xdr(case = 2)]
    Exclusive([u8; 8]),
}

/// The results of CREATE, MKDIR, SYMLINK and MKNOD.
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
