//! RPC records of a captured stream (RFC 5531 §11), of which bytes may be missing.
//!
//! Missing bytes inside of a record do no harm: its length is known from its mark, and what matters of it is mostly at
//! its front. When a mark is missing, records are found again at the start of a segment that looks like one.

use std::time::Duration;

use super::stream::Piece;

/// The most bytes that are kept of a record: listings are large replies that matter as a whole, and operations follow
/// the data of a WRITE in a COMPOUND.
const MAX_KEPT_BYTES: usize = (1 << 20) + (64 << 10);
/// How much memory stays with a connection between its records.
const SPARE_BYTES: usize = 64 << 10;
/// The largest record. Clients and servers send at most 1 MiB of data.
const MAX_RECORD_BYTES: usize = 4 << 20;
const MARK_BYTES: usize = 4;
const LAST_FRAGMENT: u32 = 1 << 31;
/// The words of a call and of a reply by which a record is recognised.
const CALL_WORDS: usize = 6;
const REPLY_WORDS: usize = 5;
const MAX_AUTH_BYTES: u32 = 400;
/// The range of the program numbers of RFC 5531 §8.2 that NFS and its helpers are in.
const PROGRAMS: std::ops::Range<u32> = 100_000..200_000;

/// A record, or what was captured of its front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// When its first and its last bytes were captured.
    pub began: Duration,
    pub ended: Duration,
    pub message: &'a [u8],
}

/// The records of one direction.
#[derive(Debug, Default)]
pub(super) struct Records {
    state: State,
    /// What is kept of the current record, and whether more can be.
    kept: Vec<u8>,
    is_kept_whole: bool,
    record_bytes: usize,
    began: Duration,
    /// How often records were lost because of missing bytes.
    pub losses: u64,
    /// Whether there ever was a record.
    pub has_records: bool,
}

#[derive(Debug, Default)]
enum State {
    /// The place of the next mark is not known.
    #[default]
    Lost,
    /// So many bytes of a mark are there.
    Mark { mark: [u8; MARK_BYTES], have: usize },
    /// So many bytes of a fragment are left.
    Fragment { left: usize, is_last: bool },
}

/// In front of a record.
const BETWEEN: State = State::Mark { mark: [0; MARK_BYTES], have: 0 };

