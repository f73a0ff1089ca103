//! RENEW (RFC 7530 §16.28).

use proto::nfs4::RenewArgs;

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn renew(compound: &mut Compound<'_>, args: &RenewArgs) -> OpResult<()> {
    Ok(compound.cx.server.state.renew(compound.cx.request.now, state::ClientId(args.client.0))?)
}
