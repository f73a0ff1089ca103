//! The state of a log in memory: the current batch, the kept batches, and counters.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant, SystemTime};

use super::LogError;
use super::batch::{Gathering, RECORD_HEAD_BYTES};
use super::kept::{KeptBatch, KeptBatches};
use super::ring::{blocks, next_block};

/// The maximum number of appends that overtake a waiting one.
const MAX_OVERTAKEN: u32 = 256;

/// What a log counts since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LogCounts {
    /// Batches that were written.
    pub(crate) batches: u64,
    /// Records in them.
    pub(crate) records: u64,
    /// The most records of one batch.
    pub(crate) largest_group: u32,
    /// Appends that waited because the log was full.
    pub(crate) stalls: u64,
}

/// A batch that is being written.
pub(crate) struct BatchInFlight {
    pub(crate) gathering: Gathering,
    pub(crate) number: u64,
    pub(crate) position: u64,
}

/// Whether there is room for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// There is.
    Free,
    /// The current batch is full, but the next one has room.
    BatchFull,
    /// There is no room before a trim.
    LogFull,
}

pub(crate) struct LogState {
    gathering: Gathering,
    /// The memory for the next batch; `None` while it is written.
    spare: Option<Gathering>,
    kept: KeptBatches,
    /// The position and number of the current batch.
    position: u64,
    number: u64,
    /// The position behind the last record.
    end: u64,
    /// The positions of records whose changes are not made yet; all differ.
    ahead: BTreeSet<u64>,
    failure: Option<LogError>,
    /// Whether trims have ended, so that nobody may wait for one.
    is_never_trimmed: bool,
    queue: Queue,
    /// Threads that wait for the batch being written and for the next one, by the lowest bit of its number.
    waiters: [u32; 2],
    counts: LogCounts,
    clock: LogClock,
}

/// The time since 1970 that records get. It never goes back while the log is open, although the machine's clock may.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogClock {
    opened: Instant,
    opened_at: Duration,
}

impl LogClock {
    pub(crate) fn new() -> LogClock {
        LogClock { opened: Instant::now(), opened_at: now() }
    }

    fn now(&self) -> Duration {
        self.opened_at + self.opened.elapsed()
    }
}

impl LogState {
    pub(crate) fn new(kept: KeptBatches, batch_bytes: usize) -> LogState {
        LogState {
            gathering: Gathering::new(batch_bytes),
            spare: Some(Gathering::new(batch_bytes)),
            position: kept.next_position(),
            number: kept.next_number(),
            end: kept.end(),
            kept,
            ahead: BTreeSet::new(),
            failure: None,
            is_never_trimmed: false,
            queue: Queue::default(),
            waiters: [0; 2],
            counts: LogCounts::default(),
            clock: LogClock::new(),
        }
    }

