//! READ_PLUS (RFC 7862 §15.10): data and holes, according to the file system's extents.
//!
//! # How holes are found
//!
//! Large holes are sought and never read, since reading them fills memory with pages of zeros. At the first small hole
//! the seeking ends, and the rest of the range is read at once to its place in the reply. There, each run of zeros is a
//! hole, without a seek: a hole is a range of zeros in a sparse file, with or without space (RFC 7862 §6.1), and a
//! server SHOULD return zeros as a hole (§15.10.3). A seek for each hole of 4 KiB costs more than sending its zeros.
//!
//! # Why holes in a reply are correct
//!
//! Zeros that were read are as correct as other bytes that were read, whatever happens to the file meanwhile. A hole
//! that was sought and not read, however, may have been filled, or the file may have been truncated. So after the last
//! read, the server seeks every such hole again, and then fetches the size. If no data is found in a hole and the file
//! is still long enough, its bytes were zeros at a moment after the last read. So no reply shows a later write beside a
//! hole that an earlier write had filled. If any check fails, the whole reply is rebuilt as one data segment, as from
//! READ. There is no loop.

mod extents;
mod zeros;

use std::ops::Range;

use buffer::Output;
use proto::nfs4::{ReadPlusArgs, ReadPlusDataHead, ReadPlusHead, ReadPlusSegment, Status};
use state::IoKind;
use vfs::Seek;
use xdr::{Encode, Encoder};

use self::extents::Extent;
use super::compound::Compound;
use super::failure::OpResult;
use crate::node::Node;
use crate::server::ReadPlusMode;
use crate::transfer::{self, Readable};

/// The most holes of one reply among zeros that were read. The rest is data.
const MAX_SMALL_HOLES: u32 = 128;

/// The bytes of a data segment before its data: kind, offset and length.
const DATA_HEAD_BYTES: usize = 4 + 8 + 4;

pub(super) fn run(compound: &mut Compound<'_>, args: &ReadPlusArgs, output: &mut Output) -> OpResult<()> {
    let mode = compound.cx.server.settings.read_plus;
    if mode == ReadPlusMode::None {
        return Err(Status::NotSupp.into());
    }
    let node = compound.current()?;
    compound.check_io(&node, &args.stateid, IoKind::Read)?;
    let open = transfer::open_for_read(&node)?;
    let count = u64::from(args.count.min(compound.max_data_bytes(output)?));
    let size_bytes = open.attributes.size_bytes;
    let range = args.offset..args.offset.saturating_add(count).min(size_bytes).max(args.offset);
    let extents = if mode == ReadPlusMode::Data { None } else { extents::find(&node, &open, &range)? };
    let mark = output.mark();
    let mut reply = SegmentWriter::new(node, open, mode, output);
    let holds = match &extents {
        Some(extents) => reply.put(extents, range.start)? && reply.holds(extents)?,
        None => false,
    };
    if !holds {
        reply.output.rewind(&mark);
        reply.segments = 0;
        reply.put(&[Extent::Data(range.clone())], range.start)?;
    }
    Ok(())
}

/// A reply in progress.
struct SegmentWriter<'r> {
    node: Node<'r>,
    open: Readable,
    mode: ReadPlusMode,
    segments: u32,
    /// How many more holes the bytes that were read may have.
    small_holes_left: u32,
    output: &'r mut Output,
}

