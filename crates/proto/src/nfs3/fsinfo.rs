//! FSINFO returns the capabilities of the file system and the server (RFC 1813 §3.3.19).

use xdr::{Decode, Encode};

use super::fsstat::FsArgs;
use super::{PROGRAM, PostOpAttr, Res, Time, VERSION};
use crate::Operation;

/// The results of FSINFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct FsinfoOk {
    /// The file's attributes.
    pub attributes: PostOpAttr,
    /// The most bytes of a READ.
    pub read_max: u32,
    /// The preferred size of a READ, in bytes.
    pub read_preferred: u32,
    /// The preferred multiple of READ sizes, in bytes.
    pub read_multiple: u32,
    /// The most bytes of a WRITE.
    pub write_max: u32,
    /// The preferred size of a WRITE, in bytes.
    pub write_preferred: u32,
    /// The preferred multiple of WRITE sizes, in bytes.
    pub write_multiple: u32,
    /// The preferred size of a READDIR, in bytes.
    pub readdir_preferred: u32,
    /// The largest file, in bytes.
    pub max_file_bytes: u64,
    /// The granularity of times.
    pub time_delta: Time,
    /// A set of the bits below.
    pub properties: u32,
}

/// There are hard links.
pub const FSF_LINK: u32 = 0x01;
/// There are symbolic links.
pub const FSF_SYMLINK: u32 = 0x02;
/// PATHCONF is equal for all files.
pub const FSF_HOMOGENEOUS: u32 = 0x08;
/// SETATTR can set times.
pub const FSF_CANSETTIME: u32 = 0x10;

/// FSINFO returns the capabilities of the file system and the server.
#[derive(Debug, Clone, Copy)]
pub struct Fsinfo;

impl Operation for Fsinfo {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 19;
    const NAME: &'static str = "FSINFO";
    type Arguments<'a> = FsArgs;
    type Reply<'a> = Res<FsinfoOk, PostOpAttr>;
}
