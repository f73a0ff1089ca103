//! NFSv3 (RFC 1813): each module is one procedure, from neutral arguments to neutral results.

mod access;
mod attributes;
mod commit;
mod create;
mod fsinfo;
mod fsstat;
mod getattr;
mod link;
mod lookup;
mod lookupp;
mod mkdir;
mod mknod;
mod null;
mod pathconf;
mod read;
mod readdir;
mod readdirplus;
mod readlink;
mod remove;
mod rename;
mod rmdir;
mod setattr;
mod symlink;
mod write;

use proto::Operation;
use proto::nfs3::{DirOp, FileHandle, Res};

pub use access::access;
pub use commit::commit;
pub use create::create;
pub use fsinfo::fsinfo;
pub use fsstat::fsstat;
pub use getattr::getattr;
pub use link::link;
pub use lookup::lookup;
pub use lookupp::lookupp;
pub use mkdir::mkdir;
pub use mknod::mknod;
pub use null::null;
pub use pathconf::pathconf;
pub use read::read;
pub use readdir::readdir;
pub use readdirplus::readdirplus;
pub use readlink::readlink;
pub use remove::remove;
pub use rename::rename;
pub use rmdir::rmdir;
pub use setattr::setattr;
pub use symlink::symlink;
pub use write::write;

use crate::connection::{Connection, Response};
use crate::types::DirChange;
use crate::{Entry, Error, Handle, Lie, Reason, Result};

/// The handle in this version's form.
fn handle<O: Operation>(connection: &Connection, handle: &Handle) -> Result<FileHandle> {
    FileHandle::new(handle.as_bytes()).ok_or_else(|| {
        let reason = Reason::Lie(Lie::HandleLength(handle.as_bytes().len()));
        Error::new(connection.server(), O::NAME, reason)
    })
}

fn dir_op<'a, O: Operation>(connection: &Connection, dir: &Handle, name: &'a [u8]) -> Result<DirOp<'a>> {
    Ok(DirOp { dir: handle::<O>(connection, dir)?, name })
}

/// The results of a call, or its status as an error.
fn success<O: Operation, T, F>(response: &Response<O>, results: Res<T, F>) -> Result<T> {
    match results {
        Res::Ok(ok) => Ok(ok),
        Res::Fail(status, _) => Err(response.error(Reason::Status(status.into()))),
    }
}

/// The created file and the change of its directory. If the server left out the file's handle (RFC 1813 §3.3.8), the
/// name is looked up.
async fn made(
    connection: &Connection,
    dir: &Handle,
    name: &[u8],
    made: proto::nfs3::CreateOk,
) -> Result<(Entry, DirChange)> {
    let entry = match made.object {
        Some(object) => entry(connection, object.into(), made.attributes).await?,
        None => lookup(connection, dir, name).await?,
    };
    Ok((entry, attributes::dir_change(&made.dir_wcc)))
}

/// A file with its attributes, which are fetched if the server left them out.
async fn entry(connection: &Connection, handle: Handle, found: proto::nfs3::PostOpAttr) -> Result<Entry> {
    let attributes = match found {
        Some(found) => attributes::neutral(&found),
        None => getattr(connection, &handle).await?,
    };
    Ok(Entry { handle, attributes })
}
