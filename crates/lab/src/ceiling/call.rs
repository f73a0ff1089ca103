//! What of a call is looked at (RFC 5531 §9).

use std::io;

/// The longest call that is taken, its record mark included; a WRITE of 32 KiB fits, a longer one ends the connection.
pub(super) const MAX_CALL_BYTES: usize = 64 << 10;
/// The shortest: the record mark, a header without credentials, and no arguments.
const MIN_CALL_BYTES: usize = 4 + 40;

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) xid: [u8; 4],
    pub(super) program: u32,
    pub(super) procedure: u32,
    /// Its last three words: the offset and count of a READ, and the end of the handle of a GETATTR.
    pub(super) end: [u32; 3],
}

impl Call {
    /// The first call and its length, its record mark included, when all of it is there.
    pub(super) fn first(input: &[u8]) -> io::Result<Option<(Call, usize)>> {
        let Some(mark) = input.first_chunk::<4>() else { return Ok(None) };
        let length = 4 + (u32::from_be_bytes(*mark) & !(1 << 31)) as usize;
        if !(MIN_CALL_BYTES..=MAX_CALL_BYTES).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(input.get(..length).map(|record| (Call::of(record), length)))
    }

    /// Reads a record that has the least length.
    fn of(record: &[u8]) -> Call {
        let word = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&record[at..at + 4]);
            bytes
        };
        let number = |at| u32::from_be_bytes(word(at));
        let end = [12, 8, 4].map(|before| number(record.len() - before));
        Call { xid: word(4), program: number(16), procedure: number(24), end }
    }

    /// The offset of a READ.
    pub(super) fn offset(&self) -> u64 {
        u64::from(self.end[0]) << 32 | u64::from(self.end[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_taken_when_all_of_it_is_there_and_its_end_is_its_arguments() {
        let words = [1 << 31 | 52, 7, 0, 2, 100_003, 3, 6, 0, 0, 0, 0, 1, 2, 4096];
        let record: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
        let more = [record.as_slice(), &record[..5]].concat();
        let (call, length) = Call::first(&more).unwrap().unwrap();
        assert_eq!((call.xid, call.program, call.procedure, length), ([0, 0, 0, 7], 100_003, 6, 56));
        assert_eq!((call.offset(), call.end[2]), (1 << 32 | 2, 4096));
        assert_eq!(Call::first(&record[..55]).unwrap(), None);
        assert_eq!(Call::first(&record[..3]).unwrap(), None);
    }

    #[test]
    fn call_that_is_too_long_or_too_short_is_refused_at_its_mark() {
        assert!(Call::first(&[0x80, 1, 0, 0]).is_err());
        assert!(Call::first(&[0x80, 0, 0, 39]).is_err());
    }
}
