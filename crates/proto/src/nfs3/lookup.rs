//! LOOKUP finds a name in a directory (RFC 1813 §3.3.3).

use xdr::{Decode, Encode};

use super::{DirOp, FileHandle, PROGRAM, PostOpAttr, Res, VERSION};
use crate::Operation;

/// The arguments of LOOKUP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LookupArgs<'a> {
    /// The name.
    pub what: DirOp<'a>,
}

/// The results of LOOKUP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LookupOk {
    /// The file that was found.
    pub object: FileHandle,
    /// Its attributes.
    pub attributes: PostOpAttr,
    /// The directory's attributes.
    pub dir_attributes: PostOpAttr,
}

/// LOOKUP finds a name in a directory.
#[derive(Debug, Clone, Copy)]
pub struct Lookup;

impl Operation for Lookup {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 3;
    const NAME: &'static str = "LOOKUP";
    type Arguments<'a> = LookupArgs<'a>;
    type Reply<'a> = Res<LookupOk, PostOpAttr>;
}
