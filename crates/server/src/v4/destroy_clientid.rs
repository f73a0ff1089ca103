//! DESTROY_CLIENTID (RFC 8881 §18.50).

use proto::nfs4::DestroyClientidArgs;

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn destroy_clientid(compound: &mut Compound<'_>, args: &DestroyClientidArgs) -> OpResult<()> {
    Ok(compound.cx.server.state.destroy_clientid(state::ClientId(args.client.0))?)
}
