//! One connection: its operations, as many at once as the depth says, and what it found.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::File;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::access::Access;
use super::arrivals::Arrivals;
use super::lane_result::LaneResult;
use super::plan::{Plan, Step};
use super::schedule::Schedule;
use super::tally::{Done, Tally, Times};
use super::timer::Timer;
use super::watch::Meter;
use super::{Error, Job, OperationError, Stop};

/// How many failures one connection counts before it gives up: a server that is gone would be asked for ever.
const MAX_ERRORS: u64 = 100;

/// What the connections of a thread count in. They share it, so that it stays in the processor's caches, however many
/// they are.
#[derive(Clone)]
pub(super) struct Counts {
    pub(super) meter: Arc<Meter>,
    pub(super) found: Rc<RefCell<LaneResult>>,
}

/// A connection with its plan.
pub(super) struct Lane {
    access: Access,
    /// How long nothing begins after an operation, and the timer of the worker that waits for that.
    think_time: Duration,
    think_timer: Option<Mutex<Timer>>,
    /// When operations are due, in an open loop.
    arrivals: Option<Mutex<Arrivals>>,
    counts: Counts,
    stop: Stop,
    state: RefCell<LaneState>,
}

struct LaneState {
    plan: Plan,
    errors: u64,
}

impl Lane {
    /// The lane with this number, from 0, on a connection of its own; `counts` are those of its thread.
    pub(super) fn new(job: &Job, number: u32, counts: &Counts, access: Access) -> Result<Lane, Error> {
        let arrivals = |rate| Arrivals::new(rate, number, job.connections, job.seed).map(Mutex::new);
        let thinks = !job.think_time.is_zero();
        let think_timer = thinks.then(Timer::new).transpose().map_err(Error::Timer)?.map(Mutex::new);
        Ok(Lane {
            access,
            think_time: job.think_time,
            think_timer,
            arrivals: job.rate.map(arrivals).transpose().map_err(Error::Timer)?,
            counts: counts.clone(),
            stop: job.stop.clone(),
            state: RefCell::new(LaneState { plan: Plan::new(job, number), errors: 0 }),
        })
    }

    /// Ends it before it has begun.
    pub(super) async fn abandon(self) {
        self.access.end().await;
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
        if lane.access.has_unstable() {
            lane.commit(true).await;
        }
        Rc::into_inner(lane)?.access.end().await;
        Some(())
    }

    async fn work(self: Rc<Self>, worker: usize, schedule: Schedule) {
        let open = match self.access.open(worker).await {
            Ok(open) => open,
            // Nothing else is done then.
            Err(error) => return self.note_failure(|found| &mut found.metadata, error),
        };
        // One reading of the clock ends an operation and begins the next.
        let mut now = Instant::now();
        while let Some(began) = self.next_start(now, schedule).await
            && let Some(step) = self.next_step()
        {
            let operation = pin!(self.access.carry_out(step, worker, open.as_ref()));
            let (result, submitted) = submit(operation).await;
            let submitted = if self.access.waits_inside() { began } else { submitted };
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

    fn next_step(&self) -> Option<Step> {
        let mut state = self.state.borrow_mut();
        if state.errors < MAX_ERRORS { state.plan.next() } else { None }
    }

    fn record(&self, step: Step, result: Result<Done, OperationError>, times: Times, measured: Option<Schedule>) {
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
            Err(error) => self.note_failure(|found| found.tally(step), error),
        }
    }

    fn note_failure(&self, tally: impl FnOnce(&mut LaneResult) -> &mut Tally, error: OperationError) {
        self.state.borrow_mut().errors += 1;
        let mut found = self.counts.found.borrow_mut();
        tally(&mut found).record_error();
        found.first_error.get_or_insert(error);
    }

    /// Asks for stable storage of what was written. Returns when that was over.
    async fn commit(&self, is_measured: bool) -> Instant {
        let began = Instant::now();
        let (result, submitted) = submit(pin!(self.access.commit())).await;
        let submitted = if self.access.waits_inside() { began } else { submitted };
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
