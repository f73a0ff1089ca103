//! SETACL sets the access lists of a file.

use xdr::{Decode, Encode};

use super::{PROGRAM, Secattr, VERSION_2, VERSION_3};
use crate::nfs3::PostOpAttr;
use crate::{Operation, nfs2, nfs3};

/// The arguments of SETACL in version 2.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Setacl2Args {
    /// The file.
    pub file: nfs2::FileHandle,
    /// The lists to set.
    pub acls: Secattr,
}

/// The arguments of SETACL in version 3.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Setacl3Args {
    /// The file.
    pub object: nfs3::FileHandle,
    /// The lists to set.
    pub acls: Secattr,
}

/// SETACL of version 2 sets the access lists of a file.
#[derive(Debug, Clone, Copy)]
pub struct Setacl2;

impl Operation for Setacl2 {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION_2;
    const PROCEDURE: u32 = 2;
    const NAME: &'static str = "SETACL";
    type Arguments<'a> = Setacl2Args;
    type Reply<'a> = nfs2::Res<nfs2::Fattr>;
}

/// SETACL of version 3 sets the access lists of a file.
#[derive(Debug, Clone, Copy)]
pub struct Setacl3;

impl Operation for Setacl3 {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION_3;
    const PROCEDURE: u32 = 2;
    const NAME: &'static str = "SETACL";
    type Arguments<'a> = Setacl3Args;
    type Reply<'a> = nfs3::Res<PostOpAttr, PostOpAttr>;
}
