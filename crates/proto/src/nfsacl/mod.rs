//! NFSACL: POSIX access lists beside NFSv2 and NFSv3. No RFC has it: it comes from Solaris (`acl_prot.x`), and Linux
//! clients and servers speak it.
//!
//! Each module is one procedure; common items are here.

mod access;
mod getacl;
mod getattr;
mod setacl;
mod types;

pub use access::*;
pub use getacl::*;
pub use getattr::*;
pub use setacl::*;
pub use types::*;

/// The program's number.
pub const PROGRAM: u32 = 100_227;
/// The number of the version beside NFSv2.
pub const VERSION_2: u32 = 2;
/// The number of the version beside NFSv3.
pub const VERSION_3: u32 = 3;
/// The most entries of one list (NFS_ACL_MAX_ENTRIES).
pub const MAX_ENTRIES: usize = 1024;

/// The names of the procedures, by number. Version 3 has the first three.
pub const PROCEDURES: [&str; 5] = ["NULL", "GETACL", "SETACL", "GETATTR", "ACCESS"];
