//! GETACL gets the access lists of a file.

use xdr::{Decode, Encode};

use super::{PROGRAM, Secattr, VERSION_2, VERSION_3};
use crate::nfs3::PostOpAttr;
use crate::{Operation, nfs2, nfs3};

/// The arguments of GETACL in version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Getacl2Args {
    /// The file.
    pub file: nfs2::FileHandle,
    /// What is requested, as the bits of [`Secattr::mask`].
    pub mask: u32,
}

/// The results of GETACL in version 2.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Getacl2Ok {
    /// The file's attributes.
    pub attributes: nfs2::Fattr,
    /// Its lists.
    pub acls: Secattr,
}

/// The arguments of GETACL in version 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Getacl3Args {
    /// The file.
    pub object: nfs3::FileHandle,
    /// What is requested, as the bits of [`Secattr::mask`].
    pub mask: u32,
}

/// The results of GETACL in version 3.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Getacl3Ok {
    /// The file's attributes.
    pub attributes: PostOpAttr,
    /// Its lists.
    pub acls: Secattr,
}

/// GETACL of version 2 gets the access lists of a file.
#[derive(Debug, Clone, Copy)]
pub struct Getacl2;

impl Operation for Getacl2 {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION_2;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "GETACL";
    type Arguments<'a> = Getacl2Args;
    type Reply<'a> = nfs2::Res<Getacl2Ok>;
}

/// GETACL of version 3 gets the access lists of a file.
#[derive(Debug, Clone, Copy)]
pub struct Getacl3;

impl Operation for Getacl3 {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION_3;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "GETACL";
    type Arguments<'a> = Getacl3Args;
    type Reply<'a> = nfs3::Res<Getacl3Ok, PostOpAttr>;
}
