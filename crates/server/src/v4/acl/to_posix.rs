//! Converts an NFSv4 ACL that a client sets to POSIX ACLs.

use proto::nfs4::{
    ACE_ALARM, ACE_ALLOW, ACE_AUDIT, ACE_DENY, ACE_FLAG_IDENTIFIER_GROUP, ACE_FLAG_INHERIT_ONLY, Ace, Acl, Acl41,
    Status,
};
use vfs::Acls;

use super::super::compound::Compound;
use super::super::failure::{Failure, OpResult};
use super::super::owner;
use super::posix_builder::PosixAclBuilder;
use super::{EVERYONE, GROUP, INHERIT, NumericAce, OWNER, Who};

/// The POSIX ACLs for the attribute `acl` of a file.
///
/// An ACL that POSIX cannot represent fails with ATTRNOTSUPP (RFC 8881 §6.2.1).
pub(in super::super) fn to_posix(compound: &Compound<'_>, acl: &Acl<'_>, is_directory: bool) -> OpResult<Acls> {
    let entries: OpResult<Vec<NumericAce>> = acl.aces.iter().map(|ace| entry(compound, ace)).collect();
    Ok(lists(&entries?, is_directory)?)
}

/// The POSIX ACLs for the attribute `dacl` of a file. Automatic inheritance is not supported, so any flag is refused.
pub(in super::super) fn to_posix41(compound: &Compound<'_>, dacl: &Acl41<'_>, is_directory: bool) -> OpResult<Acls> {
    if dacl.flags != 0 {
        return Err(Status::AttrNotSupp.into());
    }
    to_posix(compound, &dacl.acl, is_directory)
}

fn entry(compound: &Compound<'_>, ace: &Ace<'_>) -> OpResult<NumericAce> {
    let allows = match ace.ace_type {
        ACE_ALLOW => true,
        ACE_DENY => false,
        ACE_AUDIT | ACE_ALARM => return Err(Status::AttrNotSupp.into()),
        _ => return Err(Status::Inval.into()),
    };
    let is_group = ace.flags & ACE_FLAG_IDENTIFIER_GROUP != 0;
    let who = match ace.who.0 {
        OWNER => Who::Owner,
        GROUP => Who::OwningGroup,
        EVERYONE => Who::Everyone,
        // The other special names (RFC 8881 §6.2.1.5), such as NETWORK@, have no equivalent in POSIX.
        [.., b'@'] => return Err(Failure::Status(Status::AttrNotSupp)),
        _ if is_group => Who::Group(owner::group_id(compound, &ace.who)?),
        _ => Who::User(owner::user_id(compound, &ace.who)?),
    };
    Ok(NumericAce { allows, flags: ace.flags & !ACE_FLAG_IDENTIFIER_GROUP, mask: ace.access_mask, who })
}

pub(super) fn lists(entries: &[NumericAce], is_directory: bool) -> Result<Acls, Status> {
    let (mut access, mut default) = (PosixAclBuilder::default(), PosixAclBuilder::default());
    for entry in entries {
        match entry.flags & !ACE_FLAG_INHERIT_ONLY {
            0 if entry.flags == 0 => access.apply(entry),
            INHERIT if is_directory => default.apply(entry),
            _ => return Err(Status::AttrNotSupp),
        }
        if entry.flags == INHERIT {
            access.apply(entry);
        }
    }
    if access.denies_too_much() || default.denies_too_much() {
        return Err(Status::AttrNotSupp);
    }
    // A new file's mode limits what these inherit (RFC 8881 §6.4.3), as for ACLs made with setfacl.
    default.complete_from(&access);
    let default = default.has_entries().then(|| default.finish(is_directory));
    Ok(Acls { access: access.finish(is_directory), default })
}
