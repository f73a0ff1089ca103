//! What a COMPOUND that changes a directory tells of it: the change numbers of the operation, and attributes that are asked for
//! behind it.

use proto::nfs4::{ArgOp, ChangeInfo, Getattr, GetattrArgs, Putfh};

use super::attributes;
use super::reply::Results;
use crate::types::DirChange;

/// Asks for the attributes of the current file, which is a directory that was changed.
pub(super) fn ask() -> ArgOp<'static> {
    ArgOp::Getattr(GetattrArgs { request: attributes::ALL })
}

/// As [`read`], behind a PUTFH of the directory.
pub(super) fn read_named(results: &mut Results<'_>, info: ChangeInfo) -> DirChange {
    match results.ok::<Putfh, _>() {
        Ok(()) => read(results, info),
        Err(_) => DirChange::default(),
    }
}

/// What the next result tells of the directory. The change was made whether or not the server tells of it.
pub(super) fn read(results: &mut Results<'_>, info: ChangeInfo) -> DirChange {
    let after = results.ok::<Getattr, _>().ok().and_then(|found| attributes::neutral(&found).ok());
    let is_ours = info.atomic && after.is_some_and(|after| after.change == info.after);
    DirChange { before: is_ours.then_some(info.before), after }
}
