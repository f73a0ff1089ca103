//! The bytes of the store of client records.
//!
//! ```text
//! file     "wharf clients 1\n" (16)  line …
//! line     length of the payload (4)  checksum of the payload (8)  checksum of these 12 bytes (4)  payload  zeros
//! payload  0  boot (4)  lease in seconds (4)                   a start of the server: the last one counts
//!          1  kind (1)  revoked (1)  name                       a client, or what is known of it now
//!          2  { kind (1)  length (2)  name } …                 clients that are forgotten, all of them or none
//! ```
//!
//! Numbers are little-endian. A line begins at a multiple of 16, so that no prefix lies in two sectors: what a crash
//! leaves of a line begins with the whole prefix or with zeros.

use state::{ClientRecord, RecordKind, limits};

/// The magic number of every store.
pub(super) const MAGIC: [u8; 16] = *b"wharf clients 1\n";

/// The bytes in front of a payload.
pub(super) const PREFIX_BYTES: usize = 16;

/// The longest payload. If more names than fit are to be forgotten, the store is rewritten.
pub(super) const MAX_PAYLOAD_BYTES: usize = 64 << 10;

const START: u8 = 0;
const CLIENT: u8 = 1;
const FORGET: u8 = 2;

/// A kind and a name, which identify a client.
pub(super) type RecordKey = (RecordKind, Box<[u8]>);

/// A line of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecordLine {
    /// The server was started.
    Start {
        /// Its number.
        boot: u32,
        /// The lease time that it grants.
        lease_s: u32,
    },
    /// A client that may reclaim.
    Client(ClientRecord),
    /// Clients that may no longer reclaim.
    Forget(Vec<RecordKey>),
}

/// What a position of the store holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScannedLine {
    /// A line, which takes this many bytes.
    Line(RecordLine, usize),
    /// The end, or an incomplete last line after a crash.
    End,
    /// Data that no crash leaves.
    Damage,
}

impl RecordLine {
    /// The line's bytes, or `None` if there are too many.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; PREFIX_BYTES];
        self.put_payload(&mut bytes);
        let payload = &bytes[PREFIX_BYTES..];
        if payload.len() > MAX_PAYLOAD_BYTES {
            return None;
        }
        let (length, sum) = (payload.len() as u32, checksum(payload));
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes[4..12].copy_from_slice(&sum.to_le_bytes());
        let own = checksum(&bytes[..12]) as u32;
        bytes[12..PREFIX_BYTES].copy_from_slice(&own.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(PREFIX_BYTES), 0);
        Some(bytes)
    }

    /// Reads the line at the start of `rest`, which reaches to the end of the store.
    pub(super) fn take(rest: &[u8]) -> ScannedLine {
        let Some((prefix, after)) = rest.split_first_chunk::<PREFIX_BYTES>() else { return ScannedLine::End };
        let is_last = rest.len() <= PREFIX_BYTES + MAX_PAYLOAD_BYTES;
        if *prefix == [0; PREFIX_BYTES] && is_last {
            return ScannedLine::End;
        }
        let [a, b, c, d, sum @ .., _, _, _, _] = *prefix;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if (checksum(&prefix[..12]) as u32).to_le_bytes() != prefix[12..] || length > MAX_PAYLOAD_BYTES {
            return ScannedLine::Damage;
        }
        let padded = length.next_multiple_of(PREFIX_BYTES);
        match after.get(..length) {
            Some(payload) if checksum(payload).to_le_bytes() == sum => match RecordLine::parse(payload) {
                // A last line with incomplete padding was not acknowledged, and no line can follow it.
                Some(_) if after.len() < padded => ScannedLine::End,
                Some(line) => ScannedLine::Line(line, PREFIX_BYTES + padded),
                None => ScannedLine::Damage,
            },
            Some(_) if after.len() > padded => ScannedLine::Damage,
            _ => ScannedLine::End,
        }
    }

    fn put_payload(&self, to: &mut Vec<u8>) {
        match self {
            RecordLine::Start { boot, lease_s } => {
                to.push(START);
                to.extend_from_slice(&boot.to_le_bytes());
                to.extend_from_slice(&lease_s.to_le_bytes());
            }
            RecordLine::Client(record) => {
                to.extend_from_slice(&[CLIENT, kind_byte(record.kind), u8::from(record.revoked)]);
                to.extend_from_slice(&record.name);
            }
            RecordLine::Forget(keys) => {
                to.push(FORGET);
                for (kind, name) in keys {
                    to.push(kind_byte(*kind));
                    to.extend_from_slice(&(name.len() as u16).to_le_bytes());
                    to.extend_from_slice(name);
                }
            }
        }
    }

    fn parse(payload: &[u8]) -> Option<RecordLine> {
        let (&tag, rest) = payload.split_first()?;
        match tag {
            START => {
                let [a, b, c, d, e, f, g, h] = *rest.first_chunk::<8>()?;
                Some(RecordLine::Start {
                    boot: u32::from_le_bytes([a, b, c, d]),
                    lease_s: u32::from_le_bytes([e, f, g, h]),
                })
            }
            CLIENT => {
                let ([kind, revoked], name) = rest.split_first_chunk::<2>()?;
                let is_name = name.len() <= limits::NAME_MAX_BYTES;
                is_name.then_some(())?;
                Some(RecordLine::Client(ClientRecord {
                    kind: kind_of(*kind)?,
                    revoked: *revoked != 0,
                    name: name.into(),
                }))
            }
            FORGET => parse_keys(rest).map(RecordLine::Forget),
            _ => None,
        }
    }
}

