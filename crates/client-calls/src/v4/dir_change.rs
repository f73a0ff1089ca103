//! What a COMPOUND reports of a directory that it changes: the operation's change numbers, and the attributes of a
//! GETATTR behind it.

use proto::nfs4::{ArgOp, ChangeInfo, Getattr, GetattrArgs, Putfh};

use super::attributes;
use super::reply::Results;
use crate::DirChange;

/// A GETATTR of the current file, the changed directory.
pub fn ask() -> ArgOp<'static> {
    ArgOp::Getattr(GetattrArgs { request: attributes::ALL })
}

/// Like [`read`], behind a PUTFH of the directory.
pub fn read_named(results: &mut Results<'_>, info: ChangeInfo) -> DirChange {
    match results.ok::<Putfh, _>() {
        Ok(()) => read(results, info),
        Err(_) => DirChange::default(),
    }
}

/// Reads the directory's attributes. If they are missing, the change was made all the same.
pub fn read(results: &mut Results<'_>, info: ChangeInfo) -> DirChange {
    let after = results.ok::<Getattr, _>().ok().and_then(|found| attributes::neutral(&found).ok());
    let is_ours = info.atomic && after.is_some_and(|after| after.change == info.after);
    DirChange { before: is_ours.then_some(info.before), after }
}
