//! OPEN_CONFIRM (RFC 7530 §16.18).

use proto::nfs4::{OpenConfirmArgs, Stateid};

use super::compound::Compound;
use super::failure::OpResult;
use super::state_error::{inner, outer};

pub(super) fn open_confirm(compound: &mut Compound<'_>, args: &OpenConfirmArgs) -> OpResult<Stateid> {
    let file = compound.current()?.file_key();
    let (state, now) = (&compound.cx.server.state, compound.cx.request.now);
    Ok(outer(&state.open_confirm(now, &inner(&args.stateid), &file)?))
}
