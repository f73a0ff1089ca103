//! READ (RFC 7530 §16.23, RFC 8881 §18.22): the data is read directly behind the results' header.

use buffer::Output;
use proto::nfs4::{ReadArgs, ReadHead};
use state::IoKind;
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::copy_notify;
use super::failure::OpResult;
use crate::node::Node;
use crate::transfer;

/// eof, and the length of the data.
const HEAD_BYTES: usize = 4 + 4;

pub(super) fn run(compound: &mut Compound<'_>, args: &ReadArgs, output: &mut Output) -> OpResult<()> {
    let node = compound.current()?;
    match compound.check_io(&node, &args.stateid, IoKind::Read) {
        Ok(()) => read(compound, &node, args, output),
        Err(refusal) => copy_notify::read_noticed(compound, args, refusal, output),
    }
}

/// Reads a file after the stateid was checked.
pub(super) fn read(compound: &Compound<'_>, node: &Node<'_>, args: &ReadArgs, output: &mut Output) -> OpResult<()> {
    let open = transfer::open_for_read(node)?;
    let part = (args.offset, args.count.min(transfer::max_reply_bytes(compound.cx)) as usize);
    if compound.may_send_from_file()
        && let Some(file_part) = transfer::file_part(node, &open, part, output)
    {
        ReadHead { eof: file_part.is_last }.encode(&mut Encoder::new(&mut output.bytes));
        transfer::put_file_part(file_part, output);
        return Ok(());
    }
    let read = transfer::read_in_place(node, &open, part, HEAD_BYTES, output)?;
    ReadHead { eof: read.is_last }.encode(&mut Encoder::new(&mut output.bytes));
    transfer::put_in_place(read.count, output);
    Ok(())
}
