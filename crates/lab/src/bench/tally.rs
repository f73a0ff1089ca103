//! What one connection found, and what all of them found together.

use std::time::{Duration, Instant};

use measure::record::{Direction, DirectionSummary, Rates};
use measure::{Histogram, Spread, Work};

/// What was found for one direction.
#[derive(Debug)]
pub(crate) struct Tally {
    direction: Direction,
    work: Work,
    errors: u64,
    short: u64,
    latency_ns: Histogram,
    submission_ns: Spread,
    completion_ns: Histogram,
    /// From the start of the first operation to the end of the last.
    span: Option<(Instant, Instant)>,
}

/// How one operation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) moved_bytes: u64,
    /// Whether the server moved fewer bytes at once than it was asked to.
    pub(crate) is_short: bool,
}

/// When an operation was begun, given to the connection, and over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) began: Instant,
    pub(crate) submitted: Instant,
    pub(crate) ended: Instant,
}

impl Times {
    /// From its start to its end.
    pub(crate) fn latency_ns(self) -> u64 {
        nanoseconds(self.began, self.submitted).saturating_add(nanoseconds(self.submitted, self.ended))
    }
}

fn nanoseconds(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_nanos()).unwrap_or(u64::MAX)
}

impl Tally {
    pub(crate) fn new(direction: Direction) -> Tally {
        Tally {
            direction,
            work: Work::default(),
            errors: 0,
            short: 0,
            latency_ns: Histogram::new(),
            submission_ns: Spread::default(),
            completion_ns: Histogram::new(),
            span: None,
        }
    }

    /// Counts an operation.
    pub(crate) fn record(&mut self, done: Done, times: Times) {
        self.work += Work { operations: 1, bytes: done.moved_bytes };
        self.short += u64::from(done.is_short);
        let submission_ns = nanoseconds(times.began, times.submitted);
        let completion_ns = nanoseconds(times.submitted, times.ended);
        self.latency_ns.record(submission_ns.saturating_add(completion_ns));
        self.submission_ns.record(submission_ns);
        self.completion_ns.record(completion_ns);
        self.extend(times.began, times.ended);
    }

    /// Counts an operation that failed.
    pub(crate) fn record_error(&mut self) {
        self.errors += 1;
    }

    /// Adds what another connection found for the same direction.
    pub(crate) fn merge(&mut self, other: &Tally) {
        self.work += other.work;
        self.errors += other.errors;
        self.short += other.short;
        self.latency_ns.merge(&other.latency_ns);
        self.submission_ns.merge(&other.submission_ns);
        self.completion_ns.merge(&other.completion_ns);
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

    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// From the first start of these operations to the last end of the others, when there are some of both.
    pub(crate) fn time_until_end_of(&self, others: &Tally) -> Option<Duration> {
        let ((began, _), (_, ended)) = self.span.zip(others.span)?;
        Some(ended.saturating_duration_since(began))
    }

    /// The result, unless there was no operation.
    pub(crate) fn summary(self, rates: Rates) -> Option<DirectionSummary> {
        let runtime = self.span.map_or(Duration::ZERO, |(first, last)| last - first);
        (!self.is_empty()).then_some(DirectionSummary {
            direction: self.direction,
            work: self.work,
            errors: self.errors,
            short: self.short,
            runtime,
            runtime_with_commit: None,
            latency_ns: self.latency_ns,
            submission_ns: self.submission_ns,
            completion_ns: self.completion_ns,
            rates,
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
        let times = |began, ended| Times { began: at(began), submitted: at(began + 1), ended: at(ended) };
        one.record(done(100), times(0, 10));
        two.record(done(60), times(5, 35));
        two.record_error();
        one.merge(&two);
        let summary = one.summary(Rates::default()).unwrap();
        assert_eq!(summary.work, Work { operations: 2, bytes: 160 });
        assert_eq!((summary.short, summary.errors), (1, 1));
        assert_eq!(summary.runtime, Duration::from_millis(35));
        assert_eq!((summary.latency_ns.min(), summary.latency_ns.max()), (10_000_000, 30_000_000));
        assert_eq!((summary.submission_ns.min(), summary.submission_ns.count()), (1_000_000, 2));
        assert_eq!((summary.completion_ns.min(), summary.completion_ns.max()), (9_000_000, 29_000_000));
        assert!(Tally::new(Direction::Write).summary(Rates::default()).is_none());
    }
}
