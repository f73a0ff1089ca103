//! NFSv2 (RFC 1094): each module is one procedure, from neutral arguments to neutral results. Procedures that version 2
//! lacks are emulated or refused.

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
mod readlink;
mod remove;
mod rename;
mod rmdir;
mod setattr;
mod symlink;
mod write;

use proto::Operation;
use proto::nfs2::{DirOp, DirOpOk, FileHandle, Res};

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
pub use readdir::{readdir, readdirplus};
pub use readlink::readlink;
pub use remove::remove;
pub use rename::rename;
pub use rmdir::rmdir;
pub use setattr::setattr;
pub use symlink::symlink;
pub use write::write;

use crate::connection::{Connection, Response};
use crate::{Entry, Error, Handle, Lie, Reason, Result};

/// The handle in this version's form.
fn handle<O: Operation>(connection: &Connection, handle: &Handle) -> Result<FileHandle> {
    let bytes = handle.as_bytes();
    let wrong = || Error::new(connection.server(), O::NAME, Reason::Lie(Lie::HandleLength(bytes.len())));
    Ok(FileHandle(bytes.try_into().map_err(|_| wrong())?))
}

fn dir_op<'a, O: Operation>(connection: &Connection, dir: &Handle, name: &'a [u8]) -> Result<DirOp<'a>> {
    Ok(DirOp { dir: handle::<O>(connection, dir)?, name })
}

/// The results of a call, or its status as an error.
fn success<O: Operation, T>(response: &Response<O>, results: Res<T>) -> Result<T> {
    match results {
        Res::Ok(ok) => Ok(ok),
        Res::Fail(status) => Err(response.error(Reason::Status(status.into()))),
    }
}

fn entry(found: &DirOpOk) -> Entry {
    Entry { handle: found.file.into(), attributes: attributes::neutral(&found.attributes) }
}

/// A number of 32 bits: version 2 has no larger offsets and lengths.
fn word<O: Operation>(connection: &Connection, value: u64) -> Result<u32> {
    let reason = || Reason::TooLarge { bytes: value as usize, max: u32::MAX as usize };
    u32::try_from(value).map_err(|_| Error::new(connection.server(), O::NAME, reason()))
}
