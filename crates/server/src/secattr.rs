//! Access lists on the wire of NFSACL (versions 2 and 3), beside NFSv2 and NFSv3.
//!
//! The lists are those of POSIX. Solaris, where the protocol is from, has a mask in every list. So a list without a
//! mask gets one, and a list of four entries whose mask is equal to the owning group's entry loses it.

use proto::nfsacl::{
    ACL, ACL_COUNT, AclEntry, AclList, DEFAULT_ACL, DEFAULT_ACL_COUNT, MAX_ENTRIES, Secattr, TAG_DEFAULT, TAG_GROUP,
    TAG_MASK, TAG_OTHER, TAG_OWNER, TAG_OWNING_GROUP, TAG_USER,
};
use vfs::{Access, AclTag, Acls, Attributes, Error, PosixAcl};

use crate::fault::Fault;
use crate::node::Node;
use crate::set_attributes;

const ALL: u32 = ACL | ACL_COUNT | DEFAULT_ACL | DEFAULT_ACL_COUNT;

/// What `mask` requests of the lists of `node`. A file that cannot have any has the list that its mode is.
pub(crate) fn get(node: &Node<'_>, attributes: &Attributes, mask: u32) -> Result<Secattr, Fault> {
    require_known(mask)?;
    let acls = match lists(node) {
        Err(Error::NotSupported) => Acls { access: PosixAcl::from_mode(attributes.mode), default: None },
        acls => acls?,
    };
    let access = with_mask(&acls.access, attributes, 0)?;
    let default = acls.default.map_or_else(|| Ok(Vec::new()), |acl| with_mask(&acl, attributes, TAG_DEFAULT))?;
    Ok(Secattr {
        mask,
        access: requested(access, mask, (ACL, ACL_COUNT)),
        default: requested(default, mask, (DEFAULT_ACL, DEFAULT_ACL_COUNT)),
    })
}

/// Sets the lists that `wanted` has, if the caller may; `before` are the attributes of `node`. A list without entries
/// stands for none: the permission bits, or no default list.
pub(crate) fn set(node: &Node<'_>, before: &Attributes, wanted: &Secattr) -> Result<(), Fault> {
    require_known(wanted.mask)?;
    set_attributes::check_acls(node, before)?;
    let mut acls = lists(node)?;
    if wanted.mask & ACL != 0 {
        acls.access = posix(&wanted.access)?.unwrap_or_else(|| PosixAcl::from_mode(before.mode));
    }
    if wanted.mask & DEFAULT_ACL != 0 {
        acls.default = posix(&wanted.default)?;
    }
    Ok(node.fs().set_acls(&node.context, &node.handle, &acls)?)
}

/// The lists of `node`, if this client may read and set them.
fn lists(node: &Node<'_>) -> vfs::Result<Acls> {
    if node.options.offers_acls { node.fs().acls(&node.context, &node.handle) } else { Err(Error::NotSupported) }
}

fn require_known(mask: u32) -> vfs::Result<()> {
    if mask & !ALL == 0 { Ok(()) } else { Err(Error::Invalid) }
}

fn requested(entries: Vec<AclEntry>, mask: u32, (with_entries, with_count): (u32, u32)) -> AclList {
    let count = if mask & (with_entries | with_count) == 0 { 0 } else { entries.len() as u32 };
    AclList { count, entries: if mask & with_entries == 0 { Vec::new() } else { entries } }
}

/// The entries of a list, whose tags have the bit `kind`.
fn with_mask(acl: &PosixAcl, attributes: &Attributes, kind: u32) -> vfs::Result<Vec<AclEntry>> {
    let entry = |tag: AclTag, allowed: Access| {
        let (tag, id) = match tag {
            AclTag::Owner => (TAG_OWNER, attributes.uid),
            AclTag::User(uid) => (TAG_USER, uid),
            AclTag::OwningGroup => (TAG_OWNING_GROUP, attributes.gid),
            AclTag::Group(gid) => (TAG_GROUP, gid),
            AclTag::Mask => (TAG_MASK, 0),
            AclTag::Other => (TAG_OTHER, 0),
        };
        AclEntry { tag: tag | kind, id, permissions: allowed.mode_bits() }
    };
    let mut entries: Vec<AclEntry> = acl.entries().iter().map(|one| entry(one.tag, one.allowed)).collect();
    if acl.get(AclTag::Mask).is_none() {
        let group = acl.get(AclTag::OwningGroup).unwrap_or(Access::NONE);
        entries.insert(entries.len() - 1, entry(AclTag::Mask, group));
    }
    // The protocol has no room for more, and a part of a list would say something else.
    if entries.len() > MAX_ENTRIES { Err(Error::NotSupported) } else { Ok(entries) }
}

/// The list of some entries; `None` if there are none.
fn posix(list: &AclList) -> vfs::Result<Option<PosixAcl>> {
    if list.count as usize != list.entries.len() {
        return Err(Error::Invalid);
    }
    if list.entries.is_empty() {
        return Ok(None);
    }
    let mut entries = list.entries.iter().map(posix_entry).collect::<vfs::Result<Vec<_>>>()?;
    let allowed = |tag| entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.allowed);
    if entries.len() == 4 && allowed(AclTag::Mask).is_some() && allowed(AclTag::Mask) == allowed(AclTag::OwningGroup) {
        entries.retain(|entry| entry.tag != AclTag::Mask);
    }
    PosixAcl::new(entries).map(Some).map_err(|_| Error::Invalid)
}

fn posix_entry(entry: &AclEntry) -> vfs::Result<vfs::AclEntry> {
    let tag = match entry.tag & !TAG_DEFAULT {
        TAG_OWNER => AclTag::Owner,
        TAG_USER => AclTag::User(entry.id),
        TAG_OWNING_GROUP => AclTag::OwningGroup,
        TAG_GROUP => AclTag::Group(entry.id),
        TAG_MASK => AclTag::Mask,
        TAG_OTHER => AclTag::Other,
        _ => return Err(Error::Invalid),
    };
    // Solaris sends further bits in a mask.
    if entry.permissions > 7 && tag != AclTag::Mask {
        return Err(Error::Invalid);
    }
    Ok(vfs::AclEntry { tag, allowed: Access::from_mode_bits(entry.permissions) })
}
