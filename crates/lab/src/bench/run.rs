//! A job from its start to its end: the file, the threads, the readings of what processes spent.

use std::cell::RefCell;
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use client::{Mount, Options, Parameters, Url, Version};
use futures_util::future::{Either, select};
use measure::record::{Direction, DirectionSummary, JobSummary, Rates};
use measure::{CpuUse, Work};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, LocalSet};

use super::access::Access;
use super::export::Export;
use super::lane::{Counts, Lane};
use super::lane_result::LaneResult;
use super::leave::leave;
use super::local::{self, Local, LocalFiles, LocalTarget};
use super::local_path::LocalPath;
use super::schedule::Schedule;
use super::target::{self, Mismatches, Prepared, Target};
use super::watch::{Meter, Sampler};
use super::{End, Error, Gate, Job, Operation, OperationError};
use crate::leftovers::Made;
use crate::process::{Memory, Process};

/// What a job found.
#[derive(Debug)]
pub struct BenchResult {
    /// The figures.
    pub summary: JobSummary,
    /// The first failure of an operation; all of them are counted in the summary.
    pub first_error: Option<OperationError>,
    /// Whether the job made all its files.
    pub made_files: bool,
    /// How much memory the server's process had at the end, where that was asked for.
    pub server_memory: Option<Memory>,
}

/// Refuses a workload whose operations the version does not have.
fn check_version(job: &Job, version: Version) -> Result<(), Error> {
    let since = job.workload.operation.since();
    if version < since {
        return Err(Error::Version { workload: job.workload.to_string(), since, version });
    }
    // Writes of NFSv2 are always stable: it has no COMMIT (RFC 1094 §2.2.9).
    if job.commit_every.is_some() && version == Version::V2 {
        return Err(Error::Version { workload: format!("{} with --fsync", job.workload), since: Version::V3, version });
    }
    Ok(())
}

/// Does a job, and waits for its end. It may be called inside of a tokio runtime, which then waits too.
///
/// # Errors
/// When the job makes no sense or cannot begin, and when bytes were checked and are wrong. A failure of a single
/// operation is counted and is no error.
pub fn run(job: &Job) -> Result<BenchResult, Error> {
    job.check()?;
    let began = Instant::now();
    let Ready { targets, file_bytes, are_new, made } = prepare(job)?;
    let job = &Job { file_bytes, ..job.clone() };
    let measured = measure(job, &targets).map(|measured| outcome(job, measured, began.elapsed()));
    if let (Ok((result, _)), Some(super::Observer(observe))) = (&measured, &job.on_measured) {
        observe(&result.summary);
    }
    let written = measured.as_ref().map_or(Vec::new(), |(_, unchecked)| unchecked.is_written.clone());
    let finished = match &targets {
        Targets::Export(targets) => on_own_thread(|| finish(job, targets, written, made)),
        Targets::Local(_, targets) => local::remove_all(targets, made),
    };
    let (mut result, unchecked) = measured?;
    finished?;
    unchecked.wrong.check()?;
    result.made_files = are_new;
    result.summary.elapsed = began.elapsed();
    // What was to be checked afterwards may not have been.
    result.summary.is_interrupted |= job.verify && job.stop.is_stopped();
    Ok(result)
}

/// The files of a job.
#[derive(Clone)]
enum Targets {
    Export(Arc<[Target]>),
    Local(LocalPath, Arc<[LocalTarget]>),
}

/// Files that are there, how much of each is used, and whether none existed before.
struct Ready {
    targets: Targets,
    file_bytes: u64,
    are_new: bool,
    made: Made,
}

fn prepare(job: &Job) -> Result<Ready, Error> {
    if let Some(local) = &job.local {
        let LocalFiles { targets, file_bytes, are_new, made } = LocalFiles::new(local, job)?;
        return Ok(Ready { targets: Targets::Local(local.clone(), targets.into()), file_bytes, are_new, made });
    }
    let Prepared { targets, file_bytes, are_new, made } = on_own_thread(|| async {
        let mount = connect(job).await?;
        check_version(job, mount.version())?;
        let prepared = Prepared::new(&mount, job).await;
        leave(&mount).await;
        prepared
    })?;
    Ok(Ready { targets: Targets::Export(targets.into()), file_bytes, are_new, made })
}

