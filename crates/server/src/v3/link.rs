//! LINK (RFC 1813 §3.3.15).

use proto::nfs3::{LinkArgs, LinkAttributes};

use super::convert;
use super::reply::Nfs3Result;
use super::wcc::Wcc;
use crate::link;
use crate::node::CallContext;

pub(super) fn link(cx: &CallContext<'_>, args: &LinkArgs<'_>) -> Nfs3Result<LinkAttributes, LinkAttributes> {
    let file = cx.node(args.file.as_bytes())?;
    let dir = cx.node(args.link.dir.as_bytes())?;
    let wcc = Wcc::begin(&dir)?;
    let data = || LinkAttributes { file: convert::post_op(&file), dir_wcc: wcc.data() };
    match link::link(&file, &dir, wcc.before(), args.link.name) {
        Ok(()) => Ok(data()),
        Err(fault) => Err(fault.with(data)),
    }
}
