//! OPEN_DOWNGRADE (RFC 7530 §16.19, RFC 8881 §18.18).

use proto::nfs4::{OpenDowngradeArgs, Stateid, Status};
use state::{Share, ShareDeny};

use super::compound::Compound;
use super::failure::OpResult;
use super::open;
use super::state_error::{inner, outer};

pub(super) fn open_downgrade(compound: &mut Compound<'_>, args: &OpenDowngradeArgs) -> OpResult<Stateid> {
    let access = open::access(compound, args.share_access)?;
    let deny = ShareDeny::from_bits(args.share_deny).ok_or(Status::Inval)?;
    let (scope, stateid) = (compound.stateid_scope()?, inner(&compound.stateid(&args.stateid)?));
    let file = compound.current()?.file_key();
    let (state, now) = (&compound.cx.server.state, compound.cx.request.now);
    let downgraded = outer(&state.open_downgrade(now, scope.of(&stateid), &file, Share { access, deny })?);
    compound.progress.current_stateid = Some(downgraded);
    Ok(downgraded)
}
