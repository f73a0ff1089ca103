//! The identity that requests are sent with, and the caller's rights.

use client_files::{Credentials, Mount, Rights, Version};
use vfs::{Access, Attributes, Caller, Context, Error, FileKind, Handle, Result, Stability, permission};

use super::shared::Shared;

impl Shared {
    /// The mount for this caller: a superuser's mount acts as each caller, any other as its own user.
    pub(super) fn mount_for(&self, cx: &Context<'_>) -> Mount {
        let Caller { uid, gid, groups } = cx.caller;
        match self.mount.credentials() {
            // The superuser's groups give no further rights.
            Credentials::Sys { uid: 0, gid: own, .. } if (uid, gid) != (0, *own) => {
                self.mount.acting_as(&Credentials::Sys { uid, gid, groups: groups.to_vec() })
            }
            _ => self.mount.clone(),
        }
    }
}

/// The caller's rights at the server. If requests are sent as another user, the permission bits limit them, too.
pub(super) fn access(
    shared: &Shared,
    cx: &Context<'_>,
    node: &Handle,
    attributes: &Attributes,
    wanted: Access,
) -> Result<Access> {
    let (known, mount) = (shared.handles.find(node)?, shared.mount_for(cx));
    let wanted = match is_asked_as(&mount, &cx.caller) {
        true => wanted,
        false => permission::by_mode(attributes, &cx.caller) & wanted,
    };
    if wanted == Access::NONE {
        return Ok(wanted);
    }
    let is_dir = attributes.kind == FileKind::Directory;
    let mut given = shared.wait(cx, mount.rights(&known.handle, rights(wanted, is_dir)))?;
    if mount.version() == Version::V2 && wanted.contains(Access::WRITE) && attributes.kind == FileKind::Regular {
        let writing = rights(Access::WRITE, false);
        if given.contains(writing) || cx.caller.uid != attributes.uid {
            // There is no ACCESS. A WRITE of no bytes shows whether the server refuses to write.
            given = match shared.wait(cx, mount.write(&known.handle, 0, Vec::new().into(), Stability::File)) {
                Ok(_) => given | writing,
                Err(Error::AccessDenied | Error::NotPermitted) => Rights::from_bits(given.bits() & !writing.bits()),
                Err(error) => return Err(error),
            };
        }
    }
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

fn is_asked_as(mount: &Mount, caller: &Caller<'_>) -> bool {
    matches!(mount.credentials(), Credentials::Sys { uid, .. } if *uid == caller.uid)
}
