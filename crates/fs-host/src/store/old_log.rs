//! The store's earlier form, a log of lines, which is read once to take its numbers over.
//!
//! ```text
//! line     length of the payload (4)  checksum (4)  payload
//! payload  0  path of the export                               the first line: whose log this is
//!          1  id (8)  parent (8)  file number (8)  device (8)  evidence: length (1), bytes  name: length (1), bytes
//!          2  id (8)                                           the file is gone
//!          3  id (8)                                           ids below this may have been given out
//! ```
//!
//! Numbers are little-endian.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};

use own_files::{Locked, OwnDir};

use crate::store::record::{Fingerprint, StoredFile, fnv};
use crate::store::slots::Span;

/// How much of the file is read at once, in bytes.
const READ_BYTES: usize = 1024 * 1024;

/// The bytes in front of a payload.
const PREFIX_BYTES: usize = 8;

/// The longest payload: a path of 4096 bytes, with room to spare.
const MAX_PAYLOAD_BYTES: usize = 8192;

/// How far numbering jumps ahead of a damaged log, so that no lost number is used again.
const JUMP_AFTER_DAMAGE: u64 = 1 << 40;

/// Numbers further apart than this are kept apart in the table of slots: earlier servers made such jumps.
const SPAN_BITS: u32 = 36;

/// A log, for this process alone.
pub(crate) struct OldLog {
    file: Locked<File>,
}

/// What a log says of all its numbers together.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// The path of the export.
    pub(crate) export: Option<Vec<u8>>,
    /// The lowest and the highest number in each range of `SPAN_BITS`.
    ranges: BTreeMap<u64, (u64, u64)>,
    next: u64,
    damaged_bytes: u64,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OldLogLine {
    /// Whose log this is.
    Export(Vec<u8>),
    /// A file, or where it is now.
    Node(StoredFile),
    /// A file that is gone.
    Gone(u64),
    /// Ids below this may have been given out.
    Reserved(u64),
}

impl OldLog {
    /// Finds the log, and keeps other servers from it.
    pub(crate) fn open(dir: &OwnDir, name: &str) -> io::Result<Option<OldLog>> {
        let Some(file) = dir.file_to_read(name)? else { return Ok(None) };
        Ok(Some(OldLog { file: Locked::exclusive(file)? }))
    }

    /// Gives every whole line to `each`, leaves out what is damaged, and says how many bytes that was.
    pub(crate) fn read(&self, mut each: impl FnMut(OldLogLine) -> io::Result<()>) -> io::Result<u64> {
        let mut file: &File = &self.file;
        file.rewind()?;
        let (mut unread, mut damaged) = (Vec::new(), 0);
        loop {
            let is_end = file.by_ref().take(READ_BYTES as u64).read_to_end(&mut unread)? == 0;
            let mut used = 0;
            // Where a whole line may be, unless this is the end.
            while is_end && used < unread.len() || unread.len() - used >= PREFIX_BYTES + MAX_PAYLOAD_BYTES {
                match OldLogLine::take(&unread[used..]) {
                    Some((line, length)) => {
                        used += length;
                        each(line)?;
                    }
                    None => {
                        used += 1;
                        damaged += 1;
                    }
                }
            }
            unread.drain(..used);
            if is_end {
                return Ok(damaged);
            }
        }
    }

    /// Reads all of it to learn which numbers there are.
    pub(crate) fn summary(&self) -> io::Result<Summary> {
        let mut summary = Summary::default();
        summary.damaged_bytes = self.read(|line| {
            match line {
                OldLogLine::Export(path) => summary.export = Some(path),
                OldLogLine::Node(record) => summary.see(record.id),
                OldLogLine::Gone(_) => {}
                OldLogLine::Reserved(id) => summary.next = summary.next.max(id),
            }
            Ok(())
        })?;
        Ok(summary)
    }
}

impl Summary {
    fn see(&mut self, id: u64) {
        let range = self.ranges.entry(id >> SPAN_BITS).or_insert((id, id));
        *range = (range.0.min(id), range.1.max(id));
        self.next = self.next.max(id + 1);
    }

    /// The number that the next new file will get.
    pub(crate) fn next(&self) -> u64 {
        if self.damaged_bytes > 0 { self.next + JUMP_AFTER_DAMAGE } else { self.next }
    }