    pub(crate) fn kept(&self) -> &KeptBatches {
        &self.kept
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn counts(&self) -> LogCounts {
        self.counts
    }

    /// How many threads wait for this batch, which is being written or is the next one.
    pub(crate) fn waiters(&mut self, batch: u64) -> &mut u32 {
        &mut self.waiters[(batch % 2) as usize]
    }

    pub(crate) fn count_stall(&mut self) {
        self.counts.stalls += 1;
    }

    /// The failure that ended the log's writes, if one did.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Ends the log's writes, and keeps the first failure.
    pub(crate) fn fail(&mut self, failure: LogError) {
        self.failure.get_or_insert(failure);
    }

    pub(crate) fn end_trims(&mut self) {
        self.is_never_trimmed = true;
    }

    pub(crate) fn is_never_trimmed(&self) -> bool {
        self.is_never_trimmed
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.spare.is_none()
    }

    /// Whether no record gathers.
    pub(crate) fn is_empty(&self) -> bool {
        self.gathering.records() == 0
    }

    /// The number of the batch with the record in front of `position`, if it is not durable.
    pub(crate) fn batch_of(&self, position: u64) -> u64 {
        if position > self.position { self.number } else { self.number - 1 }
    }

    /// Whether there is room for a record in a log of `ring_bytes`.
    pub(crate) fn room(&self, bytes: usize, ring_bytes: u64) -> Room {
        let batch_bytes = blocks(self.gathering.length() + RECORD_HEAD_BYTES + bytes) as u64;
        if self.position + batch_bytes > self.kept.first_position() + ring_bytes {
            Room::LogFull
        } else if self.gathering.fits(bytes) {
            Room::Free
        } else {
            Room::BatchFull
        }
    }

    /// How many bytes of the ring are taken.
    pub(crate) fn used_bytes(&self) -> u64 {
        let gathering = if self.is_empty() { 0 } else { blocks(self.gathering.length()) as u64 };
        self.position + gathering - self.kept.first_position()
    }

    /// The age of the oldest record.
    pub(crate) fn oldest_age(&self) -> Option<Duration> {
        let oldest_ms = self.kept.oldest_ms().or_else(|| (!self.is_empty()).then(|| self.gathering.oldest_ms()));
        oldest_ms.map(|oldest_ms| age(self.clock.now(), oldest_ms))
    }

    /// Adds a record that has room, and returns the position behind it.
    pub(crate) fn put(&mut self, parts: &[&[u8]], bytes: usize) -> u64 {
        self.gathering.put(parts, bytes, self.clock.now());
        self.end = self.position + self.gathering.length() as u64;
        self.end
    }

    /// Prevents trims of the records from `position` on.
    pub(crate) fn pin(&mut self, position: u64) {
        self.ahead.insert(position);
    }

    /// Takes a [`LogState::pin`] back.
    pub(crate) fn unpin(&mut self, position: u64) {
        self.ahead.remove(&position);
    }

    /// The position up to which all changes are made.
    pub(crate) fn made_end(&self) -> u64 {
        self.ahead.first().copied().unwrap_or(self.end)
    }

    /// Takes the current batch to write it, and starts the next one. `None` while another one is written.
    pub(crate) fn take(&mut self) -> Option<BatchInFlight> {
        let gathering = std::mem::replace(&mut self.gathering, self.spare.take()?);
        let outgoing = BatchInFlight { number: self.number, position: self.position, gathering };
        self.number += 1;
        self.position = next_block(outgoing.end());
        Some(outgoing)
    }

    /// Records that a batch is durable, or that its write failed.
    pub(crate) fn finish(&mut self, mut outgoing: BatchInFlight, outcome: Result<(), LogError>) {
        match outcome {
            Ok(()) => self.keep(&outgoing),
            Err(failure) => self.fail(failure),
        }
        outgoing.gathering.clear();
        self.spare = Some(outgoing.gathering);
    }

    fn keep(&mut self, outgoing: &BatchInFlight) {
        let gathering = &outgoing.gathering;
        self.counts.batches += 1;
        self.counts.records += u64::from(gathering.records());
        self.counts.largest_group = self.counts.largest_group.max(gathering.records());
        let length = gathering.length() as u32;
        self.kept.push(KeptBatch { position: outgoing.position, length, oldest_ms: gathering.oldest_ms() });
    }

    /// Drops the records up to `tail`, which is durable.
    pub(crate) fn trim(&mut self, tail: u64) {
        self.kept.trim(tail);
    }

    /// Whether appends wait for room.
    pub(crate) fn has_queue(&self) -> bool {
        !self.queue.waiting.is_empty()
    }

    pub(crate) fn queue(&mut self) -> &mut Queue {
        &mut self.queue
    }
}

/// Appends that wait for room. Others may overtake them, so that nobody waits for a thread that is not running yet. A
/// limit prevents small records from delaying a large one for ever.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The numbers of the waiting appends, in order.
    waiting: VecDeque<u64>,
    /// The number of appends that ever waited.
    count: u64,
    /// The number of appends that overtook the first one.
    overtaken: u32,
}

impl Queue {
    /// Puts an append at the end, and returns its number.
    pub(crate) fn push(&mut self) -> u64 {
        self.count += 1;
        self.waiting.push_back(self.count);
        self.count
    }

    /// Whether an append may take free room: the one with this number, or one that is not waiting yet.
    pub(crate) fn may_go(&self, number: Option<u64>) -> bool {
        let first = self.waiting.front().copied();
        first.is_none() || first == number || self.overtaken < MAX_OVERTAKEN
    }

    /// Records that an append got room. Returns whether others may continue now.
    pub(crate) fn went(&mut self, number: Option<u64>) -> bool {
        let was_full = self.overtaken >= MAX_OVERTAKEN;
        if let Some(number) = number {
            if self.waiting.front() == Some(&number) {
                self.overtaken = 0;
            }
            self.waiting.retain(|&waiting| waiting != number);
        }
        if self.waiting.is_empty() {
            self.overtaken = 0;
        } else if self.overtaken < MAX_OVERTAKEN {
            self.overtaken += 1;
        }
        was_full && self.overtaken < MAX_OVERTAKEN
    }
}

impl BatchInFlight {
    fn end(&self) -> u64 {
        self.position + self.gathering.length() as u64
    }
}

/// The age of what was appended so many ms after 1970.
pub(crate) fn age(now: Duration, appended_ms: u64) -> Duration {
    now.saturating_sub(Duration::from_millis(appended_ms))
}

/// The time since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::ring::BLOCK_BYTES;
    use super::*;

    #[test]
    fn record_gets_old_although_the_clock_of_the_machine_is_set_back() {
        let mut state = LogState::new(KeptBatches::new(0, 0, 0), BLOCK_BYTES);
        // The clock was set back by an hour since the log was opened.
        state.clock.opened_at += Duration::from_secs(3600);
        state.put(&[b"record"], 6);
        let passes = Duration::from_secs(11);
        state.clock.opened_at += passes;
        assert!(state.oldest_age().is_some_and(|age| age >= passes));
    }

    #[test]
    fn append_that_waits_is_overtaken_by_a_limited_number_of_others() {
        let mut queue = Queue::default();
        let (first, second) = (queue.push(), queue.push());
        for _ in 0..MAX_OVERTAKEN {
            assert!(queue.may_go(None) && queue.may_go(Some(second)));
            assert!(!queue.went(None));
        }
        assert!(!queue.may_go(None) && !queue.may_go(Some(second)));
        assert!(queue.may_go(Some(first)));
        assert!(queue.went(Some(first)), "others may go again");
        assert!(queue.may_go(None) && queue.may_go(Some(second)));
        queue.went(Some(second));
        assert!(queue.may_go(None) && queue.waiting.is_empty());
    }
}
