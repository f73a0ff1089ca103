//! ACCESS (RFC 7530 §16.1, RFC 8881 §18.1).

use proto::nfs4::{AccessArgs, AccessOk};

use super::compound::Compound;
use super::failure::Outcome;
use crate::access;

pub(super) fn access(compound: &mut Compound<'_>, args: &AccessArgs) -> Outcome<AccessOk> {
    let node = compound.current()?;
    let attributes = node.attributes()?;
    let supported = args.access & access::applicable(attributes.kind);
    Ok(AccessOk { supported, access: supported & access::granted(&node, &attributes)? })
}
