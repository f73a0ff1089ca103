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

pub(crate) use access::access;
pub(crate) use commit::commit;
pub(crate) use create::create;
pub(crate) use fsinfo::fsinfo;
pub(crate) use fsstat::fsstat;
pub(crate) use getattr::getattr;
pub(crate) use link::link;
pub(crate) use lookup::lookup;
pub(crate) use lookupp::lookupp;
pub(crate) use mkdir::mkdir;
pub(crate) use mknod::mknod;
pub(crate) use null::null;
pub(crate) use pathconf::pathconf;
pub(crate) use read::read;
pub(crate) use readdir::readdir;
pub(crate) use readdirplus::readdirplus;
pub(crate) use readlink::readlink;
pub(crate) use remove::remove;
pub(crate) use rename::rename;
pub(crate) use rmdir::rmdir;
pub(crate) use setattr::setattr;
pub(crate) use symlink::symlink;
pub(crate) use write::write;

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
