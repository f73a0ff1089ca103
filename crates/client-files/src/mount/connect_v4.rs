//! Mounts a URL with NFSv4, which has no MOUNT: walks the server's tree from its root (RFC 7530 §7, RFC 8881 §2.7).

use std::sync::Arc;

use proto::nfs3;
use proto::nfs4::{MinorVersion, PORT};
use vfs::FileKind;

use super::Mount;
use super::connect::{Dialer, MountParts, below};
use super::exports_v4;
use crate::{Entry, Error, MountRefusal, NoExport, Reason, Result, Rights, Status, v4};

/// The most components of a URL's path to walk in search of its file system.
const MAX_COMPONENTS: usize = 256;

/// The top of a file system, its path, and the rest of a path in it.
type FileSystem = (Entry, Vec<u8>, Vec<u8>);

impl Dialer<'_> {
    /// Mounts over NFSv4. As in older versions, the root is that of the path's file system.
    pub(super) async fn mount_v4(&self, minor: MinorVersion, path: &[u8]) -> Result<Mount> {
        let port = match self.options.nfs_port {
            Some(0) => self.ask_rpcbind(nfs3::PROGRAM, self.options.version.number()).await?,
            named => named.unwrap_or(PORT),
        };
        let address = self.address.at(port);
        let client = v4::Client::connect(address, self.server, minor, self.options).await.map_err(refused)?;
        let unused = v4::Unused::new(client);
        match self.mount_with(unused.client(), path).await {
            Ok(mount) => {
                unused.keep();
                Ok(mount)
            }
            Err(error) => Err(unused.leave_after(error).await),
        }
    }

    async fn mount_with(&self, client: &v4::Client, path: &[u8]) -> Result<Mount> {
        let (root, export, below) = find_file_system(client, path).await?;
        let info = v4::fsinfo(client, &root.handle).await?;
        let connections = client.connections().into();
        let options = self.options.clone();
        let found =
            MountParts { connections, options, other_programs: Arc::clone(self.others), export, below, root, info };
        Mount::new(self.server, found, Some(client.clone()))
    }
}

/// A server that refuses a client ID has no export for this client (RFC 8881 §18.35.3, NFS4ERR_PERM).
fn refused(error: Error) -> Error {
    match error.status() {
        Some(Status::NotPermitted) => error.because(Reason::Mount(MountRefusal::AccessDenied)),
        _ => error,
    }
}

/// The top of the file system that `path` is in, its path, and the rest. Missing names, and those below a file, count
/// as part of the last directory's file system. Above the exports nothing can be made, so a missing name there is a
/// missing export.
async fn find_file_system(client: &v4::Client, path: &[u8]) -> Result<FileSystem> {
    let mut here = v4::root(client).await?;
    let (root, mut top, mut top_path, mut walked) = (here, here, b"/".to_vec(), Vec::new());
    let mut names =
        path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".").take(MAX_COMPONENTS);
    while let Some(name) = names.next() {
        let is_dir = here.attributes.kind == FileKind::Directory;
        if !is_dir || name == b".." {
            break;
        }
        here = match v4::lookup(client, &here.handle, name).await {
            Ok(found) => found,
            Err(error) if matches!(error.status(), Some(Status::Moved | Status::TryLater | Status::Grace)) => {
                return Err(error.about(path));
            }
            Err(error) if error.status() == Some(Status::NoEntry) && top.handle == root.handle => {
                let is_last = names.next().is_none();
                let Some(none) = no_export(client, &root, &here, is_last).await? else {
                    return Ok(split(top, top_path, path));
                };
                return match in_only_export(client, &none.exports, path).await? {
                    Some(found) => Ok(found),
                    None => Err(error.because(Reason::NoExport(none)).about(path)),
                };
            }
            // The error recurs when the file is used.
            Err(error) if error.status().is_some() => break,
            Err(error) => return Err(error),
        };
        walked.push(b'/');
        walked.extend_from_slice(name);
        if here.attributes.fsid != top.attributes.fsid && here.attributes.kind == FileKind::Directory {
            (top, top_path) = (here, walked.clone());
        }
    }
    Ok(split(top, top_path, path))
}

/// The export and the rest of a path in the only export of a server. There, as with older versions, paths may begin
/// below the export. The last name may be that of a file to make.
async fn in_only_export(client: &v4::Client, exports: &[Vec<u8>], path: &[u8]) -> Result<Option<FileSystem>> {
    let [only] = exports else { return Ok(None) };
    let mut here = v4::root(client).await?;
    let mut top = None;
    let names = only.split(|byte| *byte == b'/').chain(path.split(|byte| *byte == b'/'));
    let names: Vec<&[u8]> = names.filter(|name| !name.is_empty() && *name != b".").take(MAX_COMPONENTS).collect();
    for (index, name) in names.iter().enumerate() {
        let fsid = here.attributes.fsid;
        here = match v4::lookup(client, &here.handle, name).await {
            Ok(found) => found,
            Err(error) if error.status() == Some(Status::NoEntry) && index + 1 == names.len() => break,
            Err(error) if error.status().is_some() => return Ok(None),
            Err(error) => return Err(error),
        };
        if top.is_none() && here.attributes.fsid != fsid {
            top = Some(here);
        }
    }
    Ok(top.map(|top| (top, only.clone(), below(b"/", path).unwrap_or_default().to_vec())))
}

/// A file system's top, its path, and the part of `path` below it.
fn split(top: Entry, top_path: Vec<u8>, path: &[u8]) -> FileSystem {
    let rest = below(&top_path, path).unwrap_or_default().to_vec();
    (top, top_path, rest)
}

/// The reason if a name missing in `dir`, which is in the root's file system, means a missing export. `None` if it may
/// be a file's: the root can be an export itself, and the path's last name can be that of a file to make.
async fn no_export(client: &v4::Client, root: &Entry, dir: &Entry, is_last: bool) -> Result<Option<NoExport>> {
    if is_last && may_be_made(client, dir).await? {
        return Ok(None);
    }
    let exports = exports_v4::exports(client, root).await.unwrap_or_default();
    let none = NoExport::new(MountRefusal::NoEntry, exports);
    Ok((!none.exports.is_empty()).then_some(none))
}

/// Whether the server lets names be added to a directory: never above its exports.
async fn may_be_made(client: &v4::Client, dir: &Entry) -> Result<bool> {
    let rights = v4::access(client, &dir.handle, Rights::MODIFY | Rights::EXTEND).await?;
    Ok(rights != Rights::from_bits(0))
}
