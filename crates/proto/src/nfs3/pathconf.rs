//! PATHCONF returns the limits of names and links (RFC 1813 §3.3.20).

use xdr::{Decode, Encode};

use super::fsstat::FsArgs;
use super::{PROGRAM, PostOpAttr, Res, VERSION};
use crate::Operation;

/// The results of PATHCONF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct PathconfOk {
    /// The file's attributes.
    pub attributes: PostOpAttr,
    /// The most names that one file can have.
    pub max_links: u32,
    /// The longest name, in bytes.
    pub max_name_bytes: u32,
    /// Whether names that are too long are refused, not truncated.
    pub no_truncation: bool,
    /// Whether only the superuser may change owners.
    pub chown_restricted: bool,
    /// Whether names that differ only in case are the same.
    pub case_insensitive: bool,
    /// Whether names keep their case.
    pub case_preserving: bool,
}

/// PATHCONF returns the limits of names and links.
#[derive(Debug, Clone, Copy)]
pub struct Pathconf;

impl Operation for Pathconf {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 20;
    const NAME: &'static str = "PATHCONF";
    type Arguments<'a> = FsArgs;
    type Reply<'a> = Res<PathconfOk, PostOpAttr>;
}
