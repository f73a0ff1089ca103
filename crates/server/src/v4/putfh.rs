//! PUTFH (RFC 7530 §16.20, RFC 8881 §18.19).

use proto::nfs4::PutfhArgs;

use super::compound::Compound;
use super::failure::Outcome;
use crate::fault::Fault;

pub(super) fn putfh(compound: &mut Compound<'_>, args: &PutfhArgs) -> Outcome<()> {
    let (exported, handle) = compound.cx.exports.resolve(args.object.as_bytes()).map_err(Fault::from)?;
    let exported = exported.clone();
    compound.set_current(&exported, handle)
}
