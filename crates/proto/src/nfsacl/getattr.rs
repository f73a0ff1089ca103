//! GETATTR of version 2 gets the attributes of a file.

use super::{PROGRAM, VERSION_2};
use crate::{Operation, nfs2};

/// GETATTR of version 2 gets the attributes of a file.
#[derive(Debug, Clone, Copy)]
pub struct Getattr2;

impl Operation for Getattr2 {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION_2;
    const PROCEDURE: u32 = 3;
    const NAME: &'static str = "GETATTR";
    type Arguments<'a> = nfs2::GetattrArgs;
    type Reply<'a> = nfs2::Res<nfs2::Fattr>;
}