/// Checks what was written, and removes what was made for this job only.
async fn finish(job: &Job, targets: &[Target], is_written: Vec<bool>, made: Made) -> Result<(), Error> {
    let mount = connect(job).await?;
    let checked = match targets {
        [target] if !is_written.is_empty() => target::check_all(&mount, target.handle, job, is_written).await,
        _ => Ok(()),
    };
    target::remove_all(targets, &mount, made).await?;
    leave(&mount).await;
    checked
}

/// A mount with one connection. A block must fit into one transfer.
async fn connect(job: &Job) -> Result<Mount, Error> {
    let mut url = job.url.clone();
    url.parameters.connections = None;
    let depth = usize::try_from(job.depth).unwrap_or(usize::MAX);
    let max_pending = job.options.max_pending.max(depth);
    let mount =
        Mount::connect(&url, &Options { connections: 1, max_pending, uses_delegations: false, ..job.options.clone() })
            .await?;
    if let Some(super::Observer(observe)) = &job.observer {
        observe(&mount);
    }
    let sizes = mount.sizes();
    let max = if job.workload.writes() { sizes.read.min(sizes.write) } else { sizes.read };
    let block_bytes = job.max_block_bytes();
    if block_bytes > max {
        return Err(Error::TransferSize { block_bytes, max });
    }
    Ok(mount)
}

/// What was found of a job.
struct Measured {
    found: LaneResult,
    readings: Readings,
    /// In the order of [`LaneResult::tallies`].
    rates: [Rates; 4],
    /// Whether the job was stopped before its time.
    is_interrupted: bool,
}

/// What is to be checked of what was found.
struct Unchecked {
    is_written: Vec<bool>,
    wrong: Mismatches,
}

/// What processes had spent at the start and at the end.
struct Readings {
    began: Reading,
    ended: Reading,
    server_memory: Option<Memory>,
}

struct Reading {
    at: Instant,
    /// What was done until then.
    work: Work,
    client: CpuUse,
    server: Option<CpuUse>,
}

impl Reading {
    /// The time, what was done and what was spent, right after each other.
    fn take(job: &Job, sampler: &Sampler<'_>) -> Result<Reading, Error> {
        let (at, work) = (Instant::now(), sampler.work());
        let server = job.server_pid.map(|pid| Process::Id(pid).cpu()).transpose()?;
        Ok(Reading { at, work, client: Process::This.cpu()?, server })
    }
}

/// What a thread says to the one that waits for it.
enum Event {
    Ready,
    Ended(Box<Result<LaneResult, Error>>),
}

/// The most threads whose connections use system calls, without those that the calls wait on.
const MAX_LOCAL_THREADS: u32 = 256;
/// The most threads that the calls of one of them wait on.
const MAX_WAITING_THREADS: u32 = 512;

/// Runs all connections: as many threads as there are processors for them, or one for each that waits in system calls.
fn measure(job: &Job, targets: &Targets) -> Result<Measured, Error> {
    let threads = match targets {
        Targets::Export(_) => thread::available_parallelism().map_or(1, |count| count.get() as u32),
        Targets::Local(..) => MAX_LOCAL_THREADS,
    };
    let threads = threads.min(job.connections);
    thread::scope(|scope| {
        let (events_in, events) = channel();
        let mut workers = Vec::new();
        for number in 0..threads {
            let lanes = part(job.connections, number, threads);
            let (events, meter) = (events_in.clone(), Arc::default());
            workers.push(Member::hire(scope, Part { job, targets, lanes, events, meter })?);
        }
        drop(events_in);
        conduct(job, &workers, &events)
    })
}

