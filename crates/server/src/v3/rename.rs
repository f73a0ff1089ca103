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
    let (from_before, to_before) = (from_wcc.before(), to_wcc.as_ref().unwrap_or(&from_wcc).before());
    let old = NameIn { dir: &from, attributes: from_before, name: args.from.name };
    let new = NameIn { dir: &to, attributes: to_before, name: args.to.name };
    match unlink::rename(old, new) {
        Ok(()) => Ok(data()),
        Err(fault) => Err(fault.with(data)),
    }
}
