//! One connection: its operations, as many at once as the depth says, and what it found.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{File, LockKind, Mount, OpenOptions, Segment, Version};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use measure::Timeline;
use measure::record::Direction;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use vfs::Stability;

use super::arrivals::Arrivals;
use super::leave::leave;
use super::metadata::Metadata;
use super::pattern::Pattern;
use super::payload::Payload;
use super::plan::{Plan, Step};
use super::tally::{Done, Tally, Times};
use super::target::{Mismatches, Target, write_all};
use super::timer::Timer;
use super::unstable::Unstable;
use super::watch::Meter;
use super::{End, Error, Files, Job, Operation, OperationError, Stop};

/// How many failures one connection counts before it gives up: a server that is gone would be asked for ever.
const MAX_ERRORS: u64 = 100;
/// How many files are opened or closed at once before and after a job.
const OPENS_AT_ONCE: usize = 16;

/// When all connections start, when their measurement begins, and when it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    start: Instant,
    measured_from: Instant,
    deadline: Option<Instant>,
}

impl Schedule {
    pub(super) fn starting_at(start: Instant, job: &Job) -> Schedule {
        match job.end {
            End::After(time) => {
                let measured_from = start + job.warm_up;
                Schedule { start, measured_from, deadline: Some(measured_from + time) }
            }
            End::Bytes(_) => Schedule { start, measured_from: start, deadline: None },
        }
    }

    /// How long it is until the measurement begins.
    pub(super) fn time_to_measurement(&self) -> Duration {
        self.measured_from.saturating_duration_since(Instant::now())
    }

    /// How long it is until the measurement ends, where that is a matter of time.
    pub(super) fn time_to_end(&self) -> Option<Duration> {
        Some(self.deadline?.saturating_duration_since(Instant::now()))
    }

    fn is_over(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }
}

/// What the connections of a thread count in. They share it, so that it stays in the processor's caches, however many
/// they are.
#[derive(Clone)]
pub(super) struct Counts {
    pub(super) meter: Arc<Meter>,
    pub(super) found: Rc<RefCell<LaneResult>>,
}

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
    fn record_in_time(&mut self, done: Done, times: Times, schedule: Schedule) {
        if !schedule.is_over(times.ended) {
            let at = times.ended.saturating_duration_since(schedule.measured_from);
            self.timeline.record(at, times.latency_ns(), done.moved_bytes);
        }
    }

    fn tally(&mut self, step: Step) -> &mut Tally {
        match (step.operation.moves_bytes(), step.is_write) {
            (false, _) => &mut self.metadata,
            (true, true) => &mut self.writes,
            (true, false) => &mut self.reads,
        }
    }
}

/// A connection with its plan.
pub(super) struct Lane {
    mount: Mount,
    /// The files of the job, and the first that this connection uses.
    targets: Arc<[Target]>,
    first_target: usize,
    /// How many files an operation chooses from.
    choice: usize,
    /// Those that are open all the time, by their numbers.
    opened: Vec<File>,
    operation: Operation,
    /// How long nothing begins after an operation, and the timer of the worker that waits for that.
    think_time: Duration,
    think_timer: Option<Mutex<Timer>>,
    /// When operations are due, in an open loop.
    arrivals: Option<Mutex<Arrivals>>,
    granule_bytes: u32,
    stability: Stability,
    pattern: Option<Pattern>,
    workload_writes: bool,
    payload: Rc<Payload>,
    metadata: Metadata,
    counts: Counts,
    stop: Stop,
    state: RefCell<LaneState>,
}

struct LaneState {
    plan: Plan,
    errors: u64,
    unstable: Unstable,
}

impl Lane {
    /// The lane with this number, from 0, on a connection of its own; `counts` are those of its thread.
    pub(super) fn new(
        job: &Job,
        number: u32,
        counts: &Counts,
        mount: Mount,
        targets: &Arc<[Target]>,
    ) -> Result<Lane, Error> {
        let first_target = if job.files == Files::OnePerConnection { number as usize } else { 0 };
        let arrivals = |rate| Arrivals::new(rate, number, job.connections, job.seed).map(Mutex::new);
        let payload = Rc::new(Payload::new(job, number));
        let prefix = format!("{}.{number}", job.temporary_name());
        let metadata = Metadata::new(prefix, mount.clone(), &targets[first_target], Rc::clone(&payload));
        let thinks = !job.think_time.is_zero();
        let think_timer = thinks.then(Timer::new).transpose().map_err(Error::Timer)?.map(Mutex::new);
        Ok(Lane {
            think_time: job.think_time,
            think_timer,
            arrivals: job.rate.map(arrivals).transpose().map_err(Error::Timer)?,
            metadata,
            mount,
            targets: Arc::clone(targets),
            first_target,
            choice: job.files.choice() as usize,
            opened: Vec::new(),
            operation: job.workload.operation,
            granule_bytes: job.granule_bytes(),
            stability: if job.stable_writes { Stability::File } else { Stability::Unstable },
            pattern: job.verify.then(|| job.pattern()),
            workload_writes: job.workload.writes(),
            payload,
            counts: counts.clone(),
            stop: job.stop.clone(),
            state: RefCell::new(LaneState { plan: Plan::new(job, number), errors: 0, unstable: Unstable::default() }),
        })
    }

