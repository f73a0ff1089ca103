//! VERIFY and NVERIFY (RFC 7530 §16.35, §16.15; RFC 8881 §18.31, §18.15): continue if attributes are equal, or not.

use buffer::Buffer;
use proto::nfs4::{Attribute, AttributeAccess, Fattr, NverifyArgs, Status, VerifyArgs};
use xdr::{Encode, Encoder};

use super::attributes::{self, Subject};
use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn verify(compound: &mut Compound<'_>, args: &VerifyArgs<'_>) -> OpResult<()> {
    if is_same(compound, &args.attributes)? { Ok(()) } else { Err(Status::NotSame.into()) }
}

pub(super) fn nverify(compound: &mut Compound<'_>, args: &NverifyArgs<'_>) -> OpResult<()> {
    if is_same(compound, &args.attributes)? { Err(Status::Same.into()) } else { Ok(()) }
}

/// Whether the file has these attributes, compared by their bytes.
fn is_same(compound: &mut Compound<'_>, wanted: &Fattr<'_>) -> OpResult<bool> {
    let node = compound.current()?;
    let attributes = *compound.current_attributes()?;
    let supported = attributes::supported(compound.progress.minor, &node.properties(), &attributes);
    if !wanted.mask.difference(supported).is_empty() {
        return Err(Status::AttrNotSupp.into());
    }
    let is_write_only = |number| {
        number == Attribute::RdattrError.number()
            || Attribute::from_number(number).is_some_and(|attribute| attribute.info().access == AttributeAccess::Set)
    };
    if wanted.mask.iter().any(is_write_only) {
        return Err(Status::Inval.into());
    }
    if wanted.values().any(|value| value.is_err()) {
        return Err(Status::BadXdr.into());
    }
    let subject = Subject::new(compound, &node, &attributes);
    let mut buffer = Buffer::new();
    attributes::write(compound, &subject, wanted.mask, &mut Encoder::new(&mut buffer))?;
    let mut theirs = Buffer::new();
    wanted.encode(&mut Encoder::new(&mut theirs));
    Ok(buffer.as_slice() == theirs.as_slice())
}
