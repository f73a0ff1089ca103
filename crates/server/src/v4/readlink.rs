//! READLINK (RFC 7530 §16.25, RFC 8881 §18.24).

use buffer::Output;
use proto::nfs4::ReadlinkOk;
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn run(compound: &mut Compound<'_>, output: &mut Output) -> OpResult<()> {
    let node = compound.current()?;
    let target = node.fs().read_link(&node.context, &node.handle)?;
    ReadlinkOk { target: &target }.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}
