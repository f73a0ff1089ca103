//! Which parts of a file are read one after the other: arithmetic on offsets, without clock or system call.
//!
//! A stream is a reader that goes forward. Several may read one file by turns, and the requests of each may come in any
//! order within [`REORDER_REQUESTS`]. What is to be read ahead begins small and doubles, and is asked for before the
//! reader gets there, so that a stream that goes on never waits and one that ends has wasted little. Reads at random
//! make no stream.

use std::collections::VecDeque;
use std::ops::Range;

/// How many streams of one file, and reads that may become one, are told apart.
const MAX_STREAMS: usize = 32;

/// How many requests of a stream may be in progress in any order.
const REORDER_REQUESTS: u64 = 16;

/// How many requests near one another make a stream; two are enough when the second begins where the first ends.
const PROOF_REQUESTS: u32 = 3;

/// How much is read ahead at first: so many requests, and this many bytes at least.
const FIRST_REQUESTS: u64 = 4;
const FIRST_BYTES: u64 = 128 << 10;

/// After how many reads that no stream expected the streams are over.
const MAX_IDLE_READS: u32 = 256;

/// How many missed reads are kept in mind until they are read by a thread that waits.
const MAX_MISSED: usize = 256;

/// Whether the bytes of a read were in memory, as far as that shows without waiting for storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadResidency {
    /// All bytes were in memory.
    Here,
    /// Some were not: the read is repeated, from a thread that waits.
    Missing,
    /// Nothing: a thread that waits reads, after [`ReadResidency::Missing`] or without having tried.
    Unknown,
}

/// The streams of one file.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    streams: Vec<Stream>,
    missed: VecDeque<u64>,
    reads: u64,
    idle_reads: u32,
}

#[derive(Debug)]
struct Stream {
    /// The end of what was read so far.
    next: u64,
    requests: u32,
    is_proven: bool,
    /// How much was read ahead at the last time; 0 at first.
    window: u64,
    /// The end of what was read ahead.
    ahead: u64,
    /// When it was last read, in reads of the file.
    last_read: u64,
}

impl Streams {
    /// How many streams there are for certain.
    pub(crate) fn proven(&self) -> usize {
        self.streams.iter().filter(|stream| stream.is_proven).count()
    }

    /// Takes note of a read, and says what is to be read ahead now: no more than `max_window` bytes.
    pub(crate) fn note(&mut self, read: &Range<u64>, residency: ReadResidency, max_window: u64) -> Option<Range<u64>> {
        if read.is_empty() || self.was_noted(read, residency) {
            return None;
        }
        self.reads += 1;
        let Some(index) = self.streams.iter().position(|stream| stream.expects(read)) else {
            self.unexpected(read, residency);
            return None;
        };
        self.idle_reads = 0;
        let stream = &mut self.streams[index];
        stream.last_read = self.reads;
        stream.advance(read, max_window)
    }

    /// Whether a read that waits was noted already when it was tried.
    fn was_noted(&mut self, read: &Range<u64>, residency: ReadResidency) -> bool {
        match residency {
            ReadResidency::Here => false,
            ReadResidency::Missing => {
                if self.missed.len() == MAX_MISSED {
                    self.missed.pop_front();
                }
                self.missed.push_back(read.start);
                false
            }
            ReadResidency::Unknown => {
                let place = self.missed.iter().position(|start| *start == read.start);
                place.and_then(|place| self.missed.remove(place)).is_some()
            }
        }
    }

    /// A read that no stream expected may be the first of another one, unless all of it was here.
    fn unexpected(&mut self, read: &Range<u64>, residency: ReadResidency) {
        self.idle_reads += 1;
        if self.idle_reads > MAX_IDLE_READS {
            self.streams.clear();
            self.idle_reads = 0;
        }
        if residency == ReadResidency::Here {
            return;
        }
        if self.streams.len() == MAX_STREAMS {
            self.forget_one();
        }
        self.streams.push(Stream {
            next: read.end,
            requests: 1,
            is_proven: false,
            window: 0,
            ahead: 0,
            last_read: self.reads,
        });
    }