impl<'r> SegmentWriter<'r> {
    fn new(node: Node<'r>, open: Readable, mode: ReadPlusMode, output: &'r mut Output) -> SegmentWriter<'r> {
        SegmentWriter { node, open, mode, segments: 0, small_holes_left: MAX_SMALL_HOLES, output }
    }

    /// Appends all extents from `start` on; returns whether each was complete.
    fn put(&mut self, extents: &[Extent], start: u64) -> OpResult<bool> {
        let head = self.output.bytes.len();
        ReadPlusHead { eof: false, segments: 0 }.encode(&mut Encoder::new(&mut self.output.bytes));
        let (mut end, mut is_whole) = (start, true);
        for extent in extents {
            let (wanted, found) = match extent {
                Extent::Hole(hole) => {
                    self.put_hole(hole);
                    (hole.end, hole.end)
                }
                Extent::Data(range) if self.mode != ReadPlusMode::Zeros => (range.end, self.read(range)?),
                Extent::Data(range) | Extent::Mixed(range) => (range.end, self.read_mixed(range)?),
            };
            end = found;
            is_whole = found == wanted;
            if !is_whole {
                break;
            }
        }
        // The file ended early, so this is its end now.
        let eof = !is_whole || end >= self.open.attributes.size_bytes;
        let bytes = self.output.bytes.as_mut_slice();
        bytes[head..head + 4].copy_from_slice(&u32::from(eof).to_be_bytes());
        bytes[head + 4..head + 8].copy_from_slice(&self.segments.to_be_bytes());
        Ok(is_whole)
    }

    fn put_hole(&mut self, hole: &Range<u64>) {
        let segment = ReadPlusSegment::Hole { offset: hole.start, length: hole.end - hole.start };
        segment.encode(&mut Encoder::new(&mut self.output.bytes));
        self.segments += 1;
    }

    /// Appends a range as data, and returns its end.
    fn read(&mut self, range: &Range<u64>) -> OpResult<u64> {
        let count = self.read_ahead_of_head(range)?;
        self.put_data(range.start, Unsent { at: self.output.bytes.len() + DATA_HEAD_BYTES, length: count });
        Ok(range.start + count as u64)
    }

    /// Reads a range to where it belongs if it is one data segment, and returns the number of bytes.
    fn read_ahead_of_head(&mut self, range: &Range<u64>) -> OpResult<usize> {
        let wanted = (range.end - range.start) as usize;
        let space = self.output.bytes.space(DATA_HEAD_BYTES + xdr::padded(wanted));
        let into = &mut space[DATA_HEAD_BYTES..DATA_HEAD_BYTES + wanted];
        Ok(transfer::read_at(&self.node, &*self.open.file, range.start, into)?)
    }

    /// Appends a range as data and as the holes among its zeros, and returns its end. The data behind each hole moves
    /// to the front, within the reply's memory: a hole is longer than its header and the next one.
    fn read_mixed(&mut self, range: &Range<u64>) -> OpResult<u64> {
        let count = self.read_ahead_of_head(range)?;
        let read = Unsent { at: self.output.bytes.len() + DATA_HEAD_BYTES, length: count };
        let (start, end) = (range.start, range.start + count as u64);
        let part = |from: u64, to: u64| Unsent { at: read.at + (from - start) as usize, length: (to - from) as usize };
        let mut at = start;
        while let Some(hole) = self.next_hole(at, part(at, end)) {
            self.put_data(at, part(at, hole.start));
            self.put_hole(&hole);
            at = hole.end;
        }
        self.put_data(at, part(at, end));
        Ok(end)
    }

    /// The next hole among bytes that were read at `offset`.
    fn next_hole(&mut self, offset: u64, bytes: Unsent) -> Option<Range<u64>> {
        self.small_holes_left = self.small_holes_left.checked_sub(1)?;
        let run = zeros::first_run(offset, bytes.of(self.output))?;
        Some(offset + run.start as u64..offset + run.end as u64)
    }

    /// Appends a data segment of bytes that were read; none if there are none.
    fn put_data(&mut self, offset: u64, bytes: Unsent) {
        if bytes.length == 0 {
            return;
        }
        ReadPlusDataHead { offset }.encode(&mut Encoder::new(&mut self.output.bytes));
        const COUNT_BYTES: usize = 4;
        let gap = bytes.at - self.output.bytes.len() - COUNT_BYTES;
        if gap > 0 {
            let space = self.output.bytes.space(COUNT_BYTES + gap + bytes.length);
            space.copy_within(COUNT_BYTES + gap.., COUNT_BYTES);
        }
        transfer::put_in_place(bytes.length, self.output);
        self.segments += 1;
    }

    /// Whether every hole that was sought is still a hole, and the file still long enough.
    fn holds(&self, extents: &[Extent]) -> OpResult<bool> {
        let mut end = 0;
        for extent in extents {
            let Extent::Hole(hole) = extent else { continue };
            let data = self.open.file.seek(&self.node.context, hole.start, Seek::Data)?;
            if data.is_some_and(|data| data < hole.end) {
                return Ok(false);
            }
            end = hole.end;
        }
        Ok(end == 0 || self.open.file.attributes(&self.node.context)?.size_bytes >= end)
    }
}

/// Bytes that were read and do not count as written yet: where they are in the output's memory.
#[derive(Debug, Clone, Copy)]
struct Unsent {
    at: usize,
    length: usize,
}

impl Unsent {
    fn of(self, output: &mut Output) -> &[u8] {
        let gap = self.at - output.bytes.len();
        &output.bytes.space(gap + self.length)[gap..]
    }
}