    /// Opens every file that its operations choose from, and keeps it open.
    pub(super) async fn open_all(&mut self, count: u32) -> Result<(), Error> {
        let (lane, options) = (&*self, &OpenOptions::read());
        let open = |number| async move {
            let Target { dir, name, .. } = lane.target(number);
            lane.mount.open(dir, name, options).await
        };
        let opening = stream::iter(0..count as usize).map(open).buffered(OPENS_AT_ONCE);
        let opened = opening.try_collect().await?;
        self.opened = opened;
        Ok(())
    }

    /// Does everything that is planned, `depth` operations at once; nothing is returned when a worker died. It is
    /// awaited inside of a [`tokio::task::LocalSet`].
    pub(super) async fn run(self, depth: u32, schedule: Schedule) -> Option<()> {
        let lane = Rc::new(self);
        let mut workers = JoinSet::new();
        for worker in 0..depth {
            workers.spawn_local(Rc::clone(&lane).work(worker as usize, schedule));
        }
        while let Some(ended) = workers.join_next().await {
            ended.ok()?;
        }
        lane.sync().await;
        if lane.operation == Operation::NewFile {
            lane.metadata.remove_new_files().await;
        }
        let Lane { mount, opened, .. } = Rc::into_inner(lane)?;
        // A server that goes on without them closes them with the client.
        let closing =
            stream::iter(opened).for_each_concurrent(OPENS_AT_ONCE, |file| async { drop(file.close().await) });
        closing.await;
        leave(&mount).await;
        Some(())
    }

    async fn work(self: Rc<Self>, worker: usize, schedule: Schedule) {
        let Some(open) = self.open(worker).await else { return };
        // One reading of the clock ends an operation and begins the next.
        let mut now = Instant::now();
        while let Some(began) = self.next_start(now, schedule).await
            && let Some(step) = self.next_step()
        {
            let operation = pin!(self.carry_out(step, open.as_ref()));
            let (result, submitted) = submit(operation).await;
            let times = Times { began, submitted, ended: Instant::now() };
            let is_measured = began >= schedule.measured_from;
            self.record(step, result, times, is_measured.then_some(schedule));
            now = times.ended;
            if step.has_commit {
                now = self.commit(is_measured).await;
            }
            if let Some(timer) = &self.think_timer {
                let timer = timer.lock().await;
                let due = Instant::now() + self.think_time;
                let Some(due) = timer.wait_until(due, schedule.deadline, &self.stop).await else { break };
                now = due;
            }
        }
        if let Some(Err(error)) = close(open).await {
            self.note_failure(|found| &mut found.metadata, error.into());
        }
    }

    /// When the next operation of a worker begins that is free now: in an open loop when it was due. One worker at a
    /// time waits for that. Nothing when the job is over.
    async fn next_start(&self, now: Instant, schedule: Schedule) -> Option<Instant> {
        match &self.arrivals {
            Some(arrivals) => arrivals.lock().await.next(schedule.start, schedule.deadline, &self.stop).await,
            None => (!schedule.is_over(now) && !self.stop.is_stopped()).then_some(now),
        }
    }

    /// Opens the file of a worker for the operations that need it open. Nothing else is done when that fails.
    async fn open(&self, worker: usize) -> Option<Option<File>> {
        let options = match self.operation {
            Operation::ReadPlus(_) => OpenOptions::read(),
            Operation::LockUnlock => OpenOptions::both(),
            _ => return Some(None),
        };
        let Target { dir, name, .. } = self.target(worker % self.choice);
        match self.mount.open(dir, name, &options).await {
            Ok(file) => Some(Some(file)),
            Err(error) => {
                self.note_failure(|found| &mut found.metadata, error.into());
                None
            }
        }
    }

    fn next_step(&self) -> Option<Step> {
        let mut state = self.state.borrow_mut();
        if state.errors < MAX_ERRORS { state.plan.next() } else { None }
    }

    /// The file with this number among those that an operation chooses from.
    fn target(&self, number: usize) -> &Target {
        &self.targets[self.first_target + number]
    }

    async fn carry_out(&self, step: Step, open: Option<&File>) -> client::Result<Done> {
        match (step.operation, open) {
            (Operation::ReadPlus(_), Some(file)) => self.read_plus(file, step).await,
            (Operation::LockUnlock, Some(file)) => self.lock_and_unlock(file, step).await,
            (Operation::OpenClose, _) => self.open_and_close().await,
            (operation, _) if !operation.moves_bytes() => {
                self.metadata.carry_out(operation, self.target(step.file), step.bytes).await
            }
            _ if step.is_write => self.write(step).await,
            _ => self.read(step).await,
        }
    }

    /// Reads a block with its holes; those count as if they were sent.
    async fn read_plus(&self, file: &File, Step { offset, bytes: wanted, .. }: Step) -> client::Result<Done> {
        let told = file.read_plus(offset, wanted).await?;
        let bytes = |segment: &Segment| match segment {
            Segment::Data { bytes, .. } => bytes.len() as u64,
            Segment::Hole { length, .. } => *length,
        };
        let moved_bytes = told.segments.iter().map(bytes).sum();
        Ok(Done { moved_bytes, is_short: moved_bytes < u64::from(wanted) })
    }

