use vfs::{Access, Caller, FileKind, permission};

use super::{getattr, lookup, read, readdir};
use crate::connection::Connection;
use crate::types::DirPosition;
use crate::{Credentials, Handle, Result, Rights, Status};

/// Which of the `wanted` rights the caller has: version 2 has no ACCESS. The permission bits decide for a file's owner,
/// whom servers let do more. For others, whether it may be read or searched is tried. The server may decide otherwise
/// about all else.
pub async fn access(connection: &Connection, file: &Handle, wanted: Rights) -> Result<Rights> {
    let attributes = getattr(connection, file).await?;
    let is_dir = attributes.kind == FileKind::Directory;
    let (allowed, is_owner) = match connection.principal().credentials() {
        Credentials::Sys { uid, gid, groups } => {
            let caller = Caller { uid: *uid, gid: *gid, groups };
            (permission::by_mode(&attributes, &caller), *uid == attributes.uid)
        }
        Credentials::None | Credentials::Process => (Access::from_mode_bits(attributes.mode), false),
    };
    let mut rights = rights_of(allowed, is_dir);
    for right in [Rights::READ, Rights::LOOKUP] {
        if !wanted.contains(right) || is_owner && !rights.contains(right) {
            continue;
        }
        let tried = match (attributes.kind, right) {
            (FileKind::Directory, Rights::LOOKUP) => lookup(connection, file, b".").await.map(drop),
            (FileKind::Directory, _) => readdir(connection, file, DirPosition::default(), LISTED_BYTES).await.map(drop),
            (FileKind::Regular, Rights::READ) => read(connection, file, 0, 0).await.map(drop),
            _ => continue,
        };
        rights = match tried {
            Ok(()) => rights | right,
            Err(error) if error.status() == Some(Status::AccessDenied) => {
                Rights::from_bits(rights.bits() & !right.bits())
            }
            Err(error) => return Err(error),
        };
    }
    Ok(rights & wanted)
}

/// The least that a listing of names is tried with: any server returns an entry in this.
const LISTED_BYTES: u32 = 512;

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
