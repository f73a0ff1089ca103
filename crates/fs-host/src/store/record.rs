//! What the store remembers of a file, and the bytes of the log.
//!
//! ```text
//! record   length of the payload (4)  checksum (4)  payload
//! payload  0  path of the export                               the first record: whose log this is
//!          1  id (8)  parent (8)  file number (8)  device (8)  evidence: length (1), bytes  name: length (1), bytes
//!          2  id (8)                                           the file is gone
//!          3  id (8)                                           ids below this may have been given out
//! ```
//!
//! Numbers are little-endian.

/// The bytes in front of a payload.
pub(crate) const PREFIX_BYTES: usize = 8;

/// The longest payload: a path of 4096 bytes, with room to spare.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 8192;

const EXPORT: u8 = 0;
const NODE: u8 = 1;
const GONE: u8 = 2;
const RESERVED: u8 = 3;

/// What tells a file from every other one, and from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint {
    /// The file's number.
    pub(crate) fileid: u64,
    /// Its device, or 0 for the one of the exported directory, whose number may be another after a restart.
    pub(crate) device: u64,
    /// What a later file with the same number would not have: the kernel's handle, or the time when it was made.
    pub(crate) evidence: Vec<u8>,
}

/// One file that a handle was given out for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The number in its handle.
    pub(crate) id: u64,
    /// The number of the directory in which it was last seen; 0 is the exported one.
    pub(crate) parent: u64,
    /// Its name there.
    pub(crate) name: Vec<u8>,
    /// What it is recognised by.
    pub(crate) fingerprint: Fingerprint,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Whose log this is.
    Export(Vec<u8>),
    /// A file, or where it is now.
    Node(Record),
    /// A file that is gone.
    Gone(u64),
    /// Ids below this may have been given out.
    Reserved(u64),
}

impl Line {
    /// Appends the line's bytes.
    pub(crate) fn put(&self, log: &mut Vec<u8>) {
        let start = log.len();
        log.extend_from_slice(&[0; PREFIX_BYTES]);
        self.put_payload(log);
        let payload = &log[start + PREFIX_BYTES..];
        let (length, sum) = (payload.len() as u32, checksum(payload));
        log[start..start + 4].copy_from_slice(&length.to_le_bytes());
        log[start + 4..start + PREFIX_BYTES].copy_from_slice(&sum.to_le_bytes());
    }

    /// Reads the line at the start of `log` and says how many bytes it takes; `None` when it is cut off or damaged.
    pub(crate) fn take(log: &[u8]) -> Option<(Line, usize)> {
        let (prefix, rest) = log.split_first_chunk::<PREFIX_BYTES>()?;
        let [a, b, c, d, e, f, g, h] = *prefix;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let payload = rest.get(..length).filter(|payload| payload.len() <= MAX_PAYLOAD_BYTES)?;
        let is_whole = checksum(payload) == u32::from_le_bytes([e, f, g, h]);
        is_whole.then(|| Some((Line::parse(payload)?, PREFIX_BYTES + length))).flatten()
    }

    fn put_payload(&self, log: &mut Vec<u8>) {
        match self {
            Line::Export(path) => {
                log.push(EXPORT);
                log.extend_from_slice(path);
            }
            Line::Node(record) => record.put(log),
            Line::Gone(id) => put_number(log, GONE, *id),
            Line::Reserved(id) => put_number(log, RESERVED, *id),
        }
    }

    fn parse(payload: &[u8]) -> Option<Line> {
        let (&kind, mut rest) = payload.split_first()?;
        match kind {
            EXPORT => Some(Line::Export(rest.to_vec())),
            NODE => Record::parse(rest).map(Line::Node),
            GONE => take_u64(&mut rest).map(Line::Gone),
            RESERVED => take_u64(&mut rest).map(Line::Reserved),
            _ => None,
        }
    }
}

impl Record {
    fn put(&self, log: &mut Vec<u8>) {
        put_number(log, NODE, self.id);
        for number in [self.parent, self.fingerprint.fileid, self.fingerprint.device] {
            log.extend_from_slice(&number.to_le_bytes());
        }
        for bytes in [&self.fingerprint.evidence, &self.name] {
            log.push(bytes.len() as u8);
            log.extend_from_slice(bytes);
        }
    }

    fn parse(mut rest: &[u8]) -> Option<Record> {
        let id = take_u64(&mut rest)?;
        let parent = take_u64(&mut rest)?;
        let (fileid, device) = (take_u64(&mut rest)?, take_u64(&mut rest)?);
        let evidence = take_bytes(&mut rest)?;
        let name = take_bytes(&mut rest)?;
        Some(Record { id, parent, name, fingerprint: Fingerprint { fileid, device, evidence } })
    }
}

fn put_number(log: &mut Vec<u8>, kind: u8, number: u64) {
    log.push(kind);
    log.extend_from_slice(&number.to_le_bytes());
}

fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    rest.split_off(..8)?.try_into().ok().map(u64::from_le_bytes)
}

fn take_bytes(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::from(*rest.split_off_first()?);
    rest.split_off(..length).map(<[u8]>::to_vec)
}

/// FNV-1a, folded to 32 bits: it finds what a crash leaves half written, and is not meant against anybody.
fn checksum(bytes: &[u8]) -> u32 {
    let sum = fnv(bytes);
    (sum ^ (sum >> 32)) as u32
}

/// FNV-1a with 64 bits: the same in every version of this program.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let fingerprint = Fingerprint { fileid: 12, device: 0, evidence: vec![7; 130] };
        Record { id: 3, parent: 1, name: vec![0xff; 255], fingerprint }
    }

    #[test]
    fn line_comes_back_as_it_was_written() {
        for line in [Line::Export(b"/srv".to_vec()), Line::Node(record()), Line::Gone(9), Line::Reserved(u64::MAX)] {
            let mut log = Vec::new();
            line.put(&mut log);
            assert_eq!(Line::take(&log), Some((line, log.len())));
        }
    }

    #[test]
    fn line_that_is_cut_off_or_altered_is_no_line() {
        let mut log = Vec::new();
        Line::Node(record()).put(&mut log);
        assert!((0..log.len()).all(|length| Line::take(&log[..length]).is_none()));
        for at in 0..log.len() {
            log[at] ^= 1;
            assert_eq!(Line::take(&log), None, "byte {at}");
            log[at] ^= 1;
        }
    }
}