fn parse_keys(mut rest: &[u8]) -> Option<Vec<RecordKey>> {
    let mut keys = Vec::new();
    while let Some(([kind, low, high], after)) = rest.split_first_chunk::<3>() {
        let (name, behind) = after.split_at_checked(usize::from(u16::from_le_bytes([*low, *high])))?;
        keys.push((kind_of(*kind)?, name.into()));
        rest = behind;
    }
    rest.is_empty().then_some(keys)
}

fn kind_byte(kind: RecordKind) -> u8 {
    match kind {
        RecordKind::V40 => 0,
        RecordKind::V41 => 1,
        RecordKind::Nlm => 2,
    }
}

fn kind_of(byte: u8) -> Option<RecordKind> {
    [RecordKind::V40, RecordKind::V41, RecordKind::Nlm].into_iter().find(|kind| kind_byte(*kind) == byte)
}

/// FNV-1a. It detects incomplete writes of a crash, not attacks. The upper half is folded into the lower, which a
/// prefix uses alone.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let sum = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    sum ^ (sum >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<RecordLine> {
        let client = |kind, name: &[u8]| ClientRecord { kind, name: name.into(), revoked: kind == RecordKind::V40 };
        let key = |kind, name: &[u8]| (kind, Box::from(name));
        vec![
            RecordLine::Start { boot: 1_700_000_000, lease_s: 90 },
            RecordLine::Client(client(RecordKind::V40, b"")),
            RecordLine::Client(client(RecordKind::V41, &[0xff; limits::NAME_MAX_BYTES])),
            RecordLine::Client(client(RecordKind::Nlm, b"192.0.2.1")),
            RecordLine::Forget(vec![key(RecordKind::Nlm, b"host"), key(RecordKind::V41, b"")]),
        ]
    }

    #[test]
    fn line_comes_back_as_it_was_written() {
        for line in lines() {
            let bytes = line.bytes().unwrap();
            assert_eq!(bytes.len() % PREFIX_BYTES, 0);
            assert_eq!(RecordLine::take(&bytes), ScannedLine::Line(line, bytes.len()));
        }
    }

    #[test]
    fn line_that_is_cut_off_is_the_end() {
        for bytes in lines().iter().map(|line| line.bytes().unwrap()) {
            assert!((0..bytes.len()).all(|length| RecordLine::take(&bytes[..length]) == ScannedLine::End));
        }
    }

    #[test]
    fn line_whose_sectors_were_not_all_written_is_the_end() {
        let bytes = lines()[2].bytes().unwrap();
        for sector in 0..bytes.len().div_ceil(512) {
            let mut torn = bytes.clone();
            torn[sector * 512..((sector + 1) * 512).min(bytes.len())].fill(0);
            assert_eq!(RecordLine::take(&torn), ScannedLine::End, "sector {sector}");
        }
    }

    #[test]
    fn altered_line_that_others_follow_is_damage() {
        let line = lines()[3].bytes().unwrap();
        let payload_bytes = 3 + b"192.0.2.1".len();
        for at in 0..PREFIX_BYTES + payload_bytes {
            let mut store = [line.clone(), line.clone()].concat();
            store[at] ^= 1;
            assert_eq!(RecordLine::take(&store), ScannedLine::Damage, "byte {at}");
        }
    }

    #[test]
    fn more_names_than_a_line_holds_make_no_line() {
        let keys = vec![(RecordKind::V41, Box::from([7; 1000].as_slice())); 66];
        assert_eq!(RecordLine::Forget(keys).bytes(), None);
    }
}
