//! GETATTR (RFC 7530 §16.7, RFC 8881 §18.7).

use buffer::Output;
use proto::nfs4::{Attribute, Bitmap, GetattrArgs};
use xdr::Encoder;

use super::attributes::{self, Subject};
use super::compound::Compound;
use super::failure::OpResult;

/// The attributes that the holder of a write delegation may have changed.
const OF_THE_HOLDER: Bitmap = {
    use Attribute as A;
    Attribute::set(&[A::Change, A::Size, A::TimeMetadata, A::TimeModify])
};

pub(super) fn run(compound: &mut Compound<'_>, args: &GetattrArgs, output: &mut Output) -> OpResult<()> {
    attributes::require_readable(args.request)?;
    let attributes = compound.current_attributes()?;
    let mut subject = Subject::new(compound, &compound.current()?, attributes);
    if !args.request.intersection(OF_THE_HOLDER).is_empty() {
        subject.attributes = subject.node.true_attributes(&subject.attributes)?;
    }
    attributes::write(compound, &subject, args.request, &mut Encoder::new(&mut output.bytes))
}
