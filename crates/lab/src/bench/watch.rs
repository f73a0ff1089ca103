//! What can be seen of a job while it runs.

use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use measure::Work;
use measure::record::{Direction, Rates};

use super::observer::{Observer, Progress};
use super::{End, Job};

/// How often rates are read, which is fio's `bwavgtime`.
const INTERVAL: Duration = Duration::from_millis(500);
/// The directions that have rates.
const DIRECTIONS: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Metadata];

/// What the connections of one thread have done. Only that thread counts, so that threads do not wait for one another.
#[derive(Debug, Default)]
pub(super) struct Meter([(AtomicU64, AtomicU64); DIRECTIONS.len()]);

impl Meter {
    pub(super) fn count(&self, direction: Direction, bytes: u64) {
        if let Some(index) = DIRECTIONS.iter().position(|counted| *counted == direction) {
            let (operations, all_bytes) = &self.0[index];
            // A single writer needs no locked instruction.
            operations.store(operations.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            all_bytes.store(all_bytes.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
        }
    }

    fn read(&self, index: usize) -> Work {
        let (operations, bytes) = &self.0[index];
        Work { operations: operations.load(Ordering::Relaxed), bytes: bytes.load(Ordering::Relaxed) }
    }
}

/// Reads the meters of all threads in intervals.
pub(super) struct Sampler<'j> {
    job: &'j Job,
    meters: Vec<Arc<Meter>>,
    began: Instant,
    read_at: Instant,
    /// What was done before the measurement, and when the meters were read last.
    first: [Work; DIRECTIONS.len()],
    last: [Work; DIRECTIONS.len()],
    rates: [Rates; DIRECTIONS.len()],
}

impl<'j> Sampler<'j> {
    /// Begins to measure now.
    pub(super) fn start(job: &'j Job, meters: Vec<Arc<Meter>>) -> Sampler<'j> {
        let now = Instant::now();
        let (first, last, rates) = Default::default();
        let mut sampler = Sampler { job, meters, began: now, read_at: now, first, last, rates };
        sampler.first = sampler.read();
        sampler.last = sampler.first;
        sampler
    }

    /// The job that is measured.
    pub(super) fn job(&self) -> &'j Job {
        self.job
    }

    /// How long it is until the meters are to be read.
    pub(super) fn due_in(&self) -> Duration {
        (self.read_at + INTERVAL).saturating_duration_since(Instant::now())
    }

    fn read(&self) -> [Work; DIRECTIONS.len()] {
        let sum = |index| self.meters.iter().fold(Work::default(), |sum, meter| sum + meter.read(index));
        std::array::from_fn(sum)
    }

    /// All that was done so far, also before the measurement.
    pub(super) fn work(&self) -> Work {
        self.read().into_iter().fold(Work::default(), Work::add)
    }

    /// Reads the meters, and tells who watches the job.
    pub(super) fn sample(&mut self) {
        let (now, all) = (Instant::now(), self.read());
        let (elapsed, mut latest) = (now - self.read_at, Vec::new());
        for (index, work) in all.into_iter().enumerate() {
            let since = work - self.last[index];
            if work.operations > 0 {
                self.rates[index].add(since, elapsed);
                latest.push((DIRECTIONS[index], since, elapsed));
            }
        }
        (self.read_at, self.last) = (now, all);
        if let Some(Observer(watch)) = &self.job.watcher {
            let (done, left) = self.progress(now);
            watch(&Progress { job: self.job.name.clone(), done, left, latest });
        }
    }

    fn progress(&self, now: Instant) -> (f64, Duration) {
        let elapsed = now - self.began;
        let done = match self.job.end {
            End::After(time) => elapsed.as_secs_f64() / time.as_secs_f64().max(f64::EPSILON),
            End::Bytes(bytes) => {
                let done = self.last.into_iter().fold(Work::default(), Work::add);
                let done_bytes = match self.job.workload.operation.moves_bytes() {
                    true => done.bytes as f64,
                    false => done.operations as f64 * f64::from(self.job.block_bytes),
                };
                done_bytes / (bytes as f64).max(1.0)
            }
        };
        let done = done.clamp(0.0, 1.0);
        let left = if done > 0.0 { elapsed.mul_f64((1.0 - done) / done) } else { Duration::ZERO };
        (done, left)
    }

    /// The rates of one direction. A measurement that is shorter than an interval is one.
    pub(super) fn rates(&mut self, direction: Direction) -> Rates {
        let Some(index) = DIRECTIONS.iter().position(|counted| *counted == direction) else { return Rates::default() };
        if self.rates[index].bytes_per_second.count() == 0 {
            let (work, elapsed) = (self.read()[index] - self.first[index], self.began.elapsed());
            self.rates[index].add(work, elapsed);
        }
        self.rates[index].clone()
    }
}
