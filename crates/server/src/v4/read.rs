//! READ (RFC 7530 §16.23, RFC 8881 §18.22): the data is read directly behind the results' header.

use buffer::Output;
use proto::nfs4::{ReadArgs, ReadHead};
use state::{IoKind, StateidScope};
use xdr::{Encode, Encoder};

use super::compound::{Compound, check_io};
use super::copies::{CopyNotice, CopyNotices};
use super::failure::{Failure, OpResult};
use crate::node::{CallContext, Node};
use crate::request::Request;
use crate::transfer::{self, ReadPart};

/// eof, and the length of the data.
const HEAD_BYTES: usize = 4 + 4;

pub(super) fn run(compound: &mut Compound<'_>, args: &ReadArgs, output: &mut Output) -> OpResult<()> {
    let node = compound.current()?;
    match compound.check_io(&node, &args.stateid, IoKind::Read) {
        Ok(()) => read(compound, &node, args, output),
        Err(refusal) => read_noticed(compound, args, refusal, output),
    }
}

/// Reads a file after the stateid was checked.
fn read(compound: &Compound<'_>, node: &Node<'_>, args: &ReadArgs, output: &mut Output) -> OpResult<()> {
    let open = transfer::open_for_read(node)?;
    let wanted = args.count.min(compound.max_data_bytes(output)?) as usize;
    let part = ReadPart { offset_bytes: args.offset, wanted };
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

/// READ under a stateid from COPY_NOTIFY; `refusal` is the error for any other stateid.
fn read_noticed(compound: &Compound<'_>, args: &ReadArgs, refusal: Failure, output: &mut Output) -> OpResult<()> {
    if !CopyNotices::may_be_one(&args.stateid) {
        return Err(refusal);
    }
    let cx = compound.cx;
    let file = compound.current()?;
    let key = file.file_key();
    let (reader, now) = (cx.request.peer.address.ip(), cx.request.now);
    let CopyNotice { asker, source, .. } = cx.server.copy_notices.reading(&args.stateid, &key, reader, now)?;
    let request = Request { peer: asker.peer, ..*cx.request };
    let cx = CallContext { request: &request, identity: asker.identity, waits_for: cx.waits_for.clone(), ..*cx };
    let node = cx.node_of(file.exported, file.handle)?;
    check_io(StateidScope::V41(asker.client), &node, &source.newest_stateid(), IoKind::Read)?;
    read(compound, &node, args, output)
}
