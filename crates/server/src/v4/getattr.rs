//! GETATTR (RFC 7530 §16.7, RFC 8881 §18.7).

use buffer::Output;
use proto::nfs4::{Attribute, Bitmap, GetattrArgs, Status};
use xdr::Encoder;

use super::attributes::{self, Subject};
use super::compound::{Compound, CompoundFile};
use super::failure::OpResult;

/// The attributes that the holder of a write delegation may have changed.
const OF_THE_HOLDER: Bitmap = {
    use Attribute as A;
    Attribute::set(&[A::Change, A::Size, A::TimeMetadata, A::TimeModify])
};

pub(super) fn run(compound: &mut Compound<'_>, args: &GetattrArgs, output: &mut Output) -> OpResult<()> {
    attributes::require_readable(args.request)?;
    compound.current_attributes()?;
    let Some(CompoundFile { node, attributes: Some(stored) }) = &compound.current else {
        return Err(Status::NoFileHandle.into());
    };
    let of_holder = match args.request.intersection(OF_THE_HOLDER).is_empty() {
        true => None,
        false => node.attributes_of_holder(stored)?,
    };
    let subject = Subject::new(compound, node, of_holder.as_ref().unwrap_or(stored));
    attributes::write(compound, &subject, args.request, &mut Encoder::new(&mut output.bytes))
}
