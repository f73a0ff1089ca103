//! NFSACL version 3: GETACL and SETACL of NFSv3's files.

use proto::nfs3::PostOpAttr;
use proto::nfsacl::{Getacl3Args, Getacl3Ok, Setacl3Args};

use super::convert;
use super::reply::Nfs3Result;
use crate::fault::Fault;
use crate::node::CallContext;
use crate::secattr;

pub(super) fn getacl(cx: &CallContext<'_>, args: &Getacl3Args) -> Nfs3Result<Getacl3Ok, PostOpAttr> {
    let node = cx.node(args.object.as_bytes())?;
    let attributes = node.attributes()?;
    let post_op = || Some(convert::fattr(&node, &attributes));
    let acls = secattr::get(&node, &attributes, args.mask).map_err(|fault| fault.with(post_op))?;
    Ok(Getacl3Ok { attributes: post_op(), acls })
}

pub(super) fn setacl(cx: &CallContext<'_>, args: &Setacl3Args) -> Nfs3Result<PostOpAttr, PostOpAttr> {
    let node = cx.node(args.object.as_bytes())?;
    let _change = node.begin_change()?;
    let before = node.attributes().map_err(Fault::from)?;
    match secattr::set(&node, &before, &args.acls) {
        Ok(()) => Ok(convert::post_op(&node)),
        Err(fault) => Err(fault.with(|| convert::post_op(&node))),
    }
}
