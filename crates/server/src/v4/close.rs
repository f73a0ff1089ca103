//! CLOSE (RFC 7530 §16.2, RFC 8881 §18.2).

use proto::nfs4::{CloseArgs, Stateid};

use super::compound::Compound;
use super::failure::OpResult;
use super::state_error::{inner, outer};

pub(super) fn close(compound: &mut Compound<'_>, args: &CloseArgs) -> OpResult<Stateid> {
    let (scope, stateid) = (compound.stateid_scope()?, inner(&compound.stateid(&args.open_stateid)?));
    let file = compound.current()?.file_key();
    let (state, now) = (&compound.cx.server.state, compound.cx.request.now);
    let closed = outer(&compound.cx.in_steps(|| state.close(now, scope, &stateid, &file))??);
    compound.progress.current_stateid = Some(closed);
    Ok(closed)
}
