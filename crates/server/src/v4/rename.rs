//! RENAME (RFC 7530 §16.27, RFC 8881 §18.26): from the saved directory to the current one.

use proto::nfs4::{OpNumber, RenameArgs, RenameOk};

use super::change::DirChange;
use super::compound::Compound;
use super::failure::OpResult;
use super::resent::{Noted, noted};
use crate::unlink::{self, NameIn};

pub(super) fn rename(compound: &mut Compound<'_>, args: &RenameArgs<'_>) -> OpResult<RenameOk> {
    noted(compound, OpNumber::Rename, args, |compound, noted| rename_noted(compound, args, noted))
}

fn rename_noted(compound: &mut Compound<'_>, args: &RenameArgs<'_>, noted: &Noted<'_>) -> OpResult<RenameOk> {
    let (from, to) = (noted.on(compound.saved()?), compound.current()?);
    let (old, new) = (vfs::Name::new(args.old_name.0)?, vfs::Name::new(args.new_name.0)?);
    let from_change = DirChange::begin(&from)?;
    let is_other = from.handle != to.handle || !from.shares_export(&to);
    let to_change = if is_other { Some(DirChange::begin(&to)?) } else { None };
    let to_before = to_change.as_ref().unwrap_or(&from_change).before();
    unlink::rename(
        NameIn { dir: &from, attributes: Ok(from_change.before()), name: old.as_bytes() },
        NameIn { dir: &to, attributes: Ok(to_before), name: new.as_bytes() },
    )?;
    let source = from_change.info(&from);
    Ok(RenameOk { source, target: to_change.map_or(source, |change| change.info(&to)) })
}
