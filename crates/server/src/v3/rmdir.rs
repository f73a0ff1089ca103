//! RMDIR (RFC 1813 §3.3.13).

use proto::nfs3::{RmdirArgs, WccData};

use super::reply::Nfs3Result;
use super::wcc::Wcc;
use crate::node::CallContext;
use crate::unlink;

pub(super) fn rmdir(cx: &CallContext<'_>, args: &RmdirArgs<'_>) -> Nfs3Result<WccData, WccData> {
    let dir = cx.node(args.object.dir.as_bytes())?;
    let wcc = Wcc::begin(&dir)?;
    match unlink::remove_dir(&dir, wcc.before(), args.object.name) {
        Ok(()) => Ok(wcc.data()),
        Err(fault) => Err(fault.with(|| wcc.data())),
    }
}
