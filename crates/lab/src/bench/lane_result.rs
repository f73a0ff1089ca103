use measure::Timeline;
use measure::record::Direction;

use super::plan::Step;
use super::schedule::Schedule;
use super::tally::{Done, Tally, Times};
use super::target::Mismatches;
use super::{Job, OperationError};

/// What connections found.
#[derive(Debug)]
pub(super) struct LaneResult {
    pub(super) reads: Tally,
    pub(super) writes: Tally,
    pub(super) syncs: Tally,
    pub(super) metadata: Tally,
    pub(super) timeline: Timeline,
    pub(super) first_error: Option<OperationError>,
    pub(super) wrong: Mismatches,
    /// Which granules were written, when that is wanted.
    pub(super) is_written: Vec<bool>,
}

impl LaneResult {
    pub(super) fn new(job: &Job) -> LaneResult {
        let granules = job.file_bytes / u64::from(job.granule_bytes());
        let tracked = if job.verify && job.workload.writes() { granules } else { 0 };
        LaneResult {
            reads: Tally::new(Direction::Read),
            writes: Tally::new(Direction::Write),
            syncs: Tally::new(Direction::Sync),
            metadata: Tally::new(Direction::Metadata),
            timeline: Timeline::default(),
            first_error: None,
            wrong: Mismatches::default(),
            is_written: vec![false; tracked as usize],
        }
    }

    pub(super) fn merge(&mut self, other: LaneResult) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        self.syncs.merge(&other.syncs);
        self.metadata.merge(&other.metadata);
        self.timeline.merge(&other.timeline);
        self.first_error = self.first_error.take().or(other.first_error);
        self.wrong.merge(other.wrong);
        self.is_written.iter_mut().zip(&other.is_written).for_each(|(mine, others)| *mine |= others);
    }

    pub(super) fn tallies(&self) -> [&Tally; 4] {
        [&self.reads, &self.writes, &self.syncs, &self.metadata]
    }

    /// Counts an operation over time, unless it ended after that.
    pub(super) fn record_in_time(&mut self, done: Done, times: Times, schedule: Schedule) {
        if !schedule.is_over(times.ended) {
            let at = times.ended.saturating_duration_since(schedule.measured_from);
            self.timeline.record(at, times.latency_ns(), done.moved_bytes);
        }
    }

    pub(super) fn tally(&mut self, step: Step) -> &mut Tally {
        match (step.operation.moves_bytes(), step.is_write) {
            (false, _) => &mut self.metadata,
            (true, true) => &mut self.writes,
            (true, false) => &mut self.reads,
        }
    }
}
