//! Who the server takes the callers for, and what that means for permissions and ownership.

use vfs::{Access, Attributes, Caller, Context, FileKind, Handle, Result, SetAttributes, permission};

use super::Shared;
use super::handles::Known;
use crate::{Credentials, Rights};

/// The bit of a directory whose files get its group.
const SET_GROUP_ID: u32 = 0o2000;

/// What the server lets the mount do, as far as the permission bits let the caller do it, unless that is the mount's own user.
pub(super) fn access(
    shared: &Shared,
    cx: &Context<'_>,
    (node, attributes): (&Handle, &Attributes),
    wanted: Access,
) -> Result<Access> {
    let known = shared.handles.find(node)?;
    let wanted = match is_own(shared, &cx.caller) {
        true => wanted,
        false => permission::by_mode(attributes, &cx.caller) & wanted,
    };
    if wanted == Access::NONE {
        return Ok(wanted);
    }
    let is_dir = attributes.kind == FileKind::Directory;
    let given = shared.wait(cx, shared.mount.rights(&known.handle, rights(wanted, is_dir)))?;
    let allowed = |part: Access| given.contains(rights(part, is_dir));
    let parts = [Access::READ, Access::WRITE, Access::EXECUTE].into_iter();
    Ok(parts.filter(|part| allowed(*part)).fold(Access::NONE, |sum, part| sum | part) & wanted)
}

fn rights(access: Access, is_dir: bool) -> Rights {
    let mut rights = Rights::default();
    let mut add = |part, more| rights = if access.contains(part) { rights | more } else { rights };
    add(Access::READ, Rights::READ);
    add(Access::WRITE, Rights::MODIFY | Rights::EXTEND);
    add(Access::EXECUTE, if is_dir { Rights::LOOKUP } else { Rights::EXECUTE });
    rights
}

fn is_own(shared: &Shared, caller: &Caller<'_>) -> bool {
    mount_user(shared) == Some(caller.uid)
}

/// The number of the user as whom the mount asks.
fn mount_user(shared: &Shared) -> Option<u32> {
    match shared.mount.connection().credentials() {
        Credentials::Sys { uid, .. } => Some(*uid),
        Credentials::Process | Credentials::None => None,
    }
}

/// The attributes of what is made in `dir` for the caller: where the mount is the superuser's, it belongs to the caller.
pub(super) fn for_new(shared: &Shared, cx: &Context<'_>, dir: &Known, set: &SetAttributes) -> Result<SetAttributes> {
    if mount_user(shared) != Some(Caller::ROOT.uid) || cx.caller.is_root() {
        return Ok(*set);
    }
    let above = shared.wait(cx, shared.mount.attributes(&dir.handle))?;
    let gid = (above.mode & SET_GROUP_ID == 0).then_some(cx.caller.gid);
    Ok(SetAttributes { uid: set.uid.or(Some(cx.caller.uid)), gid: set.gid.or(gid), ..*set })
}
