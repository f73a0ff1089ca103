//! Maps NFSv4 ACLs to those of POSIX (RFC 8881 §6; draft-ietf-nfsv4-acl-mapping). Each POSIX ACL has an exact NFSv4
//! equivalent. An NFSv4 ACL becomes a POSIX ACL that grants nobody more, or is refused.

mod posix_builder;
mod to_nfs4;
mod to_posix;

use proto::nfs4::{ACE_FLAG_DIRECTORY_INHERIT, ACE_FLAG_FILE_INHERIT};

pub(super) use to_nfs4::Nfs4Acl;
pub(super) use to_posix::{to_posix, to_posix41};

/// The subject of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Owner,
    OwningGroup,
    Everyone,
    User(u32),
    Group(u32),
}

/// An ALLOW or DENY entry with a numeric subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NumericAce {
    allows: bool,
    flags: u32,
    mask: u32,
    who: Who,
}

/// POSIX default ACLs apply to new files and directories alike.
const INHERIT: u32 = ACE_FLAG_FILE_INHERIT | ACE_FLAG_DIRECTORY_INHERIT;

const OWNER: &[u8] = b"OWNER@";
const GROUP: &[u8] = b"GROUP@";
const EVERYONE: &[u8] = b"EVERYONE@";

/// The NFSv4 permissions behind each POSIX one.
mod permissions {
    use proto::nfs4::{
        ACE_APPEND_DATA, ACE_DELETE_CHILD, ACE_EXECUTE, ACE_READ_ACL, ACE_READ_ATTRIBUTES, ACE_READ_DATA,
        ACE_SYNCHRONIZE, ACE_WRITE_ACL, ACE_WRITE_ATTRIBUTES, ACE_WRITE_DATA,
    };
    use vfs::Access;

    /// The permissions that everybody always has.
    pub(super) const ANYONE: u32 = ACE_READ_ATTRIBUTES | ACE_READ_ACL | ACE_SYNCHRONIZE;
    /// The further permissions that the owner always has.
    pub(super) const OWNER: u32 = ACE_WRITE_ATTRIBUTES | ACE_WRITE_ACL;

    /// Each POSIX permission with its NFSv4 bits.
    fn table(is_directory: bool) -> [(Access, u32); 3] {
        let write = ACE_WRITE_DATA | ACE_APPEND_DATA | if is_directory { ACE_DELETE_CHILD } else { 0 };
        [(Access::READ, ACE_READ_DATA), (Access::WRITE, write), (Access::EXECUTE, ACE_EXECUTE)]
    }

    /// The NFSv4 bits of `access`.
    pub(super) fn of(access: Access, is_directory: bool) -> u32 {
        table(is_directory).iter().filter(|(one, _)| access.contains(*one)).fold(0, |mask, (_, bits)| mask | bits)
    }

    /// The POSIX permissions of a mask: each requires all of its bits.
    pub(super) fn given_by(mask: u32, is_directory: bool) -> Access {
        let given = table(is_directory).into_iter().filter(|(_, bits)| mask & bits == *bits);
        given.fold(Access::NONE, |sum, (one, _)| sum | one)
    }
}

#[cfg(test)]
mod tests;
