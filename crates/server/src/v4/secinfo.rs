//! SECINFO and SECINFO_NO_NAME (RFC 7530 §16.31, RFC 8881 §18.29, §18.45): the flavours that an export accepts.

use buffer::Output;
use proto::nfs4::{Flavor, SecinfoArgs, SecinfoOk, SecinfoStyle};
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::failure::OpResult;
use super::{lookup, lookupp};

pub(super) fn by_name(compound: &mut Compound<'_>, args: &SecinfoArgs<'_>, output: &mut Output) -> OpResult<()> {
    let dir = compound.current()?;
    lookup::require_searchable(&dir, compound.current_attributes()?)?;
    let name = vfs::Name::new(args.name.0)?;
    lookup::find(compound.cx, &dir, name)?;
    finish(compound, output)
}

pub(super) fn no_name(compound: &mut Compound<'_>, style: &SecinfoStyle, output: &mut Output) -> OpResult<()> {
    if *style == SecinfoStyle::Parent {
        lookupp::parent(compound.cx, &compound.current()?)?;
    }
    finish(compound, output)
}

/// In NFSv4.1, both clear the current file handle (RFC 8881 §2.6.3.1.1.8).
fn finish(compound: &mut Compound<'_>, output: &mut Output) -> OpResult<()> {
    let flavors = vec![Flavor::Plain(rpc::Flavor::SYS.0), Flavor::Plain(rpc::Flavor::NONE.0)];
    SecinfoOk { flavors }.encode(&mut Encoder::new(&mut output.bytes));
    if compound.progress.minor.has_sessions() {
        compound.current = None;
    }
    Ok(())
}
