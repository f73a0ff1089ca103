//! SETATTR (RFC 1813 §3.3.2).

use proto::nfs3::{SetattrArgs, Time, WccData};
use vfs::SetAttributes;

use super::convert;
use super::reply::Nfs3Result;
use super::wcc::Wcc;
use crate::fault::Fault;
use crate::node::CallContext;
use crate::set_attributes;

pub(super) fn setattr(cx: &CallContext<'_>, args: &SetattrArgs) -> Nfs3Result<WccData, WccData> {
    let node = cx.node(args.object.as_bytes())?;
    let wcc = Wcc::begin(&node)?;
    let result = convert::set_attributes(&args.attributes)
        .map_err(Fault::from)
        .and_then(|set| set_guarded(&wcc, &set, args.guard));
    match result {
        Ok(after) => Ok(wcc.data_with(Some(after))),
        Err(fault) => Err(fault.with(|| wcc.data())),
    }
}

fn set_guarded(wcc: &Wcc<'_>, set: &SetAttributes, guard: Option<Time>) -> Result<vfs::Attributes, Fault> {
    let before = wcc.before()?;
    if guard.is_some_and(|guard| guard != convert::time(before.changed)) {
        return Err(Fault::NotSync);
    }
    wcc.node().require_unreserved_for(set)?;
    set_attributes::set(wcc.node(), &before, set)
}
