//! Record marking.

use rpc::record::{Error, Limits, Scan, scan};

/// Small enough for an input to go past each of them.
const LIMITS: Limits = Limits { max_bytes: 256, max_fragments: 8 };

/// How the reading of a stream ends: the bytes that are wanted at least, or why it cannot go on.
type End = Result<usize, Error>;

/// A stream has the same records, and the same end, whether it comes at once or byte by byte.
pub fn record(input: &[u8]) -> bool {
    let (records, end) = at_once(input);
    assert_eq!(byte_by_byte(input), (records.clone(), end));
    !records.is_empty()
}

fn at_once(stream: &[u8]) -> (Vec<Vec<u8>>, End) {
    let mut unread = stream.to_vec();
    let mut records = Vec::new();
    loop {
        let before = unread.clone();
        match scan(&mut unread, &LIMITS) {
            Ok(Scan::Whole { message, consumed }) => {
                assert!(message.end <= consumed && consumed <= unread.len(), "{message:?} of {consumed}");
                assert!(message.len() <= LIMITS.max_bytes, "{message:?}");
                assert_eq!(unread[consumed..], before[consumed..], "what follows a record is left as it is");
                records.push(unread[message].to_vec());
                unread.drain(..consumed);
            }
            Ok(Scan::Partial(needed)) => {
                assert!(needed > unread.len(), "{needed} bytes are there already");
                assert_eq!(unread, before, "a partial record is left as it is");
                return (records, Ok(needed));
            }
            Err(error) => return (records, Err(error)),
        }
    }
}

fn byte_by_byte(stream: &[u8]) -> (Vec<Vec<u8>>, End) {
    let (mut unread, mut records, mut wanted) = (Vec::new(), Vec::new(), 0);
    let mut end = scan(&mut unread, &LIMITS).map(|_| 4);
    for byte in stream {
        unread.push(*byte);
        match scan(&mut unread, &LIMITS) {
            Ok(Scan::Whole { message, consumed }) => {
                assert_eq!(consumed, unread.len(), "a record is whole with its last byte");
                assert!(consumed >= wanted, "{wanted} bytes were wanted, but {consumed} are enough");
                records.push(unread[message].to_vec());
                unread.clear();
                (wanted, end) = (0, Ok(4));
            }
            Ok(Scan::Partial(needed)) => {
                assert!(needed >= wanted, "first {wanted} bytes were wanted, then {needed}");
                (wanted, end) = (needed, Ok(needed));
            }
            Err(error) => return (records, Err(error)),
        }
    }
    (records, end)
}
