//! READ_PLUS (RFC 7862 §15.10): data and holes, according to the file system's extents.
//!
//! # Why holes in a reply are correct
//!
//! The server first seeks the holes, then reads the data between them; the file may change in between. Data is safe,
//! since it was there when it was read, even if a hole was punched meanwhile. A hole, however, may have been filled, or
//! the file may have been truncated. So after the last read, the server seeks every hole again, and then fetches the
//! size. If no data is found in a hole and the file is still long enough, its bytes were zeros at a moment after the
//! last read. So no reply shows a later write beside a hole that an earlier write had filled. If any check fails, the
//! whole reply is rebuilt as one data segment, as from READ. The checks cost one more seek per hole, and there is no
//! loop.

use std::ops::Range;

use buffer::Output;
use proto::nfs4::{ReadPlusArgs, ReadPlusDataHead, ReadPlusHead, ReadPlusSegment, Status};
use state::IoKind;
use vfs::{Error, Seek};
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::failure::OpResult;
use crate::node::Node;
use crate::server::ReadPlusMode;
use crate::transfer::{self, Readable};

/// The most holes to seek for one reply. Each costs two seeks, up to two segments, and one more seek to check it. The
/// rest of the range is returned as data.
const MAX_ROUNDS: usize = 128;

/// The number of segments in a reply after which zeros are no longer searched.
const MAX_SEGMENTS_WITH_ZEROS: u32 = 128;

/// The shortest hole to return, in bytes: it is smaller than its zeros with header and padding, so that a reply is
/// never longer than one data segment.
const MIN_HOLE_BYTES: u64 = 512;

/// The unit of the search for zeros, in bytes: a block of most file systems.
const ZERO_BLOCK_BYTES: u64 = 4096;

/// The bytes of a data segment before its data: kind, offset and length.
const DATA_HEAD_BYTES: usize = 4 + 8 + 4;

/// A range of the file, and whether it is data.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Extent {
    Data(Range<u64>),
    Hole(Range<u64>),
}

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
    let extents = if mode == ReadPlusMode::Data { vec![] } else { extents(&node, &open, &range)? };
    let mark = output.mark();
    let mut reply = SegmentWriter { node, open, finds_zeros: mode == ReadPlusMode::Zeros, segments: 0, output };
    let holds = match extents.is_empty() {
        true => reply.put(&[Extent::Data(range.clone())], range.start)?,
        false => reply.put(&extents, range.start)? && reply.holds(&extents)?,
    };
    if !holds && !extents.is_empty() {
        reply.output.rewind(&mark);
        reply.segments = 0;
        reply.put(&[Extent::Data(range.clone())], range.start)?;
    }
    Ok(())
}

/// The extents of a range of the file. An empty list means one data segment. That is the case if holes are unknown, or
/// if the file has as much space as bytes and so hardly any hole.
fn extents(node: &Node<'_>, open: &Readable, range: &Range<u64>) -> OpResult<Vec<Extent>> {
    if range.is_empty() || open.attributes.used_bytes >= open.attributes.size_bytes {
        return Ok(vec![]);
    }
    let (mut extents, mut at) = (Vec::new(), range.start);
    for _ in 0..MAX_ROUNDS {
        if at == range.end {
            break;
        }
        let data = match open.file.seek(&node.context, at, Seek::Data) {
            Err(Error::NotSupported) => return Ok(vec![]),
            found => found?.unwrap_or(range.end).clamp(at, range.end),
        };
        let end = match data < range.end {
            true => open.file.seek(&node.context, data, Seek::Hole)?.unwrap_or(range.end).clamp(data, range.end),
            false => data,
        };
        if data - at >= MIN_HOLE_BYTES {
            extents.push(Extent::Hole(at..data));
            push_data(&mut extents, data..end);
        } else {
            push_data(&mut extents, at..end);
        }
        at = end;
    }
    push_data(&mut extents, at..range.end);
    Ok(extents)
}

/// Appends data, and merges it with data at the end of the list.
fn push_data(extents: &mut Vec<Extent>, range: Range<u64>) {
    match extents.last_mut() {
        _ if range.is_empty() => {}
        Some(Extent::Data(last)) => last.end = range.end,
        _ => extents.push(Extent::Data(range)),
    }
}

