//! SETATTR (RFC 7530 §16.32, RFC 8881 §18.30). The mask of what was set stands in every reply, also in that of a failure.

use buffer::{Buffer, Output};
use proto::nfs4::{Bitmap, SetattrArgs, Status};
use state::IoKind;
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::failure::{Failure, Outcome};
use super::set::NewAttributes;
use crate::set_attributes;

pub(super) fn run(compound: &mut Compound<'_>, args: &SetattrArgs<'_>, output: &mut Output) -> Outcome<()> {
    match setattr(compound, args) {
        Ok(mask) => {
            mask.encode(&mut Encoder::new(&mut output.bytes));
            Ok(())
        }
        Err(Failure::Status(status)) => Err(nothing_set(status)),
        Err(failure) => Err(failure),
    }
}

fn setattr(compound: &Compound<'_>, args: &SetattrArgs<'_>) -> Outcome<Bitmap> {
    let new = NewAttributes::parse(&args.attributes, compound.progress.minor)?;
    let node = compound.current()?;
    let before = node.attributes()?;
    if new.set.size_bytes.is_some() {
        compound.check_io(&node, &args.stateid, IoKind::Write)?;
    }
    set_attributes::set(&node, &before, &new.set)?;
    Ok(new.mask)
}

fn nothing_set(status: Status) -> Failure {
    let mut body = Buffer::new();
    Bitmap::EMPTY.encode(&mut Encoder::new(&mut body));
    Failure::Explained(status, body.as_slice().to_vec())
}
