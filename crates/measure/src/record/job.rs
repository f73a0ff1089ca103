use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ReplaySummary;
use crate::{CpuUse, Histogram, Period, Spread, Work};

/// What the operations of a job do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// They bring bytes from the server.
    Read,
    /// They bring bytes to the server.
    Write,
    /// They ask for stable storage.
    Sync,
    /// They move no bytes of files: lookups, attributes, null calls.
    Metadata,
}

impl Direction {
    /// The name in reports: fio's, where fio has one.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Sync => "sync",
            Direction::Metadata => "metadata",
        }
    }
}

/// What a job found for one direction.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DirectionSummary {
    /// The direction.
    pub direction: Direction,
    /// How many operations succeeded, and how many bytes they moved.
    pub work: Work,
    /// How many operations failed.
    pub errors: u64,
    /// How many operations moved fewer bytes than they asked for.
    pub short: u64,
    /// From the first request to the last reply.
    pub runtime: Duration,
    /// Of writes that were not stable: from the first request to the reply to the COMMIT behind the last one.
    pub runtime_with_commit: Option<Duration>,
    /// From request to reply of each operation, in nanoseconds: the sum of the next two.
    pub latency_ns: Histogram,
    /// How long it took until the request was given to the connection, in nanoseconds.
    pub submission_ns: Spread,
    /// From then on to the reply, in nanoseconds.
    pub completion_ns: Histogram,
    /// The rates of short intervals.
    pub rates: Rates,
}

/// How much was done per second in each of several intervals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Bytes.
    pub bytes_per_second: Spread,
    /// Operations.
    pub operations_per_second: Spread,
}

impl Rates {
    /// Adds an interval and what was done in it.
    pub fn add(&mut self, work: Work, elapsed: Duration) {
        self.bytes_per_second.record(work.bytes_per_second(elapsed).round() as u64);
        self.operations_per_second.record(work.operations_per_second(elapsed).round() as u64);
    }
}

/// What one job of a benchmark was, and what it found.
#[derive(Debug, Clone)]
pub struct JobSummary {
    /// What the user calls it.
    pub name: String,
    /// What it did, in fio's words: `read`, `write`, `randread`, `randwrite`, `randrw`, or the name of an operation.
    pub workload: String,
    /// Against which server and file: a URL.
    pub target: String,
    /// The bytes of one operation, or several sizes with their shares.
    pub block_sizes: String,
    /// How many operations were outstanding at once on each connection.
    pub depth: u32,
    /// How many connections there were.
    pub connections: u32,
    /// The options that it was given, under fio's names where fio has them.
    pub options: Vec<(&'static str, String)>,
    /// How long was measured.
    pub runtime: Duration,
    /// How long it took altogether, with what was made ready and what was checked afterwards.
    pub elapsed: Duration,
    /// What was found for each direction that the job had; no direction comes twice.
    pub directions: Vec<DirectionSummary>,
    /// Rates and latencies over time, of all directions but syncs.
    pub periods: Vec<Period>,
    /// What was done in [`JobSummary::runtime`], by operations that may have begun before it: what processor time is
    /// divided by.
    pub work_in_runtime: Work,
    /// What the client's process spent in it.
    pub client_cpu: CpuUse,
    /// What the server's process spent in it, where that could be seen.
    pub server_cpu: Option<CpuUse>,
    /// Whether it was stopped before its end.
    pub is_interrupted: bool,
    /// If it replayed a capture, what was found of that.
    pub replay: Option<ReplaySummary>,
}

impl DirectionSummary {
    /// Adds what another host found for the same direction at the same time. Rates of short intervals cannot be added:
    /// the result has none.
    fn merge(&mut self, other: &DirectionSummary) {
        self.work += other.work;
        self.errors = self.errors.saturating_add(other.errors);
        self.short = self.short.saturating_add(other.short);
        self.runtime = self.runtime.max(other.runtime);
        self.runtime_with_commit = self.runtime_with_commit.max(other.runtime_with_commit);
        self.latency_ns.merge(&other.latency_ns);
        self.submission_ns.merge(&other.submission_ns);
        self.completion_ns.merge(&other.completion_ns);
        self.rates = Rates::default();
    }
}

impl JobSummary {
    /// What several hosts found that did one job in step, as one; nothing if there is no host. Percentiles are those of
    /// all operations. It has no rates of short intervals and no periods: the quantiles of several hosts cannot be
    /// added.
    pub fn together<'s>(mut hosts: impl Iterator<Item = &'s JobSummary>) -> Option<JobSummary> {
        let mut all = hosts.next()?.clone();
        all.directions.iter_mut().for_each(|direction| direction.rates = Rates::default());
        all.periods.clear();
        for host in hosts {
            all.connections = all.connections.saturating_add(host.connections);
            all.runtime = all.runtime.max(host.runtime);
            all.elapsed = all.elapsed.max(host.elapsed);
            all.work_in_runtime += host.work_in_runtime;
            all.client_cpu = all.client_cpu + host.client_cpu;
            all.is_interrupted |= host.is_interrupted;
            for other in &host.directions {
                match all.directions.iter_mut().find(|mine| mine.direction == other.direction) {
                    Some(mine) => mine.merge(other),
                    None => all.directions.push(DirectionSummary { rates: Rates::default(), ..other.clone() }),
                }
            }
        }
        Some(all)
    }