/// A reply in progress.
struct SegmentWriter<'r> {
    node: Node<'r>,
    open: Readable,
    finds_zeros: bool,
    segments: u32,
    output: &'r mut Output,
}

impl SegmentWriter<'_> {
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
                Extent::Data(data) => (data.end, self.put_data(data)?),
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

    /// Appends data and returns its end.
    fn put_data(&mut self, data: &Range<u64>) -> OpResult<u64> {
        let wanted = (data.end - data.start) as usize;
        let space = self.output.bytes.space(DATA_HEAD_BYTES + xdr::padded(wanted));
        let into = &mut space[DATA_HEAD_BYTES..DATA_HEAD_BYTES + wanted];
        let count = transfer::read_at(&self.node, &*self.open.file, data.start, into)?;
        if count > 0 && self.finds_zeros {
            let bytes = into[..count].to_vec();
            self.put_data_without_zeros(data.start, &bytes);
        } else if count > 0 {
            ReadPlusDataHead { offset: data.start }.encode(&mut Encoder::new(&mut self.output.bytes));
            transfer::put_in_place(count, self.output);
            self.segments += 1;
        }
        Ok(data.start + count as u64)
    }

    /// Appends bytes that were read, with blocks of zeros as holes. Those need no check, since the zeros were read.
    fn put_data_without_zeros(&mut self, start: u64, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let run = match self.segments < MAX_SEGMENTS_WITH_ZEROS {
                true => first_run(start + at as u64, &bytes[at..]),
                false => ByteRun { is_zeros: false, length: bytes.len() - at },
            };
            let (from, part) = (start + at as u64, &bytes[at..at + run.length]);
            if run.is_zeros {
                self.put_hole(&(from..from + run.length as u64));
            } else {
                let segment = ReadPlusSegment::Data { offset: from, data: part };
                segment.encode(&mut Encoder::new(&mut self.output.bytes));
                self.segments += 1;
            }
            at += run.length;
        }
    }

    /// Whether every hole is still a hole, and the file still long enough.
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
        Ok(self.open.file.attributes(&self.node.context)?.size_bytes >= end)
    }
}

/// Blocks that are all zeros, or none of which is.
struct ByteRun {
    is_zeros: bool,
    length: usize,
}

/// The first run of `bytes`, which are not empty and begin at `offset` in the file. Blocks are aligned in the file;
/// only whole ones count as zeros.
fn first_run(offset: u64, bytes: &[u8]) -> ByteRun {
    let block = ZERO_BLOCK_BYTES as usize;
    let first = (block - (offset % ZERO_BLOCK_BYTES) as usize).min(bytes.len());
    let is_zeros = |part: &[u8]| part.len() == block && part.iter().all(|&byte| byte == 0);
    let kind = is_zeros(&bytes[..first]);
    let rest = bytes[first..].chunks(block).take_while(|part| is_zeros(part) == kind);
    ByteRun { is_zeros: kind, length: first + rest.map(<[u8]>::len).sum::<usize>() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_of_whole_blocks_of_the_file() {
        let mut bytes = vec![0; 3 * 4096 + 10];
        bytes[4096 + 2000] = 1;
        let lengths = |offset: u64| {
            let (mut at, mut runs) = (0, Vec::new());
            while at < bytes.len() {
                let run = first_run(offset + at as u64, &bytes[at..]);
                runs.push((run.is_zeros, run.length));
                at += run.length;
            }
            runs
        };
        assert_eq!(lengths(0), [(true, 4096), (false, 4096), (true, 4096), (false, 10)]);
        assert_eq!(lengths(96), [(false, 8096), (true, 4096), (false, 106)]);
    }

    #[test]
    fn data_behind_data_is_one_extent() {
        let mut extents = vec![Extent::Hole(0..10)];
        push_data(&mut extents, 10..20);
        push_data(&mut extents, 20..30);
        push_data(&mut extents, 30..30);
        assert_eq!(extents, [Extent::Hole(0..10), Extent::Data(10..30)]);
    }
}
