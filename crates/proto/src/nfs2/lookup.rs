//! LOOKUP finds a name in a directory (RFC 1094 §2.2.5).

use xdr::{Decode, Encode};

use super::{DirOp, DirOpOk, PROGRAM, Res, VERSION};
use crate::Operation;

/// The arguments of LOOKUP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LookupArgs<'a> {
    /// The name.
    pub what: DirOp<'a>,
}

/// LOOKUP finds a name in a directory.
#[derive(Debug, Clone, Copy)]
pub struct Lookup;

impl Operation for Lookup {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 4;
    const NAME: &'static str = "LOOKUP";
    type Arguments<'a> = LookupArgs<'a>;
    type Reply<'a> = Res<DirOpOk>;
}
