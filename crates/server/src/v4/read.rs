//! READ (RFC 7530 §16.23, RFC 8881 §18.22): the file is read right behind the place where the results' head will stand.

use buffer::Output;
use proto::nfs4::{ReadArgs, ReadHead};
use state::IoKind;
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::copy_notify;
use super::failure::Outcome;
use crate::node::Node;
use crate::transfer::{self, Piece};

/// eof, and the length of the data.
const HEAD_BYTES: usize = 4 + 4;

pub(super) fn run(compound: &mut Compound<'_>, args: &ReadArgs, output: &mut Output) -> Outcome<()> {
    let node = compound.current()?;
    match compound.check_io(&node, &args.stateid, IoKind::Read) {
        Ok(()) => read(compound, &node, args, output),
        Err(refusal) => copy_notify::read_noticed(compound, args, refusal, output),
    }
}

/// Reads a file that the caller may read under the stateid.
pub(super) fn read(compound: &Compound<'_>, node: &Node<'_>, args: &ReadArgs, output: &mut Output) -> Outcome<()> {
    let open = transfer::open_for_read(node)?;
    let wanted = args.count.min(transfer::max_bytes(compound.cx)) as usize;
    if compound.may_send_from_file()
        && let Some(piece) = transfer::piece(node, &open, (args.offset, wanted), output)
    {
        send(piece, output);
        return Ok(());
    }
    let space = output.bytes.space(HEAD_BYTES + xdr::padded(wanted));
    let into = &mut space[HEAD_BYTES..HEAD_BYTES + wanted];
    let count = transfer::read_at(node, &*open.file, args.offset, into)?;
    let attributes = transfer::attributes_after_read(node, &open, args.offset, (count, wanted))?;
    let eof = count < wanted || args.offset.saturating_add(count as u64) >= attributes.size_bytes;
    let mut to = Encoder::new(&mut output.bytes);
    ReadHead { eof }.encode(&mut to);
    to.count(count);
    to.buffer().advance(count);
    to.pad(count);
    Ok(())
}

/// The bytes are left in the file, and sent from there.
fn send(piece: Piece, output: &mut Output) {
    let mut to = Encoder::new(&mut output.bytes);
    ReadHead { eof: piece.is_last }.encode(&mut to);
    to.count(piece.count);
    output.put_file(piece.file, piece.offset_bytes, piece.count);
    Encoder::new(&mut output.bytes).pad(piece.count);
}