/// Starts all threads at one moment, and reads what processes spent at the start and at the end. The threads stay until
/// `workers` is dropped, so that what they did is still counted.
fn conduct(job: &Job, workers: &[Member], events: &Receiver<Event>) -> Result<Measured, Error> {
    for _ in workers {
        match events.recv() {
            Ok(Event::Ready) => {}
            Ok(Event::Ended(result)) => return (*result).and(Err(Error::ThreadDied)),
            Err(_) => return Err(Error::ThreadDied),
        }
    }
    if job.gate.as_ref().is_some_and(|Gate(may_start)| !may_start()) {
        return Err(Error::NotStarted);
    }
    let schedule = Schedule::starting_at(Instant::now(), job);
    // A thread that is gone is noticed below, when its result does not come.
    for member in workers {
        let _ = member.orders.send(schedule);
    }
    warm_up(job, schedule);
    let mut sampler = Sampler::start(job, workers.iter().map(|member| Arc::clone(&member.meter)).collect());
    let began = Reading::take(job, &sampler)?;
    let mut ended = None;
    let mut found = LaneResult::new(job);
    for _ in workers {
        found.merge(wait_for_end(events, &mut sampler, schedule, &mut ended)?);
    }
    let is_interrupted = ended.is_none() && job.stop.is_stopped();
    let ended = ended.map_or_else(|| Reading::take(job, &sampler), Ok)?;
    let server_memory = job.server_pid.map(|pid| Process::Id(pid).memory()).transpose()?;
    let readings = Readings { began, ended, server_memory };
    let rates = found.tallies().map(|tally| sampler.rates(tally.direction()));
    Ok(Measured { found, readings, rates, is_interrupted })
}

/// Waits until the measurement begins, or the job is stopped.
fn warm_up(job: &Job, schedule: Schedule) {
    while !job.stop.is_stopped() {
        let left = schedule.time_to_measurement();
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(STOP_INTERVAL));
    }
}

/// Waits for the end of one thread, and reads the rates meanwhile. What processes spent is read when the time of the
/// measurement is over, before what is outstanding ends and is committed.
fn wait_for_end(
    events: &Receiver<Event>,
    sampler: &mut Sampler<'_>,
    schedule: Schedule,
    ended: &mut Option<Reading>,
) -> Result<LaneResult, Error> {
    loop {
        let time_to_reading = schedule.time_to_end().filter(|_| ended.is_none());
        let due_in = sampler.due_in();
        match events.recv_timeout(time_to_reading.map_or(due_in, |time| time.min(due_in))) {
            Ok(Event::Ended(result)) => return *result,
            Err(RecvTimeoutError::Timeout) if time_to_reading.is_some_and(|time| time <= due_in) => {
                *ended = Some(Reading::take(sampler.job(), sampler)?);
            }
            Err(RecvTimeoutError::Timeout) => sampler.sample(),
            Ok(Event::Ready) | Err(RecvTimeoutError::Disconnected) => return Err(Error::ThreadDied),
        }
    }
}

/// How soon it is seen during the warm-up that a job is to end.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// A thread, as the one that waits for it sees it.
struct Member {
    orders: Sender<Schedule>,
    meter: Arc<Meter>,
}

/// What one thread does.
struct Part<'a> {
    job: &'a Job,
    targets: &'a Targets,
    /// The numbers of its connections.
    lanes: Range<u32>,
    events: Sender<Event>,
    meter: Arc<Meter>,
}

impl Member {
    fn hire<'s>(scope: &'s Scope<'s, '_>, part: Part<'s>) -> Result<Member, Error> {
        let (orders, inbox) = channel();
        let (name, meter) = ("bench".to_owned(), Arc::clone(&part.meter));
        let work = move || part.work(&inbox);
        thread::Builder::new().name(name).spawn_scoped(scope, work).map_err(Error::Thread)?;
        Ok(Member { orders, meter })
    }
}

