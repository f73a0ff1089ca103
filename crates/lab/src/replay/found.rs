//! What a replay found.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use client::proto::{nfs3, nfs4::OpNumber};
use client::{Status, Version};
use measure::record::{Direction, DirectionSummary, ProcedureSummary, Rates, ReplaySummary};
use measure::{Histogram, Period, Timeline, Work};

use super::capture::{Call, Capture};
use super::left_out::LeftOut;
use super::send::{Answer, Ended};
use crate::bench::OperationError;
use crate::bench::tally::{Done, Tally, Times};

const DIRECTIONS: [Direction; 4] = [Direction::Read, Direction::Write, Direction::Sync, Direction::Metadata];

/// The counts of a replay.
#[derive(Debug)]
pub(super) struct Found {
    start: Instant,
    tallies: [Tally; DIRECTIONS.len()],
    work: [Work; DIRECTIONS.len()],
    rates: [Rates; DIRECTIONS.len()],
    /// The work when rates were read last, and when that was.
    sampled: [Work; DIRECTIONS.len()],
    sampled_at: Instant,
    /// By their numbers, or those of the main operations of COMPOUNDs.
    procedures: Vec<ProcedureSummary>,
    late_ns: Histogram,
    /// What ended otherwise, in words.
    otherwise: BTreeMap<String, u64>,
    left_out: BTreeMap<LeftOut, u64>,
    timeline: Timeline,
    /// How many calls failed without a reply, and why the first one did.
    pub errors: u64,
    pub first_error: Option<OperationError>,
}

impl Found {
    pub(super) fn new(start: Instant, version: Version) -> Found {
        Found {
            start,
            tallies: DIRECTIONS.map(Tally::new),
            work: Default::default(),
            rates: Default::default(),
            sampled: Default::default(),
            sampled_at: start,
            procedures: procedures(version).into_iter().map(ProcedureSummary::new).collect(),
            late_ns: Histogram::new(),
            otherwise: BTreeMap::new(),
            left_out: BTreeMap::new(),
            timeline: Timeline::default(),
            errors: 0,
            first_error: None,
        }
    }

    /// Counts a call that cannot be done.
    pub(super) fn leave_out(&mut self, why: LeftOut) {
        *self.left_out.entry(why).or_default() += 1;
    }

    /// Counts how late a call began.
    pub(super) fn begin(&mut self, late: Duration) {
        self.late_ns.record(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts a call that is over. Returns the answer, if there is one.
    pub(super) fn end(&mut self, call: &Call, ended: Ended) -> Option<Answer> {
        let Ended { began, submitted, at, result, .. } = ended;
        let direction = call.op.direction() as usize;
        let procedure = &mut self.procedures[call.op.procedure()];
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => {
                procedure.errors += 1;
                self.tallies[direction].record_error();
                self.errors += 1;
                self.first_error.get_or_insert(error.into());
                return None;
            }
        };
        let times = Times { began, submitted, ended: at };
        procedure.calls += 1;
        procedure.latency_ns.record(times.latency_ns());
        if let Some(status) = call.status().filter(|status| *status != answer.status) {
            procedure.otherwise += 1;
            let (before, now) = (outcome(status), outcome(answer.status));
            let what = format!("{}: {before} in the capture, {now} here", procedure.name);
            *self.otherwise.entry(what).or_default() += 1;
        }
        let is_short = call.op.wanted_bytes().is_some_and(|wanted| answer.moved_bytes < wanted);
        let is_short = is_short && answer.status == Status::Ok;
        self.tallies[direction].record(Done { moved_bytes: answer.moved_bytes, is_short }, times);
        self.work[direction] += Work { operations: 1, bytes: answer.moved_bytes };
        self.timeline.record(at - self.start, times.latency_ns(), answer.moved_bytes);
        Some(answer)
    }

    /// Reads the rates since the last time, for all directions that had operations.
    pub(super) fn sample(&mut self, now: Instant) -> Vec<(Direction, Work, Duration)> {
        let elapsed = now - self.sampled_at;
        let mut latest = Vec::new();
        for (index, direction) in DIRECTIONS.into_iter().enumerate() {
            if self.work[index].operations > 0 {
                let since = self.work[index] - self.sampled[index];
                self.rates[index].add(since, elapsed);
                latest.push((direction, since, elapsed));
            }
        }
        (self.sampled, self.sampled_at) = (self.work, now);
        latest
    }

    /// Reads the rates at the end, if they never were: a replay that is shorter than an interval is one.
    pub(super) fn finish(&mut self, now: Instant) {
        if self.sampled_at == self.start {
            self.sample(now);
        }
    }

    pub(super) fn time_since_sample(&self, now: Instant) -> Duration {
        now - self.sampled_at
    }

    pub(super) fn work(&self) -> Work {
        self.work.into_iter().fold(Work::default(), |sum, work| sum + work)
    }

    pub(super) fn periods(&self, runtime: Duration) -> Vec<Period> {
        self.timeline.periods(runtime)
    }

    /// What was found, by direction, and of the replay.
    pub(super) fn into_summaries(self, capture: &Capture, without_open: u64) -> (Vec<DirectionSummary>, ReplaySummary) {
        let directions = self.tallies.into_iter().zip(self.rates);
        let directions = directions.filter_map(|(tally, rates)| tally.summary(rates)).collect();
        let left_out = self.left_out.iter().map(|(why, count)| format!("{count} calls are {why}"));
        let without_open = (without_open > 0).then(|| {
            format!(
                "{without_open} calls use files without an open: it is older than the capture, or only a delegation \
                 was left of it"
            )
        });
        let replay = ReplaySummary {
            captured: capture.duration(),
            procedures: self.procedures.into_iter().filter(|found| found.calls + found.errors > 0).collect(),
            late_ns: self.late_ns,
            otherwise: self.otherwise.into_iter().collect(),
            remarks: left_out.chain(without_open).chain(capture.remarks()).collect(),
        };
        (directions, replay)
    }
}

fn outcome(status: Status) -> String {
    match status {
        Status::Ok => "success".to_owned(),
        status => status.to_string(),
    }
}

/// The names of procedures, or of operations, by their numbers.
fn procedures(version: Version) -> Vec<&'static str> {
    match version {
        Version::V4(_) => (0..=OpNumber::Removexattr.number())
            .map(|number| OpNumber::from_number(number).map_or("NULL", OpNumber::name))
            .collect(),
        _ => nfs3::PROCEDURES.to_vec(),
    }
}
