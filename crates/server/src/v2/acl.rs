//! NFSACL version 2: access lists, attributes and rights of NFSv2's files.

use proto::nfs2::Fattr;
use proto::nfsacl::{Access2Args, Access2Ok, Getacl2Args, Getacl2Ok, Setacl2Args};

use super::convert;
use super::reply::Nfs2Result;
use crate::node::CallContext;
use crate::{access, secattr};

pub(super) fn getacl(cx: &CallContext<'_>, args: &Getacl2Args) -> Nfs2Result<Getacl2Ok> {
    let node = cx.node(&args.file.0)?;
    let attributes = node.attributes()?;
    let acls = secattr::get(&node, &attributes, args.mask)?;
    Ok(Getacl2Ok { attributes: convert::fattr(&node, &attributes), acls })
}

pub(super) fn setacl(cx: &CallContext<'_>, args: &Setacl2Args) -> Nfs2Result<Fattr> {
    let node = cx.node(&args.file.0)?;
    let _change = node.begin_change()?;
    secattr::set(&node, &node.attributes()?, &args.acls)?;
    Ok(convert::fattr(&node, &node.attributes()?))
}

pub(super) fn access(cx: &CallContext<'_>, args: &Access2Args) -> Nfs2Result<Access2Ok> {
    let node = cx.node(&args.file.0)?;
    let attributes = node.attributes()?;
    let access = access::granted(&node, &attributes, args.access)?;
    Ok(Access2Ok { attributes: convert::fattr(&node, &attributes), access })
}