impl Part<'_> {
    fn work(self, inbox: &Receiver<Schedule>) {
        let result = self.connect_and_run(inbox);
        // Nobody listens any more when another thread failed.
        let _ = self.events.send(Event::Ended(Box::new(result)));
        // Stays until the workers are released.
        while inbox.recv().is_ok() {}
    }

    fn connect_and_run(&self, inbox: &Receiver<Schedule>) -> Result<LaneResult, Error> {
        let runtime = self.runtime()?;
        let found = Rc::new(RefCell::new(LaneResult::new(self.job)));
        let counts = Counts { meter: Arc::clone(&self.meter), found: Rc::clone(&found) };
        let lanes = runtime.block_on(self.connect_all(counts))?;
        let _ = self.events.send(Event::Ready);
        let Ok(schedule) = inbox.recv() else {
            runtime.block_on(abandon(lanes));
            return Err(Error::ThreadDied);
        };
        LocalSet::new().block_on(&runtime, self.run_all(lanes, schedule))?;
        // A system call may still wait for a server.
        runtime.shutdown_background();
        Rc::into_inner(found).map(RefCell::into_inner).ok_or(Error::ThreadDied)
    }

    async fn connect_all(&self, counts: Counts) -> Result<Vec<Lane>, Error> {
        let mut lanes = Vec::new();
        for number in self.lanes.clone() {
            match self.lane(number, &counts).await {
                Ok(lane) => lanes.push(lane),
                Err(error) => {
                    abandon(lanes).await;
                    return Err(error);
                }
            }
        }
        Ok(lanes)
    }

    async fn lane(&self, number: u32, counts: &Counts) -> Result<Lane, Error> {
        self.job.stop.check()?;
        let access = self.access(number, counts).await?;
        Lane::new(self.job, number, counts, access)
    }

    async fn access(&self, number: u32, counts: &Counts) -> Result<Access, Error> {
        let job = self.job;
        let has_trees = job.workload.operation == Operation::Build;
        Ok(match self.targets {
            Targets::Export(targets) => {
                let mut export = Export::new(job, number, &counts.found, connect(job).await?, targets);
                if job.holds_opens {
                    export.open_all(job.files.choice()).await?;
                }
                if has_trees && let Err(error) = export.make_trees(job, number).await {
                    export.end().await;
                    return Err(error);
                }
                Access::Export(export)
            }
            Targets::Local(path, targets) => {
                let mut local = Local::new(job, number, path, targets, self.operations() == 1);
                if has_trees && let Err(error) = local.make_trees(job, number) {
                    local.end().await;
                    return Err(error);
                }
                Access::Local(local)
            }
        })
    }

    /// How many operations of this thread are in flight at most.
    fn operations(&self) -> u32 {
        (self.lanes.end - self.lanes.start).saturating_mul(self.job.depth)
    }

    fn runtime(&self) -> Result<Runtime, Error> {
        let waiting = self.operations().clamp(1, MAX_WAITING_THREADS) as usize;
        Builder::new_current_thread().enable_all().max_blocking_threads(waiting).build().map_err(Error::Thread)
    }

    /// Waits for all connections; of a job that is stopped, for those whose server answers.
    async fn run_all(&self, lanes: Vec<Lane>, schedule: Schedule) -> Result<(), Error> {
        let ended = pin!(run_to_the_end(lanes, self.job.depth, schedule));
        match select(ended, pin!(self.job.stop.timeout())).await {
            Either::Left((ended, _)) => ended,
            Either::Right(_) => Ok(()),
        }
    }
}

async fn run_to_the_end(lanes: Vec<Lane>, depth: u32, schedule: Schedule) -> Result<(), Error> {
    let mut running = JoinSet::new();
    for lane in lanes {
        running.spawn_local(lane.run(depth, schedule));
    }
    while let Some(ended) = running.join_next().await {
        ended.ok().flatten().ok_or(Error::ThreadDied)?;
    }
    Ok(())
}

/// Ends connections that have not begun, since another one cannot begin.
async fn abandon(lanes: Vec<Lane>) {
    for lane in lanes {
        lane.abandon().await;
    }
}

/// The numbers that are the share of one thread.
fn part(count: u32, number: u32, threads: u32) -> Range<u32> {
    let bound = |n: u32| (u64::from(count) * u64::from(n) / u64::from(threads)) as u32;
    bound(number)..bound(number + 1)
}

fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread().enable_all().build().map_err(Error::Thread)
}

