//! WRITE (RFC 7530 §16.36, RFC 8881 §18.32).

use proto::nfs4::{WriteArgs, WriteOk};
use state::IoKind;

use super::compound::Compound;
use super::failure::OpResult;
use crate::stable_how::{stability, stable_how};
use crate::transfer;

pub(super) fn write(compound: &mut Compound<'_>, args: &WriteArgs<'_>) -> OpResult<WriteOk> {
    let node = compound.current()?;
    compound.check_io(&node, &args.stateid, IoKind::Write)?;
    transfer::defer_if_blocking(&node, stability(args.stable))?;
    let _change = node.announce_change();
    let verifier = node.write_verifier();
    let file = transfer::open_for_write(&node, compound.current_attributes()?)?;
    let data = transfer::writable(compound.cx, args.data);
    let written = transfer::write_at(&node, &*file, args.offset, data, stability(args.stable))?;
    Ok(WriteOk { count: written.count as u32, committed: stable_how(written.stability), verifier })
}
