use std::time::{Duration, SystemTime};

use measure::{CpuUse, Histogram, Spread, Work};

/// What the operations of a job do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// The bytes of one operation.
    pub block_bytes: u64,
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
    /// What was done in [`JobSummary::runtime`], by operations that may have begun before it: what processor time is
    /// divided by.
    pub work_in_runtime: Work,
    /// What the client's process spent in it.
    pub client_cpu: CpuUse,
    /// What the server's process spent in it, where that could be seen.
    pub server_cpu: Option<CpuUse>,
}

impl JobSummary {
    /// The operations of all directions together.
    pub fn total(&self) -> Work {
        self.directions.iter().fold(Work::default(), |sum, direction| sum + direction.work)
    }

    /// The failures of all directions together.
    pub fn errors(&self) -> u64 {
        self.directions.iter().map(|direction| direction.errors).sum()
    }
}

/// A benchmark: jobs that were run one after the other.
#[derive(Debug, Clone)]
pub struct Run {
    /// What measured: the program's version.
    pub version: String,
    /// When it was.
    pub at: SystemTime,
    /// The jobs.
    pub jobs: Vec<JobSummary>,
}

#[cfg(test)]
pub(crate) mod examples {
    use std::time::UNIX_EPOCH;

    use super::*;

    pub(crate) fn direction(direction: Direction, latencies_us: impl Iterator<Item = u64>) -> DirectionSummary {
        let mut latency_ns = Histogram::new();
        let (mut submission_ns, mut completion_ns) = (Spread::default(), Histogram::new());
        for us in latencies_us {
            latency_ns.record(us * 1000);
            submission_ns.record(1000);
            completion_ns.record((us - 1) * 1000);
        }
        let work = Work { operations: latency_ns.count(), bytes: latency_ns.count() * 4096 };
        let runtime = Duration::from_millis(10_000);
        let mut rates = Rates::default();
        [4, 6].into_iter().for_each(|half| {
            let part = |all: u64| all * half / 10;
            rates.add(Work { operations: part(work.operations), bytes: part(work.bytes) }, runtime / 2);
        });
        DirectionSummary {
            direction,
            work,
            errors: 0,
            short: 0,
            runtime,
            runtime_with_commit: None,
            latency_ns,
            submission_ns,
            completion_ns,
            rates,
        }
    }

    /// A job of 100 000 reads of 4 KiB in 10 s, of which each takes another time from 51 µs to 150 µs.
    pub(crate) fn run() -> Run {
        let job = JobSummary {
            name: "small".to_owned(),
            workload: "randread".to_owned(),
            target: "nfs://[::1]/export/file".to_owned(),
            block_bytes: 4096,
            depth: 64,
            connections: 4,
            options: vec![("rw", "randread".to_owned()), ("bs", "4096".to_owned()), ("iodepth", "64".to_owned())],
            runtime: Duration::from_millis(10_000),
            elapsed: Duration::from_millis(10_001),
            directions: vec![direction(Direction::Read, (0..100_000).map(|number| 51 + number % 100))],
            work_in_runtime: Work { operations: 100_000, bytes: 409_600_000 },
            client_cpu: CpuUse {
                total: Duration::from_millis(1_750),
                user: Duration::from_millis(500),
                system: Duration::from_millis(1_250),
                context_switches: 4321,
                major_faults: 0,
                minor_faults: 57,
            },
            server_cpu: None,
        };
        Run {
            version: "wharf-0.1.0".to_owned(),
            at: UNIX_EPOCH + Duration::from_millis(1_700_000_000_123),
            jobs: vec![job],
        }
    }
}
