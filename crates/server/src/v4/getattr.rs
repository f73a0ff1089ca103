//! GETATTR (RFC 7530 §16.7, RFC 8881 §18.7).

use buffer::Output;
use proto::nfs4::{Attribute, Bitmap, GetattrArgs, Status};
use vfs::{Attributes, FileKind};
use xdr::Encoder;

use super::attributes::{self, Subject};
use super::callback::Truth;
use super::compound::Compound;
use super::failure::Outcome;
use super::open::file_key;

/// The attributes that who holds a write delegation knows better than the file system.
const OF_THE_HOLDER: Bitmap = {
    use Attribute as A;
    Attribute::set(&[A::Change, A::Size, A::TimeMetadata, A::TimeModify])
};

pub(super) fn run(compound: &mut Compound<'_>, args: &GetattrArgs, output: &mut Output) -> Outcome<()> {
    attributes::require_readable(args.request)?;
    let mut subject = Subject::look(compound, &compound.current()?)?;
    if subject.attributes.kind == FileKind::Regular && !args.request.intersection(OF_THE_HOLDER).is_empty() {
        subject.attributes = compound.true_attributes(&subject)?;
    }
    attributes::write(compound, &subject, args.request, &mut Encoder::new(&mut output.bytes))
}

impl Compound<'_> {
    /// The attributes as they are, though another client may hold a write delegation and have changed the file (RFC 8881 §10.4.3).
    fn true_attributes(&self, subject: &Subject<'_>) -> Outcome<Attributes> {
        let (server, now) = (self.cx.server, self.cx.request.now);
        match server.true_attributes(&file_key(&subject.node), &subject.attributes, self.requester(), now) {
            Truth::AsStored => Ok(subject.attributes),
            Truth::Told(attributes) => Ok(attributes),
            Truth::Later => Err(Status::Delay.into()),
        }
    }
}
