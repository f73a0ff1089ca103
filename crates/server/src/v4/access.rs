//! ACCESS (RFC 7530 §16.1, RFC 8881 §18.1), and its bits for extended attributes (RFC 8276 §8.5).

use proto::nfs4::{
    ACCESS_EXTEND, ACCESS_MODIFY, ACCESS_READ, ACCESS_XALIST, ACCESS_XAREAD, ACCESS_XAWRITE, AccessArgs, AccessOk,
    MinorVersion,
};
use vfs::FileKind;

use super::compound::Compound;
use super::failure::OpResult;
use crate::access;
use crate::node::Node;

pub(super) fn access(compound: &mut Compound<'_>, args: &AccessArgs) -> OpResult<AccessOk> {
    let node = compound.current()?;
    let attributes = *compound.current_attributes()?;
    let with_xattrs = has_xattrs(compound, &node, attributes.kind);
    let all = |bits| if with_xattrs { bits | of_xattrs(bits) } else { bits };
    let applicable = access::applicable(attributes.kind);
    let supported = args.access & all(applicable);
    Ok(AccessOk { supported, access: supported & all(access::granted(&node, &attributes, applicable)?) })
}

fn has_xattrs(compound: &Compound<'_>, node: &Node<'_>, kind: FileKind) -> bool {
    compound.progress.minor >= MinorVersion::V2
        && matches!(kind, FileKind::Regular | FileKind::Directory)
        && node.properties().xattrs
}

/// Read permission includes reading and listing extended attributes; write permission includes changing them.
fn of_xattrs(bits: u32) -> u32 {
    let read = if bits & ACCESS_READ == 0 { 0 } else { ACCESS_XAREAD | ACCESS_XALIST };
    let write = if bits & (ACCESS_MODIFY | ACCESS_EXTEND) == 0 { 0 } else { ACCESS_XAWRITE };
    read | write
}
