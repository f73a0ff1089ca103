//! The common part of CREATE, MKDIR, SYMLINK and MKNOD.

use proto::nfs3::{CreateOk, DirOp, WccData};
use vfs::{Attributes, Entry, Place};

use super::convert;
use super::reply::Nfs3Result;
use super::wcc::Wcc;
use crate::fault::Fault;
use crate::make;
use crate::node::{CallContext, Node};

/// Creates something at `place` with `how`, if the caller may; the results include the directory's attributes.
pub(super) fn make(
    cx: &CallContext<'_>,
    place: &DirOp<'_>,
    how: impl FnOnce(&Node<'_>, Place<'_>) -> Result<Entry, Fault>,
) -> Nfs3Result<CreateOk, WccData> {
    make_or_take(cx, place, |dir, attributes| make::make(dir, attributes, place.name, how))
}

/// Finds or creates something at `place` with `how`, which gets the attributes of the directory and checks them.
pub(super) fn make_or_take(
    cx: &CallContext<'_>,
    place: &DirOp<'_>,
    how: impl FnOnce(&Node<'_>, vfs::Result<Attributes>) -> Result<Entry, Fault>,
) -> Nfs3Result<CreateOk, WccData> {
    let dir = cx.node(place.dir.as_bytes())?;
    let wcc = Wcc::begin(&dir)?;
    let made = how(&dir, wcc.before()).map_err(|fault| fault.with(|| wcc.data()))?;
    Ok(CreateOk {
        object: Some(convert::file_handle(&dir.sibling(made.handle))),
        attributes: Some(convert::fattr(&dir, &made.attributes)),
        dir_wcc: wcc.data(),
    })
}
