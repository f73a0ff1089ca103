//! LINK adds a name to a file (RFC 1813 §3.3.15).

use xdr::{Decode, Encode};

use super::{DirOp, FileHandle, PROGRAM, PostOpAttr, Res, VERSION, WccData};
use crate::Operation;

/// The arguments of LINK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LinkArgs<'a> {
    /// The file.
    pub file: FileHandle,
    /// Its new name.
    pub link: DirOp<'a>,
}

/// The results of LINK, in success and failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub struct LinkAttributes {
    /// The file's attributes.
    pub file: PostOpAttr,
    /// The directory's attributes before and after.
    pub dir_wcc: WccData,
}

/// LINK adds a name to a file.
#[derive(Debug, Clone, Copy)]
pub struct Link;

impl Operation for Link {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 15;
    const NAME: &'static str = "LINK";
    type Arguments<'a> = LinkArgs<'a>;
    type Reply<'a> = Res<LinkAttributes, LinkAttributes>;
}
