//! READ (RFC 1094 §2.2.7): the data is read directly behind the reply's header.

use buffer::Output;
use proto::nfs2::{MAX_DATA_BYTES, ReadArgs, ReadHead, Status};
use state::AccessKind;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::convert;
use super::reply::{Nfs2Result, finish};
use crate::fault::NoResults;
use crate::node::CallContext;
use crate::transfer::{self, ReadPart};

/// Status, attributes, and the length of the data.
const HEAD_BYTES: usize = 4 + 68 + 4;

pub(super) fn run(cx: &CallContext<'_>, mut from: Decoder<'_>, output: &mut Output) -> Result<(), NoResults> {
    let args = ReadArgs::decode(&mut from)?;
    match read(cx, &args, output) {
        Ok(()) => Ok(()),
        Err(fault) => finish(Nfs2Result::<()>::Err(fault), output),
    }
}

fn read(cx: &CallContext<'_>, args: &ReadArgs, output: &mut Output) -> Nfs2Result<()> {
    let node = cx.node(&args.file.0)?;
    node.require_unreserved(AccessKind::Read)?;
    let open = transfer::open_for_read(&node)?;
    let wanted = (args.count as usize).min(MAX_DATA_BYTES);
    let part = ReadPart { offset_bytes: args.offset.into(), wanted };
    let read = transfer::read_in_place(&node, &open, part, HEAD_BYTES, output)?;
    let mut to = Encoder::new(&mut output.bytes);
    Status::Ok.encode(&mut to);
    ReadHead { attributes: convert::fattr(&node, &read.attributes) }.encode(&mut to);
    transfer::put_in_place(read.count, output);
    Ok(())
}
