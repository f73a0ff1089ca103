use std::time::SystemTime;

use measure::record::JobSummary;

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
    use std::time::{Duration, UNIX_EPOCH};

    use measure::record::{Direction, DirectionSummary, Rates};
    use measure::{CpuUse, Histogram, Spread, Work};

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
            block_sizes: "4096B".to_owned(),
            depth: 64,
            connections: 4,
            options: vec![("rw", "randread".to_owned()), ("bs", "4096".to_owned()), ("iodepth", "64".to_owned())],
            runtime: Duration::from_millis(10_000),
            elapsed: Duration::from_millis(10_001),
            directions: vec![direction(Direction::Read, (0..100_000).map(|number| 51 + number % 100))],
            periods: Vec::new(),
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
            is_interrupted: false,
            replay: None,
        };
        Run {
            version: "wharf-0.1.0".to_owned(),
            at: UNIX_EPOCH + Duration::from_millis(1_700_000_000_123),
            jobs: vec![job],
        }
    }
}
