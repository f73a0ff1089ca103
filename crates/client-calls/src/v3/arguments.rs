//! Parts of arguments and results that several procedures share.

use proto::Operation;
use proto::nfs3::{DirOp, FileHandle, Res};

use crate::connection::{Connection, Response};
use crate::{Error, Handle, Lie, Reason, Result};

/// The handle in this version's form.
pub(super) fn handle<O: Operation>(connection: &Connection, handle: &Handle) -> Result<FileHandle> {
    FileHandle::new(handle.as_bytes()).ok_or_else(|| {
        let reason = Reason::Lie(Lie::HandleLength(handle.as_bytes().len()));
        Error::new(connection.server(), O::NAME, reason)
    })
}

/// A name in a directory.
pub(super) fn dir_op<'a, O: Operation>(connection: &Connection, dir: &Handle, name: &'a [u8]) -> Result<DirOp<'a>> {
    Ok(DirOp { dir: handle::<O>(connection, dir)?, name })
}

/// The results of a call, or its status as an error.
pub(super) fn success<O: Operation, T, F>(response: &Response<O>, results: Res<T, F>) -> Result<T> {
    match results {
        Res::Ok(ok) => Ok(ok),
        Res::Fail(status, _) => Err(response.error(Reason::Status(status.into()))),
    }
}
