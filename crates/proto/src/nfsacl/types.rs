use xdr::{Decode, Encode};

use super::MAX_ENTRIES;

/// The entries of the access list.
pub const ACL: u32 = 0x1;
/// The number of entries of the access list.
pub const ACL_COUNT: u32 = 0x2;
/// The entries of a directory's default list.
pub const DEFAULT_ACL: u32 = 0x4;
/// The number of entries of a directory's default list.
pub const DEFAULT_ACL_COUNT: u32 = 0x8;

/// The owner of the file.
pub const TAG_OWNER: u32 = 0x01;
/// Another user.
pub const TAG_USER: u32 = 0x02;
/// The group of the file.
pub const TAG_OWNING_GROUP: u32 = 0x04;
/// Another group.
pub const TAG_GROUP: u32 = 0x08;
/// The maximum rights of other users, the owning group and other groups.
pub const TAG_MASK: u32 = 0x10;
/// Everybody else.
pub const TAG_OTHER: u32 = 0x20;
/// With another tag: the entry is of a default list.
pub const TAG_DEFAULT: u32 = 0x1000;

/// One entry of a list (`aclent`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct AclEntry {
    /// The subject: one of the tags.
    pub tag: u32,
    /// The user or group; of the owner and the owning group too.
    pub id: u32,
    /// The permissions `rwx`.
    pub permissions: u32,
}

/// A list, and how many entries it has: these are not sent if only their number is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct AclList {
    /// The number of entries.
    pub count: u32,
    /// The entries.
    #[xdr(max = MAX_ENTRIES)]
    pub entries: Vec<AclEntry>,
}

/// The lists of a file (`secattr`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Secattr {
    /// What of the lists is here, as the bits [`ACL`] to [`DEFAULT_ACL_COUNT`].
    pub mask: u32,
    /// The access list.
    pub access: AclList,
    /// The default list of a directory.
    pub default: AclList,
}
