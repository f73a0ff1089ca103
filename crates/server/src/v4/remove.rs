//! REMOVE: names of every kind (RFC 7530 §16.26, RFC 8881 §18.25).

use proto::nfs4::{ChangeInfo, OpNumber, RemoveArgs};

use super::change::DirChange;
use super::compound::Compound;
use super::failure::OpResult;
use super::resent::{Noted, noted};
use crate::fault::Fault;
use crate::unlink;

pub(super) fn remove(compound: &mut Compound<'_>, args: &RemoveArgs<'_>) -> OpResult<ChangeInfo> {
    noted(compound, OpNumber::Remove, args, |compound, noted| remove_noted(compound, args, noted))
}

fn remove_noted(compound: &mut Compound<'_>, args: &RemoveArgs<'_>, noted: &Noted<'_>) -> OpResult<ChangeInfo> {
    let dir = noted.on(compound.current()?);
    let name = vfs::Name::new(args.target.0)?;
    let change = DirChange::begin(&dir)?;
    match unlink::remove(&dir, Ok(change.before()), name.as_bytes()) {
        Err(Fault::File(vfs::Error::IsDirectory)) => unlink::remove_dir(&dir, Ok(change.before()), name.as_bytes())?,
        result => result?,
    }
    Ok(change.info(&dir))
}
