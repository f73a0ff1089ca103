//! LINK (RFC 7530 §16.9, RFC 8881 §18.9): adds a name in the current directory to the saved file.

use proto::nfs4::{ChangeInfo, LinkArgs, OpNumber};

use super::change::DirChange;
use super::compound::Compound;
use super::failure::OpResult;
use super::resent::{Noted, noted};
use crate::link;

pub(super) fn link(compound: &mut Compound<'_>, args: &LinkArgs<'_>) -> OpResult<ChangeInfo> {
    noted(compound, OpNumber::Link, args, |compound, noted| link_noted(compound, args, noted))
}

fn link_noted(compound: &mut Compound<'_>, args: &LinkArgs<'_>, noted: &Noted<'_>) -> OpResult<ChangeInfo> {
    let (file, dir) = (compound.saved()?, noted.on(compound.current()?));
    let name = vfs::Name::new(args.new_name.0)?;
    let change = DirChange::begin(&dir)?;
    link::link(&file, &dir, Ok(change.before()), name.as_bytes())?;
    Ok(change.info(&dir))
}
