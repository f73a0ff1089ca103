//! LINK (RFC 7530 §16.9, RFC 8881 §18.9): the saved file gets a name in the current directory.

use proto::nfs4::{ChangeInfo, LinkArgs};

use super::change::DirChange;
use super::compound::Compound;
use super::failure::Outcome;
use crate::link;

pub(super) fn link(compound: &mut Compound<'_>, args: &LinkArgs<'_>) -> Outcome<ChangeInfo> {
    let (file, dir) = (compound.saved()?, compound.current()?);
    let name = vfs::Name::new(args.new_name.0)?;
    let change = DirChange::begin(&dir)?;
    link::link(&file, &dir, name.as_bytes())?;
    Ok(change.info(&dir))
}