/// Waits for something asynchronous on a thread and a runtime of its own: the caller's may be inside of another
/// runtime.
fn on_own_thread<T: Send, F: Future<Output = Result<T, Error>>>(make: impl FnOnce() -> F + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let thread: ScopedJoinHandle<'_, Result<T, Error>> = scope.spawn(|| runtime()?.block_on(make()));
        thread.join().map_err(|_| Error::ThreadDied)?
    })
}

fn outcome(job: &Job, measured: Measured, elapsed: Duration) -> (BenchResult, Unchecked) {
    let Measured { found, readings, rates, is_interrupted } = measured;
    let Readings { began, ended, server_memory } = readings;
    let runtime_with_commit = found.writes.time_until_end_of(&found.syncs);
    let summary = JobSummary {
        runtime: ended.at - began.at,
        elapsed,
        directions: [found.reads, found.writes, found.syncs, found.metadata]
            .into_iter()
            .zip(rates)
            .filter_map(|(tally, rates)| tally.summary(rates))
            .map(|summary| with_commit(summary, runtime_with_commit))
            .collect(),
        periods: found.timeline.periods(measured_time(job, ended.at - began.at)),
        work_in_runtime: ended.work - began.work,
        client_cpu: ended.client - began.client,
        server_cpu: ended.server.zip(began.server).map(|(ended, began)| ended - began),
        is_interrupted,
        ..job.summary_of_nothing()
    };
    let result = BenchResult { summary, first_error: found.first_error, made_files: false, server_memory };
    (result, Unchecked { is_written: found.is_written, wrong: found.wrong })
}

impl Job {
    /// Its description, without figures.
    pub(crate) fn summary_of_nothing(&self) -> JobSummary {
        JobSummary {
            name: self.name.clone(),
            workload: self.workload.to_string(),
            target: self.described_target(),
            block_sizes: self.block_sizes(),
            depth: self.depth,
            connections: self.connections,
            options: self.described(),
            runtime: Duration::ZERO,
            elapsed: Duration::ZERO,
            directions: Vec::new(),
            periods: Vec::new(),
            work_in_runtime: Work::default(),
            client_cpu: CpuUse::default(),
            server_cpu: None,
            is_interrupted: false,
            replay: None,
        }
    }
}

impl Job {
    /// Where its file is, and how that is reached.
    fn described_target(&self) -> String {
        if self.local.is_some() {
            return self.target();
        }
        described_url(&self.url, &self.options)
    }
}

/// A URL with its parameters, and the version and transport that options add to them. The number of connections is the
/// job's.
pub(crate) fn described_url(url: &Url, options: &Options) -> String {
    let Options { version, transport, .. } = url.over(options);
    let (version, transport) = (Some(version), Some(transport));
    let parameters = Parameters { version, transport, connections: None, ..url.parameters.clone() };
    Url { parameters, ..url.clone() }.with_parameters()
}

/// The time in which operations count over time: without what is outstanding at its end.
fn measured_time(job: &Job, runtime: Duration) -> Duration {
    match job.end {
        End::After(time) => time.min(runtime),
        End::Bytes(_) => runtime,
    }
}

/// Only writes are followed by a COMMIT.
fn with_commit(summary: DirectionSummary, runtime_with_commit: Option<Duration>) -> DirectionSummary {
    match summary.direction {
        Direction::Write => DirectionSummary { runtime_with_commit, ..summary },
        _ => summary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_has_the_parameters_of_the_url_and_the_version_and_transport_in_use() {
        let described = |text: &str| described_url(&text.parse().unwrap(), &Options::default());
        let given = "nfs://h:1/x?version=4.1&proto=tcp&uid=5&rsize=4096&noreadplus";
        assert_eq!(described(given), given);
        assert_eq!(described("nfs://h/x?soft&nconnect=4"), "nfs://h/x?version=3&proto=tcp&soft");
    }

    #[test]
    fn threads_share_all_connections_and_none_twice() {
        let parts: Vec<_> = (0..3).flat_map(|number| part(10, number, 3)).collect();
        assert_eq!(parts, (0..10).collect::<Vec<_>>());
        assert!((0..3).all(|number| (3..=4).contains(&part(10, number, 3).len())));
    }
}
