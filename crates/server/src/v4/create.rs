//! CREATE: everything but regular files (RFC 7530 §16.4, RFC 8881 §18.4).

use proto::nfs4::{CreateArgs, CreateOk, CreateType, OpNumber, SpecData, Status};
use vfs::{Device, NewNode};

use super::change::DirChange;
use super::compound::Compound;
use super::failure::{Failure, OpResult};
use super::resent::{Noted, noted};
use super::set::{For, NewAttributes};
use crate::make;

pub(super) fn create(compound: &mut Compound<'_>, args: &CreateArgs<'_>) -> OpResult<CreateOk> {
    noted(compound, OpNumber::Create, args, |compound, noted| create_noted(compound, args, noted))
}

fn create_noted(compound: &mut Compound<'_>, args: &CreateArgs<'_>, noted: &Noted<'_>) -> OpResult<CreateOk> {
    let new = node(&args.kind)?;
    let dir = noted.on(compound.current()?);
    let attributes = NewAttributes::parse(compound, &args.attributes, For { node: &dir, kind: make::kind(new) })?;
    // Only regular files have a size that can be set.
    if attributes.set.size_bytes.is_some() {
        return Err(Status::Inval.into());
    }
    let at_birth = attributes.at_birth();
    let name = vfs::Name::new(args.name.0)?;
    let change = DirChange::begin(&dir)?;
    let made =
        make::make(&dir, Ok(change.before()), name.as_bytes(), |dir, place| make::node(dir, place, new, &at_birth))?;
    let (made, attributes_set) = attributes.finish(&dir, made)?;
    let results = CreateOk { change: change.info(&dir), attributes_set };
    drop(change);
    compound.set_current_sibling(made.handle);
    Ok(results)
}

fn node<'a>(kind: &CreateType<'a>) -> OpResult<NewNode<'a>> {
    let numbers = |device: SpecData| Device { major: device.major, minor: device.minor };
    match *kind {
        CreateType::Directory => Ok(NewNode::Directory),
        CreateType::BlockDevice(device) => Ok(NewNode::BlockDevice(numbers(device))),
        CreateType::CharDevice(device) => Ok(NewNode::CharDevice(numbers(device))),
        CreateType::Symlink(target) => Ok(NewNode::Symlink(target)),
        CreateType::Socket => Ok(NewNode::Socket),
        CreateType::Fifo => Ok(NewNode::Fifo),
        CreateType::Other => Err(Failure::Status(Status::BadType)),
    }
}