    /// The value of an option that it was given.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The operations of all directions together.
    pub fn total(&self) -> Work {
        self.directions.iter().fold(Work::default(), |sum, direction| sum + direction.work)
    }

    /// The failures of all directions together.
    pub fn errors(&self) -> u64 {
        self.directions.iter().map(|direction| direction.errors).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(direction: Direction, operations: u64, errors: u64) -> DirectionSummary {
        DirectionSummary {
            direction,
            work: Work { operations, bytes: operations * 512 },
            errors,
            short: 0,
            runtime: Duration::from_secs(1),
            runtime_with_commit: None,
            latency_ns: Histogram::new(),
            submission_ns: Spread::default(),
            completion_ns: Histogram::new(),
            rates: Rates::default(),
        }
    }

    fn job(directions: Vec<DirectionSummary>) -> JobSummary {
        JobSummary {
            name: "both".to_owned(),
            workload: "rw".to_owned(),
            target: "nfs://[::1]/export/file".to_owned(),
            block_sizes: "512B".to_owned(),
            periods: Vec::new(),
            depth: 1,
            connections: 1,
            options: Vec::new(),
            runtime: Duration::from_secs(1),
            elapsed: Duration::from_secs(1),
            directions,
            work_in_runtime: Work::default(),
            client_cpu: CpuUse::default(),
            server_cpu: None,
            is_interrupted: false,
            replay: None,
        }
    }

    #[test]
    fn hosts_in_step_add_up_and_their_latencies_are_one_distribution() {
        let host = |latency_ns: u64, seconds: u64, also: Option<Direction>| {
            let mut reads = direction(Direction::Read, 1, 1);
            reads.runtime = Duration::from_secs(seconds);
            reads.latency_ns.record(latency_ns);
            reads.rates.add(reads.work, reads.runtime);
            job([Some(reads), also.map(|also| direction(also, 7, 0))].into_iter().flatten().collect())
        };
        let hosts = [host(10, 2, None), host(30, 5, Some(Direction::Write)), host(20, 3, None)];
        let all = JobSummary::together(hosts.iter()).unwrap();
        let [reads, writes] = &all.directions[..] else { panic!("{:?}", all.directions) };
        assert_eq!((reads.work.operations, reads.errors, reads.runtime.as_secs()), (3, 3, 5));
        assert_eq!([0.3, 0.6, 1.0].map(|q| reads.latency_ns.quantile(q)), [10, 20, 30]);
        assert_eq!((writes.direction, writes.work.operations), (Direction::Write, 7));
        assert_eq!((reads.rates.clone(), all.connections), (Rates::default(), 3));
        assert!(JobSummary::together([].iter()).is_none());
    }

    #[test]
    fn directions_of_a_job_add_up() {
        let job = job(vec![direction(Direction::Read, 30, 2), direction(Direction::Write, 4, 3)]);
        assert_eq!((job.total(), job.errors()), (Work { operations: 34, bytes: 34 * 512 }, 5));
        assert_eq!(JobSummary { directions: Vec::new(), ..job }.total(), Work::default());
    }

    #[test]
    fn directions_have_fios_names() {
        let all = [Direction::Read, Direction::Write, Direction::Sync, Direction::Metadata];
        assert_eq!(all.map(Direction::name), ["read", "write", "sync", "metadata"]);
    }

    #[test]
    fn rates_of_intervals_are_per_second() {
        let mut rates = Rates::default();
        rates.add(Work { operations: 10, bytes: 5120 }, Duration::from_millis(500));
        rates.add(Work { operations: 30, bytes: 15_360 }, Duration::from_millis(500));
        let Rates { bytes_per_second: bytes, operations_per_second: operations } = rates;
        assert_eq!((operations.min(), operations.max(), operations.count()), (20, 60, 2));
        assert_eq!((bytes.min(), bytes.max(), bytes.count()), (10_240, 30_720, 2));
    }
}
