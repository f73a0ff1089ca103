//! One direction of a captured TCP connection: its bytes in their order, and what is missing of them.
//!
//! Retransmitted bytes come once. Segments behind a gap are held until the gap is filled, until the receiver has
//! acknowledged bytes behind it, which the capture then lacks, or until too much is held.

use std::time::Duration;

use segments::trace::Segment;

/// The most bytes that all streams of a capture hold.
const MAX_HELD_BYTES: usize = 64 << 20;
/// The most segments that one stream holds.
const MAX_HELD_SEGMENTS: usize = 256;
/// What a held segment costs besides its data.
const HELD_SEGMENT_BYTES: usize = 64;

/// The next bytes of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// They were captured; these begin a segment.
    Known(&'a [u8]),
    /// So many were not.
    Missing(usize),
}

/// Who takes the pieces of a stream, with their times.
pub(super) type Each<'e> = dyn FnMut(Duration, Piece<'_>) + 'e;

/// The bytes that all streams hold.
#[derive(Debug, Default)]
pub(super) struct Budget {
    held_bytes: usize,
}

/// The order of one direction.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The number of the next byte, once there was a segment.
    next: Option<u32>,
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    sequence: u32,
    at: Duration,
    data: Vec<u8>,
    missing_bytes: usize,
}

/// A segment that follows the bytes that were passed on, or repeats some of them.
struct Following<'a> {
    at: Duration,
    sequence: u32,
    data: &'a [u8],
    missing_bytes: usize,
}

impl Held {
    fn cost(&self) -> usize {
        self.data.len() + HELD_SEGMENT_BYTES
    }
}

/// How far `to` is behind `from`; negative if it is in front.
fn distance(from: u32, to: u32) -> i64 {
    i64::from(to.wrapping_sub(from).cast_signed())
}

impl Stream {
    /// Adds a segment of this direction.
    pub(super) fn add(&mut self, at: Duration, segment: &Segment<'_>, budget: &mut Budget, each: &mut Each<'_>) {
        if segment.is_syn {
            self.next = Some(segment.sequence.wrapping_add(1));
            return;
        }
        if segment.data_bytes == 0 {
            return;
        }
        let next = *self.next.get_or_insert(segment.sequence);
        let missing_bytes = segment.data_bytes - segment.data.len();
        if distance(next, segment.sequence) <= 0 {
            self.pass(Following { at, sequence: segment.sequence, data: segment.data, missing_bytes }, each);
            return self.release(budget, each);
        }
        let held = Held { sequence: segment.sequence, at, data: segment.data.to_vec(), missing_bytes };
        budget.held_bytes += held.cost();
        self.held.push(held);
        while self.held.len() > MAX_HELD_SEGMENTS || (!self.held.is_empty() && budget.held_bytes > MAX_HELD_BYTES) {
            self.skip_gap(at, budget, each);
        }
    }

    /// Whether this SYN, which was retransmitted, began the stream.
    pub(super) fn began_with(&self, syn: &Segment<'_>) -> bool {
        self.next == Some(syn.sequence.wrapping_add(1))
    }

    /// Notes that the receiver has all bytes before `acknowledgment`.
    pub(super) fn acknowledge(&mut self, at: Duration, acknowledgment: u32, budget: &mut Budget, each: &mut Each<'_>) {
        while let (Some(next), false) = (self.next, self.held.is_empty())
            && distance(next, acknowledgment) > 0
        {
            self.skip_gap(at, budget, each);
        }
    }

    /// Passes on what is held: nothing more follows.
    pub(super) fn end(&mut self, at: Duration, budget: &mut Budget, each: &mut Each<'_>) {
        while !self.held.is_empty() {
            self.skip_gap(at, budget, each);
        }
    }

    /// Gives up the bytes before the first held segment.
    fn skip_gap(&mut self, at: Duration, budget: &mut Budget, each: &mut Each<'_>) {
        let Some(next) = self.next else { return };
        let Some(gap) = self.held.iter().map(|held| distance(next, held.sequence)).min() else { return };
        if let Some(missing) = usize::try_from(gap).ok().filter(|missing| *missing > 0) {
            each(at, Piece::Missing(missing));
            self.next = Some(next.wrapping_add(missing as u32));
        }
        self.release(budget, each);
    }

