//! RENAME (RFC 1813 §3.3.14).

use proto::nfs3::{RenameArgs, RenameWcc};

use super::reply::Nfs3Result;
use super::wcc::Wcc;
use crate::node::CallContext;
use crate::unlink::{self, NameIn};

pub(super) fn rename(cx: &CallContext<'_>, args: &RenameArgs<'_>) -> Nfs3Result<RenameWcc, RenameWcc> {
    let from = cx.node(args.from.dir.as_bytes())?;
    let to = cx.node(args.to.dir.as_bytes())?;
    let from_wcc = Wcc::begin(&from)?;
    // A rename within one directory is one change, whose attributes are sent twice.
    let to_wcc = (from.handle != to.handle || !from.shares_export(&to)).then(|| Wcc::begin(&to)).transpose()?;
    let data = || {
        let from_dir = from_wcc.data();
        RenameWcc { from_dir, to_dir: to_wcc.as_ref().map_or(from_dir, Wcc::data) }
    };
    match unlink::rename(&NameIn { dir: &from, name: args.from.name }, &NameIn { dir: &to, name: args.to.name }) {
        Ok(()) => Ok(data()),
        Err(fault) => Err(fault.with(data)),
    }
}
