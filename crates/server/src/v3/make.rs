//! What CREATE, MKDIR, SYMLINK and MKNOD share: something new in a directory.

use proto::nfs3::{CreateOk, DirOp, WccData};
use vfs::{Entry, Place, SetAttributes};

use super::wcc::Wcc;
use super::{Outcome, convert};
use crate::fault::Fault;
use crate::node::{CallContext, Node};
use crate::set_attributes;

/// Makes something new at `place` with `make`, if the caller may, and says what became of it and of the directory.
pub(super) fn make(
    cx: &CallContext<'_>,
    place: &DirOp<'_>,
    make: impl FnOnce(&Node<'_>, Place<'_>) -> Result<Entry, Fault>,
) -> Outcome<CreateOk, WccData> {
    let dir = cx.node(place.dir.as_bytes())?;
    let wcc = Wcc::begin(&dir);
    let made = make_checked(&dir, place.name, make).map_err(|fault| fault.with(|| wcc.data()))?;
    Ok(CreateOk {
        object: Some(convert::file_handle(&dir.sibling(made.handle))),
        attributes: Some(convert::fattr(&dir, &made.attributes)),
        dir_wcc: wcc.data(),
    })
}

fn make_checked(
    dir: &Node<'_>,
    name: &[u8],
    make: impl FnOnce(&Node<'_>, Place<'_>) -> Result<Entry, Fault>,
) -> Result<Entry, Fault> {
    dir.require_changeable_dir()?;
    make(dir, dir.place(name)?)
}

/// The first attributes of a new file, if the caller may give them.
pub(super) fn first_attributes(dir: &Node<'_>, sattr: &proto::nfs3::Sattr) -> Result<SetAttributes, Fault> {
    let set = convert::set_attributes(sattr)?;
    set_attributes::check_new(&set, &dir.context.caller)?;
    Ok(set)
}