    /// Forgets the one that was not read for longest, if possible one that is not certain.
    fn forget_one(&mut self) {
        let key = |stream: &Stream| (stream.is_proven, stream.last_read);
        let oldest = (0..self.streams.len()).min_by_key(|index| key(&self.streams[*index]));
        if let Some(oldest) = oldest {
            self.streams.swap_remove(oldest);
        }
    }
}

impl Stream {
    fn expects(&self, read: &Range<u64>) -> bool {
        let near = (read.end - read.start).saturating_mul(REORDER_REQUESTS);
        read.start.abs_diff(self.next) <= near
    }

    fn advance(&mut self, read: &Range<u64>, max_window: u64) -> Option<Range<u64>> {
        self.requests = self.requests.saturating_add(1);
        self.is_proven |= read.start == self.next || self.requests >= PROOF_REQUESTS;
        self.next = self.next.max(read.end);
        // The next part is asked for when half of the last one is left.
        if !self.is_proven || self.next + self.window / 2 < self.ahead {
            return None;
        }
        let first = ((read.end - read.start).saturating_mul(FIRST_REQUESTS)).max(FIRST_BYTES);
        self.window = (self.window * 2).max(first).min(max_window);
        let start = self.ahead.max(self.next);
        self.ahead = start.saturating_add(self.window);
        (self.window > 0).then_some(start..self.ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const MAX: u64 = 4 << 20;

    /// Reads of `size` bytes at these offsets, all missing; what is read ahead.
    fn ahead(streams: &mut Streams, size: u64, offsets: impl IntoIterator<Item = u64>) -> Vec<Range<u64>> {
        let note = |offset| streams.note(&(offset..offset + size), ReadResidency::Missing, MAX);
        offsets.into_iter().filter_map(note).collect()
    }

    fn random(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed >> 33
    }

    #[test]
    fn second_read_in_a_row_makes_a_stream_that_is_read_ahead_of() {
        let mut streams = Streams::default();
        assert_eq!(ahead(&mut streams, 4 * KIB, [0]), []);
        let first = 8 * KIB..136 * KIB;
        assert_eq!(ahead(&mut streams, 4 * KIB, [4 * KIB]), [first]);
        assert_eq!(streams.proven(), 1);
    }

    #[test]
    fn windows_double_up_to_the_limit_and_leave_no_gap() {
        let mut streams = Streams::default();
        let parts = ahead(&mut streams, 64 * KIB, (0..1000).map(|index| index * 64 * KIB));
        let sizes: Vec<u64> = parts.iter().map(|part| (part.end - part.start) / KIB).collect();
        assert_eq!(sizes[..6], [256, 512, 1024, 2048, 4096, 4096]);
        assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start), "{parts:?}");
    }

    #[test]
    fn next_part_is_asked_for_before_the_reader_gets_there() {
        let mut streams = Streams::default();
        let mut end = 0;
        for index in 0..1000 {
            let read = index * 64 * KIB..(index + 1) * 64 * KIB;
            assert!(index < 2 || read.end <= end, "read {index} is not read ahead of: {read:?}, {end}");
            end = streams.note(&read, ReadResidency::Here, MAX).map_or(end, |part| part.end);
            if index < 2 {
                end = streams.note(&read, ReadResidency::Missing, MAX).map_or(end, |part| part.end);
            }
        }
    }

    #[test]
    fn interleaved_readers_are_read_ahead_of_each_as_if_it_were_alone() {
        let alone = ahead(&mut Streams::default(), 64 * KIB, (0..64).map(|index| index * 64 * KIB));
        let mut streams = Streams::default();
        let far = 1 << 30;
        let by_turns = (0..64).flat_map(|index| (0..4).map(move |reader| reader * far + index * 64 * KIB));
        let parts = ahead(&mut streams, 64 * KIB, by_turns);
        for reader in 0..4 {
            let of_reader: Vec<Range<u64>> = parts
                .iter()
                .filter(|part| part.start / far == reader)
                .map(|part| part.start - reader * far..part.end - reader * far)
                .collect();
            assert_eq!(of_reader, alone, "reader {reader}");
        }
        assert_eq!(streams.proven(), 4);
    }