    /// How much of the log could not be read, in bytes.
    pub(crate) fn damaged_bytes(&self) -> u64 {
        self.damaged_bytes
    }

    /// Where the numbers go, one range behind the other, and behind them the new ones.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut ranges = self.ranges.clone();
        ranges.entry(self.next() >> SPAN_BITS).or_insert((self.next(), self.next()));
        let mut first_slot = 0;
        let span = |(first, last): (u64, u64)| {
            let span = Span { first_number: first, first_slot };
            first_slot += last - first + 1;
            span
        };
        ranges.into_values().map(span).collect()
    }
}

impl OldLogLine {
    /// Reads the line at the start of `log` and says how many bytes it takes; `None` when it is cut off or damaged.
    fn take(log: &[u8]) -> Option<(OldLogLine, usize)> {
        let (prefix, rest) = log.split_first_chunk::<PREFIX_BYTES>()?;
        let [a, b, c, d, e, f, g, h] = *prefix;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let payload = rest.get(..length).filter(|payload| payload.len() <= MAX_PAYLOAD_BYTES)?;
        let is_whole = checksum(payload) == u32::from_le_bytes([e, f, g, h]);
        is_whole.then(|| Some((OldLogLine::parse(payload)?, PREFIX_BYTES + length))).flatten()
    }

    fn parse(payload: &[u8]) -> Option<OldLogLine> {
        let (&kind, mut rest) = payload.split_first()?;
        match kind {
            0 => Some(OldLogLine::Export(rest.to_vec())),
            1 => parse_record(rest).map(OldLogLine::Node),
            2 => take_u64(&mut rest).map(OldLogLine::Gone),
            3 => take_u64(&mut rest).map(OldLogLine::Reserved),
            _ => None,
        }
    }
}

fn parse_record(mut rest: &[u8]) -> Option<StoredFile> {
    let (id, parent) = (take_u64(&mut rest)?, take_u64(&mut rest)?);
    let (fileid, device) = (take_u64(&mut rest)?, take_u64(&mut rest)?);
    let evidence = take_bytes(&mut rest)?;
    let name = take_bytes(&mut rest)?;
    Some(StoredFile { id, parent, name, fingerprint: Fingerprint { fileid, device, evidence } })
}

fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    rest.split_off(..8)?.try_into().ok().map(u64::from_le_bytes)
}

fn take_bytes(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::from(*rest.split_off_first()?);
    rest.split_off(..length).map(<[u8]>::to_vec)
}

fn checksum(bytes: &[u8]) -> u32 {
    let sum = fnv(bytes);
    (sum ^ (sum >> 32)) as u32
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The bytes of a line, as earlier servers wrote it.
    pub(crate) fn line(line: &OldLogLine) -> Vec<u8> {
        let payload = match line {
            OldLogLine::Export(path) => [&[0], &path[..]].concat(),
            OldLogLine::Gone(id) => [&[2], &id.to_le_bytes()[..]].concat(),
            OldLogLine::Reserved(id) => [&[3], &id.to_le_bytes()[..]].concat(),
            OldLogLine::Node(record) => {
                let StoredFile { id, parent, name, fingerprint: Fingerprint { fileid, device, evidence } } = record;
                let numbers = [*id, *parent, *fileid, *device].map(u64::to_le_bytes).concat();
                let lengths = [[evidence.len() as u8], [name.len() as u8]];
                [&[1], &numbers[..], &lengths[0], evidence, &lengths[1], name].concat()
            }
        };
        [&(payload.len() as u32).to_le_bytes()[..], &checksum(&payload).to_le_bytes(), &payload].concat()
    }

    #[test]
    fn numbers_far_apart_come_to_places_close_together() {
        let mut summary = Summary::default();
        [3, 9, 1 << 41].into_iter().for_each(|id| summary.see(id));
        summary.damaged_bytes = 1;
        let spans = summary.spans();
        let expected = [(3, 0), (1 << 41, 7), ((1 << 41) + 1 + JUMP_AFTER_DAMAGE, 8)];
        let expected = expected.map(|(first_number, first_slot)| Span { first_number, first_slot });
        assert_eq!(spans, expected);
    }
}
