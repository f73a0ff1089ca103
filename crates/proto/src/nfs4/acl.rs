//! Access control lists (RFC 7530 §6.2, RFC 8881 §6.2).

use xdr::{Decode, Encode};

use super::{MAX_ACES, Principal};

/// One entry of an access control list (`nfsace4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Ace<'a> {
    /// One of [`ACE_ALLOW`], [`ACE_DENY`], [`ACE_AUDIT`] and [`ACE_ALARM`].
    pub ace_type: u32,
    /// A set of the `ACE_FLAG_…` bits.
    pub flags: u32,
    /// A set of the `ACE_…` permission bits.
    pub access_mask: u32,
    /// The subject: a user, a group, or `OWNER@`, `GROUP@`, `EVERYONE@` …
    pub who: Principal<'a>,
}

/// An access control list: the attribute `acl`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Acl<'a> {
    /// The entries, in the order of evaluation.
    #[xdr(max = MAX_ACES)]
    pub aces: Vec<Ace<'a>>,
}

/// An access control list with flags (RFC 8881 §6.2.2 and §6.2.3, `nfsacl41`): the attributes `dacl` and `sacl`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Acl41<'a> {
    /// A set of the `ACL_…` flags.
    pub flags: u32,
    /// The entries.
    pub acl: Acl<'a>,
}

/// `aclsupport`: entries that allow.
pub const ACL_SUPPORT_ALLOW: u32 = 0x1;
/// `aclsupport`: entries that deny.
pub const ACL_SUPPORT_DENY: u32 = 0x2;
/// `aclsupport`: entries that log.
pub const ACL_SUPPORT_AUDIT: u32 = 0x4;
/// `aclsupport`: entries that raise an alarm.
pub const ACL_SUPPORT_ALARM: u32 = 0x8;

/// The entry allows.
pub const ACE_ALLOW: u32 = 0;
/// The entry denies.
pub const ACE_DENY: u32 = 1;
/// The entry logs accesses.
pub const ACE_AUDIT: u32 = 2;
/// The entry raises an alarm on accesses.
pub const ACE_ALARM: u32 = 3;

/// New files in the directory inherit the entry.
pub const ACE_FLAG_FILE_INHERIT: u32 = 0x01;
/// New directories in the directory inherit the entry.
pub const ACE_FLAG_DIRECTORY_INHERIT: u32 = 0x02;
/// The entry is inherited only once.
pub const ACE_FLAG_NO_PROPAGATE_INHERIT: u32 = 0x04;
/// The entry is only inherited and does not apply to the directory.
pub const ACE_FLAG_INHERIT_ONLY: u32 = 0x08;
/// Successful accesses are logged or raise an alarm.
pub const ACE_FLAG_SUCCESSFUL_ACCESS: u32 = 0x10;
/// Failed accesses are logged or raise an alarm.
pub const ACE_FLAG_FAILED_ACCESS: u32 = 0x20;
/// The subject is a group.
pub const ACE_FLAG_IDENTIFIER_GROUP: u32 = 0x40;
/// The entry was inherited (4.1).
pub const ACE_FLAG_INHERITED: u32 = 0x80;

/// Read a file, or list a directory.
pub const ACE_READ_DATA: u32 = 0x0000_0001;
/// Write a file, or add a file to a directory.
pub const ACE_WRITE_DATA: u32 = 0x0000_0002;
/// Append to a file, or add a directory to a directory.
pub const ACE_APPEND_DATA: u32 = 0x0000_0004;
/// Read named attributes.
pub const ACE_READ_NAMED_ATTRS: u32 = 0x0000_0008;
/// Write named attributes.
pub const ACE_WRITE_NAMED_ATTRS: u32 = 0x0000_0010;
/// Execute a file, or pass through a directory.
pub const ACE_EXECUTE: u32 = 0x0000_0020;
/// Delete entries of the directory.
pub const ACE_DELETE_CHILD: u32 = 0x0000_0040;
/// Read the attributes that are not ACLs.
pub const ACE_READ_ATTRIBUTES: u32 = 0x0000_0080;
/// Change times.
pub const ACE_WRITE_ATTRIBUTES: u32 = 0x0000_0100;
/// Change retention (4.1).
pub const ACE_WRITE_RETENTION: u32 = 0x0000_0200;
/// Change retention holds (4.1).
pub const ACE_WRITE_RETENTION_HOLD: u32 = 0x0000_0400;
/// Delete the file.
pub const ACE_DELETE: u32 = 0x0001_0000;
/// Read the ACL.
pub const ACE_READ_ACL: u32 = 0x0002_0000;
/// Write the ACL and the mode.
pub const ACE_WRITE_ACL: u32 = 0x0004_0000;
/// Change the owner and the group.
pub const ACE_WRITE_OWNER: u32 = 0x0008_0000;
/// Use the file for synchronous accesses.
pub const ACE_SYNCHRONIZE: u32 = 0x0010_0000;

/// The ACL is inherited automatically (`acl4flag`).
pub const ACL_AUTO_INHERIT: u32 = 0x1;
/// Automatic inheritance does not change the ACL.
pub const ACL_PROTECTED: u32 = 0x2;
/// The ACL was made by a default of the server.
pub const ACL_DEFAULTED: u32 = 0x4;