    #[test]
    fn requests_that_come_in_any_order_within_a_window_are_one_stream() {
        for seed in 0..100 {
            let mut state = seed;
            let mut offsets: Vec<u64> = (0..512).map(|index| index * 64 * KIB).collect();
            for batch in offsets.chunks_mut(16) {
                for index in (1..batch.len()).rev() {
                    batch.swap(index, random(&mut state) as usize % (index + 1));
                }
            }
            let mut streams = Streams::default();
            let parts = ahead(&mut streams, 64 * KIB, offsets);
            let total: u64 = parts.iter().map(|part| part.end - part.start).sum();
            assert!(total >= 28 << 20, "seed {seed}: {total} of 32 MiB were read ahead");
            assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start), "seed {seed}: {parts:?}");
            assert_eq!(streams.proven(), 1, "seed {seed}");
        }
    }

    #[test]
    fn random_reads_are_not_read_ahead_of() {
        let mut seed = 1;
        let mut streams = Streams::default();
        let parts = ahead(&mut streams, 4 * KIB, (0..10_000).map(|_| random(&mut seed) % (1 << 20) * 4 * KIB));
        let total: u64 = parts.iter().map(|part| part.end - part.start).sum();
        assert!(total < 10_000 * 4 * KIB / 10, "{total} bytes were read ahead for 40 000 KiB that were read");
    }

    #[test]
    fn reader_among_random_reads_keeps_its_stream() {
        let mut seed = 1;
        let mut streams = Streams::default();
        let mut total = 0;
        for index in 0..200 {
            let sequential = index * 64 * KIB..(index + 1) * 64 * KIB;
            total += streams.note(&sequential, ReadResidency::Missing, MAX).map_or(0, |part| part.end - part.start);
            for _ in 0..20 {
                let offset = (1 << 35) + random(&mut seed) % (1 << 24) * 4 * KIB;
                let _ = streams.note(&(offset..offset + 4 * KIB), ReadResidency::Missing, MAX);
            }
        }
        assert!(total >= 12 << 20, "{total} of 12.5 MiB were read ahead");
    }

    #[test]
    fn read_that_comes_again_from_a_thread_that_waits_counts_once() {
        let mut streams = Streams::default();
        for offset in [0, 100 * KIB, 200 * KIB] {
            let read = offset..offset + 4 * KIB;
            assert_eq!(streams.note(&read, ReadResidency::Missing, MAX), None);
            assert_eq!(streams.note(&read, ReadResidency::Unknown, MAX), None);
        }
        assert_eq!(streams.proven(), 0);
    }

    #[test]
    fn reads_of_what_is_here_begin_no_stream_and_end_those_that_nobody_reads() {
        let mut streams = Streams::default();
        for index in 0..10 {
            assert_eq!(streams.note(&(index * KIB..(index + 1) * KIB), ReadResidency::Here, MAX), None);
        }
        assert_eq!(streams.proven(), 0);
        ahead(&mut streams, 4 * KIB, [0, 4 * KIB]);
        assert_eq!(streams.proven(), 1);
        for _ in 0..=MAX_IDLE_READS {
            assert_eq!(streams.note(&(1 << 40..(1 << 40) + 1), ReadResidency::Here, MAX), None);
        }
        assert_eq!(streams.proven(), 0);
    }

    #[test]
    fn number_of_streams_is_bounded() {
        let mut streams = Streams::default();
        for reader in 0..100 {
            ahead(&mut streams, 4 * KIB, [reader << 30, (reader << 30) + 4 * KIB]);
        }
        assert_eq!(streams.proven(), MAX_STREAMS);
    }
}
