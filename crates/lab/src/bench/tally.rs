//! What one connection found, and what all of them found together.

use std::time::{Duration, Instant};

use measure::{Histogram, Work};
use report::{Direction, DirectionSummary};

/// What was found for one direction.
#[derive(Debug)]
pub(super) struct Tally {
    direction: Direction,
    work: Work,
    errors: u64,
    short: u64,
    latency_ns: Histogram,
    /// From the start of the first operation to the end of the last.
    span: Option<(Instant, Instant)>,
}

/// How one operation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) moved_bytes: u64,
    /// Whether the server moved fewer bytes at once than it was asked to.
    pub(super) is_short: bool,
}

impl Tally {
    pub(super) fn new(direction: Direction) -> Tally {
        Tally { direction, work: Work::default(), errors: 0, short: 0, latency_ns: Histogram::new(), span: None }
    }

    /// Counts an operation that took from `began` to `ended`.
    pub(super) fn record(&mut self, done: Done, began: Instant, ended: Instant) {
        self.work += Work { operations: 1, bytes: done.moved_bytes };
        self.short += u64::from(done.is_short);
        let latency = ended.saturating_duration_since(began);
        self.latency_ns.record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
        self.extend(began, ended);
    }

    /// Counts an operation that failed.
    pub(super) fn record_error(&mut self) {
        self.errors += 1;
    }

    pub(super) fn errors(&self) -> u64 {
        self.errors
    }

    /// Adds what another connection found for the same direction.
    pub(super) fn merge(&mut self, other: &Tally) {
        self.work += other.work;
        self.errors += other.errors;
        self.short += other.short;
        self.latency_ns.merge(&other.latency_ns);
        if let Some((began, ended)) = other.span {
            self.extend(began, ended);
        }
    }

    fn extend(&mut self, began: Instant, ended: Instant) {
        let (first, last) = self.span.unwrap_or((began, ended));
        self.span = Some((first.min(began), last.max(ended)));
    }

    fn is_empty(&self) -> bool {
        self.work.operations == 0 && self.errors == 0
    }

    /// The result, unless there was no operation.
    pub(super) fn summary(self) -> Option<DirectionSummary> {
        let runtime = self.span.map_or(Duration::ZERO, |(first, last)| last - first);
        (!self.is_empty()).then_some(DirectionSummary {
            direction: self.direction,
            work: self.work,
            errors: self.errors,
            short: self.short,
            runtime,
            latency_ns: self.latency_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_together_ran_from_the_first_start_to_the_last_end() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let done = |moved_bytes| Done { moved_bytes, is_short: moved_bytes < 100 };
        let (mut one, mut two) = (Tally::new(Direction::Read), Tally::new(Direction::Read));
        one.record(done(100), at(0), at(10));
        two.record(done(60), at(5), at(35));
        two.record_error();
        one.merge(&two);
        let summary = one.summary().unwrap();
        assert_eq!(summary.work, Work { operations: 2, bytes: 160 });
        assert_eq!((summary.short, summary.errors), (1, 1));
        assert_eq!(summary.runtime, Duration::from_millis(35));
        assert_eq!((summary.latency_ns.min(), summary.latency_ns.max()), (10_000_000, 30_000_000));
        assert!(Tally::new(Direction::Write).summary().is_none());
    }
}
