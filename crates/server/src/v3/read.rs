//! READ (RFC 1813 §3.3.6): the file is read right behind the place where the reply's head will stand.

use buffer::Output;
use proto::nfs3::{PostOpAttr, ReadArgs, ReadHead, Status};
use state::AccessKind;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::{Outcome, convert, finish_in_place};
use crate::fault::{Fault, Stop};
use crate::node::{CallContext, Node};
use crate::transfer::{self, Piece};

/// Status, attributes (a boolean and 84 bytes), count, eof, and the length of the data.
const HEAD_BYTES: usize = 4 + 4 + 84 + 4 + 4 + 4;

pub(super) fn run(cx: &CallContext<'_>, mut from: Decoder<'_>, output: &mut Output) -> Result<(), Stop> {
    let args = ReadArgs::decode(&mut from)?;
    finish_in_place(output, |output| read(cx, &args, output))
}

fn read(cx: &CallContext<'_>, args: &ReadArgs, output: &mut Output) -> Outcome<(), PostOpAttr> {
    let node = cx.node(args.file.as_bytes())?;
    let open = node.require_unreserved(AccessKind::Read).and_then(|()| transfer::open_for_read(&node));
    let file = open.map_err(|fault| fault.with(|| convert::post_op(&node)))?;
    let wanted = args.count.min(transfer::max_bytes(cx)) as usize;
    read_open(&node, &file, args.offset, wanted, output).map_err(|fault| fault.with(|| convert::post_op(&node)))
}

fn read_open(
    node: &Node<'_>,
    open: &transfer::Readable,
    offset_bytes: u64,
    wanted: usize,
    output: &mut Output,
) -> Result<(), Fault> {
    if let Some(piece) = transfer::piece(node, open, (offset_bytes, wanted), output) {
        read_from_file(node, open, piece, output);
        return Ok(());
    }
    let space = output.bytes.space(HEAD_BYTES + xdr::padded(wanted));
    let into = &mut space[HEAD_BYTES..HEAD_BYTES + wanted];
    let count = transfer::read_at(node, &*open.file, offset_bytes, into)?;
    let attributes = transfer::attributes_after_read(node, open, offset_bytes, (count, wanted))?;
    let eof = count < wanted || offset_bytes.saturating_add(count as u64) >= attributes.size_bytes;
    let mut to = Encoder::new(&mut output.bytes);
    Status::Ok.encode(&mut to);
    ReadHead { attributes: Some(convert::fattr(node, &attributes)), count: count as u32, eof }.encode(&mut to);
    to.count(count);
    to.buffer().advance(count);
    to.pad(count);
    Ok(())
}

/// The bytes are left in the file, and sent from there.
fn read_from_file(node: &Node<'_>, open: &transfer::Readable, piece: Piece, output: &mut Output) {
    let head = ReadHead {
        attributes: Some(convert::fattr(node, &open.attributes)),
        count: piece.count as u32,
        eof: piece.is_last,
    };
    let mut to = Encoder::new(&mut output.bytes);
    Status::Ok.encode(&mut to);
    head.encode(&mut to);
    to.count(piece.count);
    output.put_file(piece.file, piece.offset_bytes, piece.count);
    Encoder::new(&mut output.bytes).pad(piece.count);
}
