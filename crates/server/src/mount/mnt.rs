//! MNT (RFC 1094 §A.5.2, RFC 1813 §5.2.1).

use access_rules::{ExportOptions, Squash};
use proto::mount::{DirPath, Errno, Mnt3Ok, Mnt3Reply, MntReply, Status};
use proto::{nfs2, nfs3};
use rpc::Flavor;

use super::reply::answerable;
use super::{directory, status};
use crate::fault::{Fault, NoResults};
use crate::handle::WireHandle;
use crate::node::{CallContext, Node};
use crate::refusals::Refusal;

/// The reply of versions 1 and 2: an NFSv2 handle.
pub(super) fn mnt(cx: &CallContext<'_>, args: &DirPath<'_>) -> Result<MntReply, NoResults> {
    match mount(cx, args.path)? {
        Ok((_, handle)) => Ok(MntReply::Ok(nfs2::FileHandle(handle.padded()))),
        Err(status) => Ok(MntReply::Fail(Errno(status::errno(status)))),
    }
}

/// The reply of version 3: an NFSv3 handle, and the flavours of authentication.
pub(super) fn mnt3(cx: &CallContext<'_>, args: &DirPath<'_>) -> Result<Mnt3Reply, NoResults> {
    match mount(cx, args.path)? {
        Ok((node, handle)) => {
            let handle = nfs3::FileHandle::new(handle.as_bytes()).expect("our handles are shorter than 64 bytes");
            Ok(Mnt3Reply::Ok(Mnt3Ok { handle, flavors: flavors(node.options) }))
        }
        Err(status) => Ok(Mnt3Reply::Fail(status)),
    }
}

/// Resolves the directory and records the mount.
fn mount<'c>(cx: &'c CallContext<'_>, path: &[u8]) -> Result<Result<(Node<'c>, WireHandle), Status>, NoResults> {
    let client = cx.client();
    match directory::find(cx, path) {
        Ok(node) => {
            cx.server.mounts.add(client.ip(), path);
            tracing::info!(%client, path = %path.escape_ascii(), "mounted");
            let handle = node.wire_handle();
            Ok(Ok((node, handle)))
        }
        Err(fault) => {
            if matches!(fault, Fault::File(vfs::Error::NoEntry)) {
                cx.note_refusal(&Refusal::NoExport(path));
            }
            let status = status::of(&answerable(fault)?);
            tracing::debug!(%client, path = %path.escape_ascii(), ?status, "mount refused");
            Ok(Err(status))
        }
    }
}

/// The supported flavours, the best first. If all users are anonymous anyway, they need no credential.
fn flavors(options: &ExportOptions) -> Vec<u32> {
    match options.squash {
        Squash::All => vec![Flavor::SYS.0, Flavor::NONE.0],
        Squash::None | Squash::Root => vec![Flavor::SYS.0],
    }
}
