use vfs::{Access, Caller, FileKind, permission};

use super::getattr;
use crate::connection::Connection;
use crate::{Credentials, Handle, Result, Rights};

/// Which of the `wanted` rights the permission bits grant: version 2 has no ACCESS. The server may decide otherwise,
/// above all for a superuser.
pub async fn access(connection: &Connection, file: &Handle, wanted: Rights) -> Result<Rights> {
    let attributes = getattr(connection, file).await?;
    let allowed = match connection.principal().credentials() {
        Credentials::Sys { uid, gid, groups } => {
            permission::by_mode(&attributes, &Caller { uid: *uid, gid: *gid, groups })
        }
        Credentials::None | Credentials::Process => Access::from_mode_bits(attributes.mode),
    };
    let rights = rights_of(allowed, attributes.kind == FileKind::Directory);
    Ok(Rights::from_bits(rights.bits() & wanted.bits()))
}

fn rights_of(allowed: Access, is_dir: bool) -> Rights {
    let mut rights = Rights::default();
    if allowed.contains(Access::READ) {
        rights = rights | Rights::READ;
    }
    if allowed.contains(Access::WRITE) {
        rights = rights | Rights::MODIFY | Rights::EXTEND | if is_dir { Rights::DELETE } else { Rights::default() };
    }
    if allowed.contains(Access::EXECUTE) {
        rights = rights | if is_dir { Rights::LOOKUP } else { Rights::EXECUTE };
    }
    rights
}
