//! Parts of arguments and results that several procedures share.

use proto::Operation;
use proto::nfs2::{DirOp, DirOpOk, FileHandle, Res};

use super::attributes;
use crate::connection::{Connection, Response};
use crate::{Entry, Error, Handle, Lie, Reason, Result};

/// The handle in this version's form.
pub(super) fn handle<O: Operation>(connection: &Connection, handle: &Handle) -> Result<FileHandle> {
    let bytes = handle.as_bytes();
    let wrong = || Error::new(connection.server(), O::NAME, Reason::Lie(Lie::HandleLength(bytes.len())));
    Ok(FileHandle(bytes.try_into().map_err(|_| wrong())?))
}

/// A name in a directory.
pub(super) fn dir_op<'a, O: Operation>(connection: &Connection, dir: &Handle, name: &'a [u8]) -> Result<DirOp<'a>> {
    Ok(DirOp { dir: handle::<O>(connection, dir)?, name })
}

/// The results of a call, or its status as an error.
pub(super) fn success<O: Operation, T>(response: &Response<O>, results: Res<T>) -> Result<T> {
    match results {
        Res::Ok(ok) => Ok(ok),
        Res::Fail(status) => Err(response.error(Reason::Status(status.into()))),
    }
}

/// A file with its attributes.
pub(super) fn entry(found: &DirOpOk) -> Entry {
    Entry { handle: found.file.into(), attributes: attributes::neutral(&found.attributes) }
}

/// A number of 32 bits: version 2 has no larger offsets and lengths.
pub(super) fn word<O: Operation>(connection: &Connection, value: u64) -> Result<u32> {
    let reason = || Reason::BeyondVersion { offset: value, max: u32::MAX.into() };
    u32::try_from(value).map_err(|_| Error::new(connection.server(), O::NAME, reason()))
}
