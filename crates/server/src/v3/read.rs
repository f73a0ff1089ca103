//! READ (RFC 1813 §3.3.6): the data is read directly behind the reply's header.

use buffer::Output;
use proto::nfs3::{PostOpAttr, ReadArgs, ReadHead, Status};
use state::AccessKind;
use vfs::Attributes;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::convert;
use super::reply::{Nfs3Result, finish_in_place};
use crate::fault::{Fault, NoResults};
use crate::node::{CallContext, Node};
use crate::transfer::{self, ReadPart, Readable};

/// Status, attributes (a boolean and 84 bytes), count, eof, and the length of the data.
const HEAD_BYTES: usize = 4 + 4 + 84 + 4 + 4 + 4;

pub(super) fn run(cx: &CallContext<'_>, mut from: Decoder<'_>, output: &mut Output) -> Result<(), NoResults> {
    let args = ReadArgs::decode(&mut from)?;
    finish_in_place(output, |output| read(cx, &args, output))
}

fn read(cx: &CallContext<'_>, args: &ReadArgs, output: &mut Output) -> Nfs3Result<(), PostOpAttr> {
    let node = cx.node(args.file.as_bytes())?;
    let open = node.require_unreserved(AccessKind::Read).and_then(|()| transfer::open_for_read(&node));
    let file = open.map_err(|fault| fault.with(|| convert::post_op(&node)))?;
    let wanted = args.count.min(transfer::max_reply_bytes(cx)) as usize;
    let part = ReadPart { offset_bytes: args.offset, wanted };
    read_open(&node, &file, part, output).map_err(|fault| fault.with(|| convert::post_op(&node)))
}

fn read_open(node: &Node<'_>, open: &Readable, part: ReadPart, output: &mut Output) -> Result<(), Fault> {
    if let Some(file_part) = transfer::file_part(node, open, part, output) {
        put_head(node, &open.attributes, file_part.count, file_part.is_last, output);
        transfer::put_file_part(file_part, output);
        return Ok(());
    }
    let read = transfer::read_in_place(node, open, part, HEAD_BYTES, output)?;
    put_head(node, &read.attributes, read.count, read.is_last, output);
    transfer::put_in_place(read.count, output);
    Ok(())
}

#[inline(always)]
fn put_head(node: &Node<'_>, attributes: &Attributes, count: usize, eof: bool, output: &mut Output) {
    let attributes = Some(convert::fattr(node, attributes));
    let mut to = Encoder::new(&mut output.bytes);
    Status::Ok.encode(&mut to);
    ReadHead { attributes, count: count as u32, eof }.encode(&mut to);
}