    async fn open_and_close(&self) -> client::Result<Done> {
        let Target { dir, name, .. } = self.target(0);
        self.mount.open(dir, name, &OpenOptions::read()).await?.close().await?;
        Ok(Done { moved_bytes: 0, is_short: false })
    }

    /// Locks a block for itself and others that read: so nobody is in the way whose block is the same.
    async fn lock_and_unlock(&self, file: &File, Step { offset, bytes, .. }: Step) -> client::Result<Done> {
        let length = u64::from(bytes);
        file.try_lock(LockKind::Shared, offset, length).await?;
        file.unlock(offset, length).await?;
        Ok(Done { moved_bytes: 0, is_short: false })
    }

    async fn read(&self, Step { file, offset, bytes, .. }: Step) -> client::Result<Done> {
        let data = match self.opened.get(file) {
            Some(open) => open.read(offset, bytes).await?,
            None => self.mount.read(&self.target(file).handle, offset, bytes).await?,
        };
        if let Some(pattern) = self.pattern {
            let is_right = match self.workload_writes {
                true => pattern.is_at_or_next(offset, &data.bytes),
                false => pattern.is_at(offset, &data.bytes),
            };
            if !is_right {
                self.counts.found.borrow_mut().wrong.add(offset);
            }
        }
        Ok(Done { moved_bytes: data.bytes.len() as u64, is_short: data.bytes.len() < bytes as usize })
    }

    async fn write(&self, Step { offset, bytes, .. }: Step) -> client::Result<Done> {
        let data = self.payload.block(offset, bytes);
        let (is_short, unstable) = write_all(&self.mount, self.target(0).handle, offset, data, self.stability).await?;
        self.state.borrow_mut().unstable.merge(unstable);
        let granules =
            offset / u64::from(self.granule_bytes)..(offset + u64::from(bytes)) / u64::from(self.granule_bytes);
        let mut found = self.counts.found.borrow_mut();
        if let Some(is_written) = found.is_written.get_mut(granules.start as usize..granules.end as usize) {
            is_written.fill(true);
        }
        Ok(Done { moved_bytes: bytes.into(), is_short })
    }

    fn record(&self, step: Step, result: client::Result<Done>, times: Times, measured: Option<Schedule>) {
        match result {
            Ok(done) => {
                let mut found = self.counts.found.borrow_mut();
                let tally = found.tally(step);
                self.counts.meter.count(tally.direction(), done.moved_bytes);
                if let Some(schedule) = measured {
                    tally.record(done, times);
                    found.record_in_time(done, times, schedule);
                }
            }
            Err(error) => self.note_failure(|found| found.tally(step), error.into()),
        }
    }

    fn note_failure(&self, tally: impl FnOnce(&mut LaneResult) -> &mut Tally, error: OperationError) {
        self.state.borrow_mut().errors += 1;
        let mut found = self.counts.found.borrow_mut();
        tally(&mut found).record_error();
        found.first_error.get_or_insert(error);
    }

    /// Asks for stable storage of what is not there yet when everything is written.
    async fn sync(&self) {
        let is_stable = self.state.borrow().unstable.is_empty();
        if !is_stable && self.mount.version() != Version::V2 {
            self.commit(true).await;
        }
    }

    /// Asks for stable storage of what was written. What may be lost all the same counts as a failure. Returns when
    /// that was over.
    async fn commit(&self, is_measured: bool) -> Instant {
        let unstable = std::mem::take(&mut self.state.borrow_mut().unstable);
        let began = Instant::now();
        let commit = pin!(self.mount.commit(&self.target(0).handle, 0, 0));
        let (result, submitted) = submit(commit).await;
        let result = result.map_err(OperationError::Client).and_then(|verifier| match unstable.lost_after(verifier) {
            0 => Ok(()),
            writes => Err(OperationError::Lost { writes }),
        });
        let times = Times { began, submitted, ended: Instant::now() };
        match result {
            Ok(()) if is_measured => {
                self.counts.found.borrow_mut().syncs.record(Done { moved_bytes: 0, is_short: false }, times);
            }
            Ok(()) => {}
            Err(error) => self.note_failure(|found| &mut found.syncs, error),
        }
        times.ended
    }
}

async fn close(open: Option<File>) -> Option<client::Result<()>> {
    Some(open?.close().await)
}

/// Waits for an operation, and says when its first call was given to the connection: that is done when it first has to
/// wait. The operation stays where it is, since a future has room for the longest of all operations.
pub(crate) async fn submit<F: Future>(mut operation: Pin<&mut F>) -> (F::Output, Instant) {
    let mut submitted = None;
    let output = poll_fn(|context| {
        let polled = operation.as_mut().poll(context);
        submitted.get_or_insert_with(Instant::now);
        polled
    });
    let output = output.await;
    (output, submitted.unwrap_or_else(Instant::now))
}
