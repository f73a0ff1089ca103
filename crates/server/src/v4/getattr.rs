//! GETATTR (RFC 7530 §16.7, RFC 8881 §18.7).

use buffer::Output;
use proto::nfs4::{Attribute, AttributeAccess, GetattrArgs, Status};
use xdr::Encoder;

use super::attributes::{self, Subject};
use super::compound::Compound;
use super::failure::Outcome;

pub(super) fn run(compound: &mut Compound<'_>, args: &GetattrArgs, output: &mut Output) -> Outcome<()> {
    let is_write_only = |number| {
        Attribute::from_number(number).is_some_and(|attribute| attribute.info().access == AttributeAccess::Set)
    };
    if args.request.iter().any(is_write_only) {
        return Err(Status::Inval.into());
    }
    let subject = Subject::look(compound, &compound.current()?)?;
    attributes::write(compound, &subject, args.request, &mut Encoder::new(&mut output.bytes))
}
