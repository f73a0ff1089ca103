//! SAVEFH (RFC 7530 §16.30, RFC 8881 §18.28).

use super::compound::Compound;
use super::failure::OpResult;
use super::progress::Foreign;

pub(super) fn savefh(compound: &mut Compound<'_>, (): &()) -> OpResult<()> {
    compound.saved = compound.current;
    let progress = &mut compound.progress;
    progress.saved_stateid = progress.current_stateid;
    progress.foreign = match progress.foreign {
        Some(foreign) if compound.current.is_none() => Some(Foreign { is_saved: true, ..foreign }),
        _ => None,
    };
    Ok(())
}
