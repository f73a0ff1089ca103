//! Record marking over streams (RFC 5531 §11): a message is one or more fragments. Before each is a word with its
//! length and, in the top bit, the flag of the last fragment.

use std::ops::Range;

const LAST_FRAGMENT: u32 = 1 << 31;
/// The length of a mark.
pub const MARK_BYTES: usize = 4;

/// The limits of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of one record, without marks.
    pub max_bytes: usize,
    /// The most fragments of one record, so that a record always ends.
    pub max_fragments: usize,
}

/// How many bytes larger than the largest request that a session grants a record may be: the session then refuses the
/// request (RFC 8881 §2.10.6.4), where a larger record ends the connection.
pub const OVER_GRANT_BYTES: usize = 64 << 10;

impl Default for Limits {
    /// Room for a WRITE of 1 MiB with other operations around it, and for [`OVER_GRANT_BYTES`]; more fragments than any
    /// client sends.
    fn default() -> Self {
        Limits { max_bytes: (1 << 20) + (64 << 10) + OVER_GRANT_BYTES, max_fragments: 1024 }
    }
}

/// The result of a search for a record at the start of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scan {
    /// An incomplete record of at least this many bytes, marks included.
    Partial(usize),
    /// A complete record.
    Whole {
        /// The position of the message.
        message: Range<usize>,
        /// The size of the record in bytes, marks included.
        consumed: usize,
    },
}

/// The reason why a stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The record is too large.
    #[error("record of {bytes} bytes or more is over the limit of {max}")]
    TooLarge {
        /// Its smallest possible size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The record has too many fragments.
    #[error("record has more than {max} fragments")]
    TooManyFragments {
        /// The limit.
        max: usize,
    },
}

/// Finds the first record in `unread`. If a complete record has several fragments, they are joined in place.
///
/// # Errors
/// When the record exceeds `limits`; its marks show that before its bytes arrive.
pub fn scan(unread: &mut [u8], limits: &Limits) -> Result<Scan, Error> {
    let (mut end, mut bytes, mut fragments) = (0, 0, 0);
    loop {
        let Some(mark) = mark_at(unread, end) else { return Ok(Scan::Partial(end + MARK_BYTES)) };
        let length = (mark & !LAST_FRAGMENT) as usize;
        (end, bytes, fragments) = (end + MARK_BYTES + length, bytes + length, fragments + 1);
        if bytes > limits.max_bytes {
            return Err(Error::TooLarge { bytes, max: limits.max_bytes });
        }
        if fragments > limits.max_fragments {
            return Err(Error::TooManyFragments { max: limits.max_fragments });
        }
        if end > unread.len() {
            return Ok(Scan::Partial(end));
        }
        if mark & LAST_FRAGMENT != 0 {
            break;
        }
    }
    if fragments > 1 {
        join(&mut unread[..end]);
    }
    Ok(Scan::Whole { message: MARK_BYTES..MARK_BYTES + bytes, consumed: end })
}

fn mark_at(unread: &[u8], at: usize) -> Option<u32> {
    unread.get(at..)?.first_chunk::<MARK_BYTES>().copied().map(u32::from_be_bytes)
}

/// Joins the fragments of a complete record behind the first mark.
fn join(record: &mut [u8]) {
    let (mut from, mut to) = (0, MARK_BYTES);
    while let Some(mark) = mark_at(record, from) {
        let start = from + MARK_BYTES;
        let length = (mark & !LAST_FRAGMENT) as usize;
        record.copy_within(start..start + length, to);
        (from, to) = (start + length, to + length);
    }
}

/// The mark of a last fragment of `length` bytes.
pub fn last_mark(length: usize) -> u32 {
    debug_assert!(length < LAST_FRAGMENT as usize, "a fragment is shorter than 2 GiB");
    LAST_FRAGMENT | length as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { max_bytes: 64, max_fragments: 8 };

    fn fragment(last: bool, bytes: &[u8]) -> Vec<u8> {
        let mark = bytes.len() as u32 | if last { LAST_FRAGMENT } else { 0 };
        [&mark.to_be_bytes()[..], bytes].concat()
    }

    #[test]
    fn record_cut_at_any_byte_is_partial_until_it_is_whole() {
        let stream =
            [fragment(false, b"hel"), fragment(false, b""), fragment(true, b"lo"), fragment(true, b"x")].concat();
        let whole = stream.len() - 5;
        for length in 0..whole {
            let mut unread = stream[..length].to_vec();
            match scan(&mut unread, &LIMITS).unwrap() {
                Scan::Partial(needed) => assert!(length < needed && needed <= whole, "{length} bytes: {needed}"),
                Scan::Whole { .. } => panic!("whole after {length} bytes"),
            }
            assert_eq!(unread, stream[..length], "a partial record is left as it is");
        }
        let mut unread = stream;
        let Scan::Whole { message, consumed } = scan(&mut unread, &LIMITS).unwrap() else { panic!("partial") };
        assert_eq!((&unread[message], consumed), (&b"hello"[..], whole));
        assert_eq!(scan(&mut unread[consumed..], &LIMITS), Ok(Scan::Whole { message: 4..5, consumed: 5 }));
    }

    #[test]
    fn record_over_the_limit_is_refused_at_its_mark() {
        let mut unread = (LAST_FRAGMENT | 65).to_be_bytes();
        assert_eq!(scan(&mut unread, &LIMITS), Err(Error::TooLarge { bytes: 65, max: 64 }));
    }

    #[test]
    fn record_of_endless_empty_fragments_is_refused() {
        let mut unread = fragment(false, b"").repeat(9);
        assert_eq!(scan(&mut unread, &LIMITS), Err(Error::TooManyFragments { max: 8 }));
    }
}
