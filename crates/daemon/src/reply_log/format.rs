//! The bytes of a file of the log.
//!
//! ```text
//! file    "wharf replies 2\n" (16)  generation (8)  record …  anything
//! record  length of the body (4)  zeros (4)  checksum (8)  time in seconds (8)  body  zeros up to a multiple of 8
//! ```
//!
//! Numbers are big-endian. The checksum is over the time and the body, with the file's generation as its seed. So a
//! record that was stored in part is none, and neither is one that is left of an earlier generation. Records end at the
//! first one that is none.

use twox_hash::XxHash3_64;

/// The magic number of a file.
const MAGIC: [u8; 16] = *b"wharf replies 2\n";

/// Where the records begin.
pub(super) const FILE_HEAD_BYTES: usize = 24;

/// The bytes in front of a body.
pub(super) const HEAD_BYTES: usize = 24;

/// Where the range of the checksum begins.
const SUMMED_AT: usize = 16;

/// The head of a file; each generation is greater than all before it. A file of generation 0 has no records.
pub(super) fn file_head(generation: u64) -> [u8; FILE_HEAD_BYTES] {
    let mut head = [0; FILE_HEAD_BYTES];
    head[..MAGIC.len()].copy_from_slice(&MAGIC);
    head[MAGIC.len()..].copy_from_slice(&generation.to_be_bytes());
    head
}

/// The generation of a file; `None` for a file without a head.
pub(super) fn generation(file: &[u8]) -> Option<u64> {
    file.strip_prefix(&MAGIC)?.first_chunk().map(|generation| u64::from_be_bytes(*generation))
}

/// Appends a record to `to`.
pub(super) fn put_record(generation: u64, time: u64, body: &[u8], to: &mut Vec<u8>) {
    let at = to.len();
    to.extend((body.len() as u32).to_be_bytes());
    to.extend([0; SUMMED_AT - 4]);
    to.extend(time.to_be_bytes());
    to.extend(body);
    let checksum = XxHash3_64::oneshot_with_seed(generation, &to[at + SUMMED_AT..]);
    to[at + 8..at + SUMMED_AT].copy_from_slice(&checksum.to_be_bytes());
    to.resize(at + size(body.len()), 0);
}

/// The number of bytes that a record takes.
fn size(body_bytes: usize) -> usize {
    HEAD_BYTES + body_bytes.next_multiple_of(8)
}

/// The records of a file.
pub(super) struct ReplyRecords<'f> {
    file: &'f [u8],
    generation: u64,
    at: usize,
}

impl<'f> ReplyRecords<'f> {
    pub(super) fn of(file: &'f [u8]) -> ReplyRecords<'f> {
        ReplyRecords { file, generation: generation(file).unwrap_or_default(), at: FILE_HEAD_BYTES.min(file.len()) }
    }

    /// The end of the records read so far.
    pub(super) fn end(&self) -> usize {
        self.at
    }
}

impl ReplyRecords<'_> {
    /// Whether whole records follow one that is none. A kill leaves none behind the one that it tears.
    pub(super) fn has_more(&self) -> bool {
        let starts = (self.at..self.file.len().saturating_sub(HEAD_BYTES)).step_by(8);
        // Unused space and most other bytes are told from a head without a checksum.
        let is_head = |at: &usize| self.file[*at..*at + 4] != [0; 4] && self.file[*at + 4..*at + 8] == [0; 4];
        starts.filter(is_head).any(|at| ReplyRecords { at, ..*self }.next().is_some())
    }
}

/// A record: its time and its body.
impl<'f> Iterator for ReplyRecords<'f> {
    type Item = (u64, &'f [u8]);

    fn next(&mut self) -> Option<(u64, &'f [u8])> {
        let rest = &self.file[self.at..];
        let length = u32::from_be_bytes(*rest.first_chunk()?) as usize;
        let summed = rest.get(SUMMED_AT..HEAD_BYTES.checked_add(length)?)?;
        let checksum = XxHash3_64::oneshot_with_seed(self.generation, summed);
        let (time, body) = summed.split_first_chunk()?;
        if self.generation == 0 || rest[8..SUMMED_AT] != checksum.to_be_bytes() {
            return None;
        }
        self.at = (self.at + size(length)).min(self.file.len());
        Some((u64::from_be_bytes(*time), body))
    }
}
