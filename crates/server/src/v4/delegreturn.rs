//! DELEGRETURN (RFC 7530 §16.6, RFC 8881 §18.6).

use proto::nfs4::DelegreturnArgs;

use super::compound::Compound;
use super::failure::OpResult;
use super::state_error::inner;

pub(super) fn delegreturn(compound: &mut Compound<'_>, args: &DelegreturnArgs) -> OpResult<()> {
    let (scope, stateid) = (compound.stateid_scope()?, inner(&compound.stateid(&args.stateid)?));
    let file = compound.current()?.file_key();
    Ok(compound.cx.server.state.delegreturn(compound.cx.request.now, scope, &stateid, &file)?)
}