impl Records {
    /// Adds the next bytes of the stream, and passes on the records that end in them.
    pub(super) fn add(&mut self, at: Duration, piece: Piece<'_>, each: &mut impl FnMut(Record<'_>)) {
        match piece {
            Piece::Known(bytes) => self.add_known(at, bytes, each),
            Piece::Missing(bytes) => self.add_missing(at, bytes, each),
        }
    }

    fn add_known(&mut self, at: Duration, mut bytes: &[u8], each: &mut impl FnMut(Record<'_>)) {
        if matches!(self.state, State::Lost) {
            if !looks_like_a_record(bytes) {
                return;
            }
            self.begin();
        }
        while !bytes.is_empty() {
            bytes = match &mut self.state {
                State::Lost => return,
                State::Mark { mark, have } => {
                    let taken = bytes.len().min(MARK_BYTES - *have);
                    mark[*have..*have + taken].copy_from_slice(&bytes[..taken]);
                    if *have == 0 && self.record_bytes == 0 {
                        self.began = at;
                    }
                    *have += taken;
                    if *have == MARK_BYTES {
                        let mark = u32::from_be_bytes(*mark);
                        self.begin_fragment(at, mark, each);
                    }
                    &bytes[taken..]
                }
                State::Fragment { left, .. } => {
                    let taken = bytes.len().min(*left);
                    if self.is_kept_whole {
                        let room = MAX_KEPT_BYTES - self.kept.len();
                        self.kept.extend_from_slice(&bytes[..taken.min(room)]);
                        self.is_kept_whole = taken <= room;
                    }
                    self.advance(at, taken, each);
                    &bytes[taken..]
                }
            };
        }
    }

    fn add_missing(&mut self, at: Duration, bytes: usize, each: &mut impl FnMut(Record<'_>)) {
        let taken = match &self.state {
            State::Fragment { left, .. } => bytes.min(*left),
            State::Lost | State::Mark { .. } => 0,
        };
        if taken > 0 {
            self.is_kept_whole = false;
            self.advance(at, taken, each);
        }
        if taken < bytes {
            self.lose();
        }
    }

    fn begin(&mut self) {
        self.state = BETWEEN;
        self.kept.clear();
        self.kept.shrink_to(SPARE_BYTES);
        (self.is_kept_whole, self.record_bytes) = (true, 0);
    }

    fn lose(&mut self) {
        self.losses += u64::from(!matches!(self.state, State::Lost));
        self.state = State::Lost;
    }

    fn begin_fragment(&mut self, at: Duration, mark: u32, each: &mut impl FnMut(Record<'_>)) {
        let left = (mark & !LAST_FRAGMENT) as usize;
        self.record_bytes += left;
        if self.record_bytes > MAX_RECORD_BYTES {
            return self.lose();
        }
        self.state = State::Fragment { left, is_last: mark & LAST_FRAGMENT != 0 };
        self.advance(at, 0, each);
    }

    /// Goes on behind `taken` bytes of a fragment.
    fn advance(&mut self, at: Duration, taken: usize, each: &mut impl FnMut(Record<'_>)) {
        let State::Fragment { left, is_last } = &mut self.state else { return };
        *left -= taken;
        if *left > 0 {
            return;
        }
        if !*is_last {
            self.state = BETWEEN;
            return;
        }
        self.has_records = true;
        each(Record { began: self.began, ended: at, message: &self.kept });
        self.begin();
    }
}

/// Whether a segment begins with a mark and the header of a call or a reply.
fn looks_like_a_record(bytes: &[u8]) -> bool {
    let words = bytes.as_chunks::<4>().0;
    let word = |index: usize| words.get(index).copied().map(u32::from_be_bytes);
    let length = word(0).map_or(0, |mark| (mark & !LAST_FRAGMENT) as usize);
    // Behind the mark: the xid, and whether it is a call.
    match word(2) {
        Some(0) => {
            let is_program = word(4).is_some_and(|program| PROGRAMS.contains(&program));
            (CALL_WORDS * 4..=MAX_RECORD_BYTES).contains(&length) && word(3) == Some(rpc::RPC_VERSION) && is_program
        }
        Some(1) => {
            let is_accepted = word(3) == Some(0) && word(5).is_some_and(|bytes| bytes <= MAX_AUTH_BYTES);
            let is_denied = word(3) == Some(1) && word(4).is_some_and(|reason| reason <= 1);
            (REPLY_WORDS * 4..=MAX_RECORD_BYTES).contains(&length) && (is_accepted || is_denied)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with a reply's header and `text` behind it.
    fn record(xid: u32, text: &str) -> Vec<u8> {
        let head = [xid, 1, 0, 0, 0, 0].map(u32::to_be_bytes).concat();
        let mark = LAST_FRAGMENT | (head.len() + text.len()) as u32;
        [&mark.to_be_bytes()[..], &head, text.as_bytes()].concat()
    }

    /// The texts of the records in pieces, and how often records were lost.
    fn texts(pieces: &[Piece<'_>]) -> (Vec<String>, u64) {
        let (mut records, mut texts) = (Records::default(), Vec::new());
        for piece in pieces {
            let mut each = |record: Record<'_>| {
                texts.push(String::from_utf8(record.message.get(24..).unwrap_or_default().to_vec()).unwrap());
            };
            records.add(Duration::ZERO, *piece, &mut each);
        }
        (texts, records.losses)
    }

    #[test]
    fn records_are_found_however_segments_divide_them() {
        let stream = [record(1, "one"), record(2, "two"), record(3, "three")].concat();
        for length in 28..stream.len() {
            let (first, second) = stream.split_at(length);
            let (texts, losses) = texts(&[Piece::Known(first), Piece::Known(second)]);
            assert_eq!((texts.join(","), losses), ("one,two,three".to_owned(), 0), "divided at {length}");
        }
    }

    #[test]
    fn bytes_missing_inside_of_a_record_truncate_it_alone() {
        let stream = [record(1, "abcdefgh"), record(2, "two")].concat();
        let pieces = [Piece::Known(&stream[..30]), Piece::Missing(3), Piece::Known(&stream[33..])];
        assert_eq!(texts(&pieces), (vec!["ab".to_owned(), "two".to_owned()], 0));
    }

    #[test]
    fn missing_mark_loses_the_records_up_to_the_next_segment_that_begins_with_one() {
        let (one, two, three) = (record(1, "one"), record(2, "two"), record(3, "three"));
        let pieces = [Piece::Known(&one), Piece::Missing(10), Piece::Known(&two[10..]), Piece::Known(&three)];
        assert_eq!(texts(&pieces), (vec!["one".to_owned(), "three".to_owned()], 1));
    }

    #[test]
    fn stream_that_is_no_rpc_has_no_records() {
        let pieces = [Piece::Known(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), Piece::Missing(100)];
        assert_eq!(texts(&pieces), (Vec::new(), 0));
    }

    #[test]
    fn mark_of_an_impossible_length_loses_the_stream_and_takes_no_memory() {
        let (one, two) = (record(1, "one"), record(2, "two"));
        let damaged = [&one[..], &u32::MAX.to_be_bytes(), &[7; 100]].concat();
        assert_eq!(texts(&[Piece::Known(&damaged), Piece::Known(&two)]), (vec!["one".to_owned(), "two".to_owned()], 1));
    }
}
