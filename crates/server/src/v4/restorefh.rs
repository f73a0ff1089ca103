//! RESTOREFH (RFC 7530 §16.29, RFC 8881 §18.27).

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn restorefh(compound: &mut Compound<'_>, (): &()) -> OpResult<()> {
    compound.current = compound.saved;
    let progress = &mut compound.progress;
    progress.current_stateid = progress.saved_stateid;
    Ok(())
}
