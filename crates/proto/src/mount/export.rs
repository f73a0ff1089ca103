//! EXPORT lists the exports and their clients (RFC 1094 §A.5.6, RFC 1813 §5.2.5).

use xdr::{Decode, Encode};

use super::{MAX_EXPORTS, MAX_GROUPS, MAX_NAME_BYTES, MAX_PATH_BYTES, PROGRAM};
use crate::Operation;

/// The results of EXPORT and EXPORTALL (`exports`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExportReply<'a> {
    /// The exports.
    #[xdr(list, max = MAX_EXPORTS)]
    pub exports: Vec<ExportNode<'a>>,
}

/// One export (`exportnode`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExportNode<'a> {
    /// The directory.
    #[xdr(max = MAX_PATH_BYTES)]
    pub directory: &'a [u8],
    /// The clients that may mount it; an empty list stands for everybody.
    #[xdr(list, max = MAX_GROUPS)]
    pub groups: Vec<Group<'a>>,
}

/// Clients that may mount (`groupnode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Group<'a> {
    /// A host, a network or a netgroup, as the server writes it.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
}

/// EXPORT lists the exports and their clients.
#[derive(Debug, Clone, Copy)]
pub struct Export<const VERSION: u32>;

impl<const VERSION: u32> Operation for Export<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 5;
    const NAME: &'static str = "EXPORT";
    type Arguments<'a> = ();
    type Reply<'a> = ExportReply<'a>;
}
