//! NFSv4's access lists over those of POSIX (RFC 8881 §6; draft-ietf-nfsv4-acl-mapping): each list of POSIX has one that says
//! the same, and a list of NFSv4 becomes one of POSIX that gives nobody more. What would have to give more is refused.

mod draft;
mod taken;
mod told;

use proto::nfs4::{ACE_FLAG_DIRECTORY_INHERIT, ACE_FLAG_FILE_INHERIT};

pub(super) use taken::{taken, taken41};
pub(super) use told::ToldAcl;

/// Whom an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Owner,
    OwningGroup,
    Everyone,
    User(u32),
    Group(u32),
}

/// An entry that allows or denies, with whom it is about as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    allows: bool,
    flags: u32,
    mask: u32,
    who: Who,
}

/// POSIX's default lists do not tell files from directories.
const INHERIT: u32 = ACE_FLAG_FILE_INHERIT | ACE_FLAG_DIRECTORY_INHERIT;

const OWNER: &[u8] = b"OWNER@";
const GROUP: &[u8] = b"GROUP@";
const EVERYONE: &[u8] = b"EVERYONE@";

/// The permissions of NFSv4 that make up one of POSIX's.
mod permissions {
    use proto::nfs4::{
        ACE_APPEND_DATA, ACE_DELETE_CHILD, ACE_EXECUTE, ACE_READ_ACL, ACE_READ_ATTRIBUTES, ACE_READ_DATA,
        ACE_SYNCHRONIZE, ACE_WRITE_ACL, ACE_WRITE_ATTRIBUTES, ACE_WRITE_DATA,
    };
    use vfs::Access;

    /// What everybody may always do.
    pub(super) const ANYONE: u32 = ACE_READ_ATTRIBUTES | ACE_READ_ACL | ACE_SYNCHRONIZE;
    /// What the owner may always do besides.
    pub(super) const OWNER: u32 = ACE_WRITE_ATTRIBUTES | ACE_WRITE_ACL;

    /// Each of POSIX's, with what it takes.
    fn table(is_directory: bool) -> [(Access, u32); 3] {
        let write = ACE_WRITE_DATA | ACE_APPEND_DATA | if is_directory { ACE_DELETE_CHILD } else { 0 };
        [(Access::READ, ACE_READ_DATA), (Access::WRITE, write), (Access::EXECUTE, ACE_EXECUTE)]
    }

    /// What `access` stands for.
    pub(super) fn of(access: Access, is_directory: bool) -> u32 {
        table(is_directory).iter().filter(|(one, _)| access.contains(*one)).fold(0, |mask, (_, bits)| mask | bits)
    }

    /// What all of a mask's bits give: a permission of POSIX needs every bit of it.
    pub(super) fn given_by(mask: u32, is_directory: bool) -> Access {
        let given = table(is_directory).into_iter().filter(|(_, bits)| mask & bits == *bits);
        given.fold(Access::NONE, |sum, (one, _)| sum | one)
    }
}

#[cfg(test)]
mod tests;
