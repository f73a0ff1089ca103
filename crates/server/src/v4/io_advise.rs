//! IO_ADVISE (RFC 7862 §15.5): the reply lists the hints that the server follows, which are none.

use proto::nfs4::{Bitmap, IoAdviseArgs, Status};
use state::IoKind;

use super::compound::Compound;
use super::failure::OpResult;
use crate::transfer;

pub(super) fn io_advise(compound: &mut Compound<'_>, args: &IoAdviseArgs) -> OpResult<Bitmap> {
    if args.offset.checked_add(args.count).is_none() {
        return Err(Status::Inval.into());
    }
    let node = compound.current()?;
    compound.check_io(&node, &args.stateid, IoKind::Read)?;
    transfer::open_for_read(&node)?;
    Ok(Bitmap::EMPTY)
}
