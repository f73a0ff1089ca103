//! Sets attributes, with the permission checks of POSIX (chmod(2), chown(2), utimensat(2), truncate(2)).

use vfs::{Access, Attributes, Caller, Error, FileKind, SetAttributes, SetTime, permission};

use crate::fault::Fault;
use crate::node::Node;

/// Sets attributes of `node`, whose attributes are `before`, if the caller may.
pub(crate) fn set(node: &Node<'_>, before: &Attributes, set: &SetAttributes) -> Result<Attributes, Fault> {
    check(node, before, set)?;
    change(node, before, set)
}

/// Fails unless the caller may set all of these.
pub(crate) fn check(node: &Node<'_>, before: &Attributes, set: &SetAttributes) -> Result<(), Fault> {
    if set.is_empty() {
        return Ok(());
    }
    node.require_writable()?;
    check_owner_rules(before, set, &node.context.caller)?;
    if let Some(size_bytes) = set.size_bytes {
        check_size(before, size_bytes)?;
        node.require_or_own(before, Access::WRITE)?;
    }
    check_times(node, before, set)?;
    node.require_undelegated()
}

/// Sets attributes without a check.
pub(crate) fn change(node: &Node<'_>, before: &Attributes, set: &SetAttributes) -> Result<Attributes, Fault> {
    let set = SetAttributes { mode: set.mode.filter(|_| has_mode(before.kind)), ..*set };
    if set.is_empty() {
        return Ok(*before);
    }
    Ok(node.fs().set_attributes(&node.context, &node.handle, &set)?)
}

/// Whether the mode of such a file can be set. A symbolic link's mode has no effect and Linux cannot change it. Setting
/// it succeeds without effect, as with other servers.
pub(crate) fn has_mode(kind: FileKind) -> bool {
    kind != FileKind::Symlink
}

/// Fails unless the caller may set the ACLs of `node`, whose attributes are `before`: only the owner may.
pub(crate) fn check_acls(node: &Node<'_>, before: &Attributes) -> Result<(), Fault> {
    node.require_writable()?;
    if !permission::is_owner(before, &node.context.caller) {
        return Err(Error::NotPermitted.into());
    }
    node.require_undelegated()
}

/// Only the owner sets mode, owner and group, and only root gives the file to another user or a foreign group.
fn check_owner_rules(before: &Attributes, set: &SetAttributes, caller: &Caller<'_>) -> vfs::Result<()> {
    let changes_owner = set.uid.is_some_and(|uid| uid != before.uid);
    let changes_group = set.gid.is_some_and(|gid| gid != before.gid);
    let needs_owner = set.mode.is_some() || set.uid.is_some() || set.gid.is_some();
    if needs_owner && !permission::is_owner(before, caller) {
        return Err(Error::NotPermitted);
    }
    check_gift(changes_owner.then_some(set.uid).flatten(), changes_group.then_some(set.gid).flatten(), caller)
}

/// Fails unless `caller` may give a file to another user or group.
fn check_gift(uid: Option<u32>, gid: Option<u32>, caller: &Caller<'_>) -> vfs::Result<()> {
    let keeps_owner = uid.is_none_or(|uid| uid == caller.uid);
    let is_own_group = gid.is_none_or(|gid| caller.is_in_group(gid));
    if caller.is_root() || (keeps_owner && is_own_group) { Ok(()) } else { Err(Error::NotPermitted) }
}

fn check_size(before: &Attributes, size_bytes: u64) -> vfs::Result<()> {
    match before.kind {
        FileKind::Regular if i64::try_from(size_bytes).is_ok() => Ok(()),
        FileKind::Regular => Err(Error::FileTooBig),
        FileKind::Directory => Err(Error::IsDirectory),
        _ => Err(Error::Invalid),
    }
}

/// The owner sets any times; a caller with write permission may set them to the current time.
fn check_times(node: &Node<'_>, before: &Attributes, set: &SetAttributes) -> vfs::Result<()> {
    let times = [set.accessed, set.modified];
    if times.iter().flatten().count() == 0 || permission::is_owner(before, &node.context.caller) {
        return Ok(());
    }
    if times.iter().flatten().any(|time| matches!(time, SetTime::To(_))) {
        return Err(Error::NotPermitted);
    }
    node.require(before, Access::WRITE)
}

/// Fails unless the caller may create a file with these attributes.
pub(crate) fn check_new(set: &SetAttributes, caller: &Caller<'_>) -> vfs::Result<()> {
    if set.size_bytes.is_some_and(|size_bytes| i64::try_from(size_bytes).is_err()) {
        return Err(Error::FileTooBig);
    }
    check_gift(set.uid, set.gid, caller)
}
