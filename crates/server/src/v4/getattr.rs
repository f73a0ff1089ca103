//! GETATTR (RFC 7530 §16.7, RFC 8881 §18.7).

use buffer::Output;
use proto::nfs4::GetattrArgs;
use xdr::Encoder;

use super::attributes::{self, Subject};
use super::compound::Compound;
use super::failure::Outcome;

pub(super) fn run(compound: &mut Compound<'_>, args: &GetattrArgs, output: &mut Output) -> Outcome<()> {
    attributes::require_readable(args.request)?;
    let subject = Subject::look(compound, &compound.current()?)?;
    attributes::write(compound, &subject, args.request, &mut Encoder::new(&mut output.bytes))
}