    /// Passes on the held segments that follow now.
    fn release(&mut self, budget: &mut Budget, each: &mut Each<'_>) {
        while let Some(next) = self.next
            && let Some(index) = self.held.iter().position(|held| distance(next, held.sequence) <= 0)
        {
            let held = self.held.swap_remove(index);
            budget.held_bytes -= held.cost();
            let Held { sequence, at, data, missing_bytes } = &held;
            self.pass(Following { at: *at, sequence: *sequence, data, missing_bytes: *missing_bytes }, each);
        }
    }

    /// Passes on the part of a segment that is new.
    fn pass(&mut self, segment: Following<'_>, each: &mut Each<'_>) {
        let Following { at, sequence, data, missing_bytes } = segment;
        let Some(next) = self.next else { return };
        let old = usize::try_from(distance(sequence, next)).unwrap_or(0);
        let new = data.get(old..).unwrap_or_default();
        let missing_bytes = missing_bytes.saturating_sub(old.saturating_sub(data.len()));
        if !new.is_empty() {
            each(at, Piece::Known(new));
        }
        if missing_bytes > 0 {
            each(at, Piece::Missing(missing_bytes));
        }
        self.next = Some(next.wrapping_add((new.len() + missing_bytes) as u32));
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn segment(sequence: u32, data: &[u8], data_bytes: usize) -> Segment<'_> {
        let end = SocketAddr::from(([127, 0, 0, 1], 1));
        Segment {
            from: end,
            to: end,
            sequence,
            is_syn: false,
            is_ack: false,
            acknowledgment: 0,
            window: 0,
            mss: None,
            option_bytes: 0,
            data_bytes,
            data,
        }
    }

    /// What comes out of segments, with a dot for each missing byte.
    fn text(segments: &[Segment<'_>], acknowledgments: &[u32]) -> String {
        let (mut stream, mut budget, mut text) = (Stream::default(), Budget::default(), String::new());
        let mut each = |_, piece: Piece<'_>| match piece {
            Piece::Known(bytes) => text.push_str(str::from_utf8(bytes).unwrap()),
            Piece::Missing(bytes) => text.push_str(&".".repeat(bytes)),
        };
        segments.iter().for_each(|segment| stream.add(Duration::ZERO, segment, &mut budget, &mut each));
        for acknowledgment in acknowledgments {
            stream.acknowledge(Duration::ZERO, *acknowledgment, &mut budget, &mut each);
        }
        stream.end(Duration::ZERO, &mut budget, &mut each);
        assert_eq!(budget.held_bytes, 0);
        text
    }

    #[test]
    fn reordered_and_retransmitted_segments_come_once_and_in_order() {
        let first = u32::MAX - 1;
        let at = |offset: u32| first.wrapping_add(offset);
        let sent = [(0, &b"ab"[..]), (4, b"ef"), (0, b"abcd"), (2, b"cd"), (3, b"defg")];
        let segments: Vec<_> = sent.iter().map(|(offset, data)| segment(at(*offset), data, data.len())).collect();
        assert_eq!(text(&segments, &[]), "abcdefg");
    }

    #[test]
    fn bytes_that_were_not_captured_are_missing_and_the_stream_goes_on() {
        let truncated = [segment(0, b"ab", 5), segment(5, b"fg", 2)];
        assert_eq!(text(&truncated, &[]), "ab...fg");
        let lost = [segment(0, b"ab", 2), segment(5, b"fg", 2), segment(9, b"jk", 2)];
        assert_eq!(text(&lost, &[7]), "ab...fg..jk");
        let overlap = [segment(0, b"ab", 5), segment(0, b"ab", 8)];
        assert_eq!(text(&overlap, &[]), "ab......");
    }

    #[test]
    fn segments_behind_a_gap_are_held_only_so_long() {
        let many: Vec<_> = (0..=MAX_HELD_SEGMENTS as u32 + 1).map(|number| segment(number * 2, b"x", 1)).collect();
        let (mut stream, mut budget, mut known) = (Stream::default(), Budget::default(), 0);
        for segment in &many {
            let mut each = |_, piece: Piece<'_>| known += usize::from(matches!(piece, Piece::Known(_)));
            stream.add(Duration::ZERO, segment, &mut budget, &mut each);
        }
        assert_eq!((known, stream.held.len()), (2, MAX_HELD_SEGMENTS));
    }
}
