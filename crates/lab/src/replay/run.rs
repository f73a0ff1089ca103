//! A replay from its start to its end.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::pin::pin;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use client::proto::nfs3::MAX_DATA_BYTES;
use client::v4::Client;
use client::{Connection, Mount, Options, Parameters, Url, Version};
use futures_util::future::{Either, FutureExt, LocalBoxFuture, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use measure::CpuUse;
use measure::record::JobSummary;
use tokio::runtime::Builder;

use super::capture::Capture;
use super::found::Found;
use super::opens::Opens;
use super::prepare::Prepared;
use super::schedule::Schedule;
use super::send::{Ended, Line, Map};
use super::{Error, Replay};
use crate::bench::run::described_url;
use crate::bench::timer::Timer;
use crate::bench::{BenchResult, Observer, Progress, Stop};
use crate::process::Process;

/// The most calls in flight.
const MAX_IN_FLIGHT: usize = 4096;
/// How many calls fail without a reply until the replay ends: the server is gone.
const MAX_ERRORS: u64 = 100;
/// How often rates are read and progress is shown.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long nothing is looked at when nothing is due.
const IDLE: Duration = Duration::from_secs(3600);

/// Makes the files of a capture below the URL, does its calls, and removes the files. It may be called inside of a
/// tokio runtime, which then waits too.
///
/// # Errors
/// When the files cannot be made or removed, or when nothing can be measured. A call that fails is counted and is no
/// error.
pub fn run(replay: &Replay, capture: &Capture) -> Result<BenchResult, Error> {
    let bytes = capture.tree.files.iter().map(|file| file.contents().data_bytes()).fold(0, u64::saturating_add);
    if bytes > replay.max_bytes {
        return Err(Error::TooLarge { bytes });
    }
    let work = || {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
        runtime.block_on(prepare_and_run(replay, capture))
    };
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

async fn prepare_and_run(replay: &Replay, capture: &Capture) -> Result<BenchResult, Error> {
    let began = Instant::now();
    // Delegations of the preparation would be recalled by the replay.
    let options = Options { max_pending: MAX_IN_FLIGHT, uses_delegations: false, ..replay.options.clone() };
    let mount = Mount::connect(&replay.url, &options).await?;
    if capture.check_version(mount.version()).is_err() {
        return Err(Error::Version { captured: capture.version(), here: mount.version() });
    }
    let mut payload = vec![0; MAX_DATA_BYTES];
    fastrand::Rng::with_seed(1).fill(&mut payload);
    let payload = Bytes::from(payload);
    let mut prepared = Prepared::new(mount, replay).await?;
    let measured = match prepared.fill(&capture.tree, &payload).await {
        Ok(()) => measure(replay, capture, &mut prepared, &payload).await,
        Err(error) => Err(error),
    };
    let removed = prepared.remove().await;
    let mut result = measured?;
    removed?;
    result.summary.elapsed = began.elapsed();
    Ok(result)
}

async fn measure(
    replay: &Replay,
    capture: &Capture,
    prepared: &mut Prepared,
    payload: &Bytes,
) -> Result<BenchResult, Error> {
    let (lines, clients) = connect(&prepared.mount, capture).await?;
    let handles = std::mem::take(&mut prepared.handles);
    let map = Map { handles, positions: HashMap::new(), payload, opens: Opens::new(&capture.states) };
    let measured = measure_over(replay, capture, lines, map).await;
    if let (Ok(result), Some(Observer(observe))) = (&measured, &replay.on_measured) {
        observe(&result.summary);
    }
    for client in clients.into_values() {
        // What is open still ends with the lease.
        let _ = tokio::time::timeout(Stop::TIMEOUT, client.close()).await;
    }
    measured
}

/// Connects as often as the clients of the capture were. Clients of NFSv4 are clients here too.
async fn connect(mount: &Mount, capture: &Capture) -> Result<(Vec<Line>, HashMap<u32, Client>), Error> {
    let (address, server, options) = (mount.connection().address(), mount.server(), mount.options());
    let (mut lines, mut clients) = (Vec::new(), HashMap::new());
    let Version::V4(minor) = mount.version() else {
        for _ in &capture.lines {
            lines.push(Line::V3(Connection::connect(address, server, options).await?));
        }
        return Ok((lines, clients));
    };
    let mut used: HashMap<u32, usize> = HashMap::new();
    for line in &capture.lines {
        let number = line.client.unwrap_or_default();
        if let Entry::Vacant(vacant) = clients.entry(number) {
            let connections = capture.lines.iter().filter(|other| other.client == line.client).count();
            let options = Options { connections, ..options.clone() };
            vacant.insert(Client::connect(address, server, minor, &options).await?);
        }
        let turn = used.entry(number).or_default();
        lines.push(Line::V4(clients[&number].over(*turn), number));
        *turn += 1;
    }
    Ok((lines, clients))
}

async fn measure_over(
    replay: &Replay,
    capture: &Capture,
    lines: Vec<Line>,
    map: Map<'_>,
) -> Result<BenchResult, Error> {
    if replay.stop.is_stopped() {
        return Err(Error::Stopped);
    }
    let server = replay.server_pid.map(Process::Id);
    let before = (Process::This.cpu()?, server.map(Process::cpu).transpose()?);
    let timer = Timer::new().map_err(Error::Timer)?;
    let mut running = Running::new(replay, capture, lines, map);
    running.run(&timer).await;
    let runtime = running.start.elapsed();
    let after = (Process::This.cpu()?, server.map(Process::cpu).transpose()?);
    let server_cpu = after.1.zip(before.1).map(|(after, before)| after - before);
    let first_error = running.found.first_error.take();
    let summary = JobSummary { server_cpu, ..running.summary(runtime, after.0 - before.0) };
    Ok(BenchResult { summary, first_error, made_files: false, server_memory: None })
}

/// A replay in progress.
struct Running<'c> {
    replay: &'c Replay,
    capture: &'c Capture,
    lines: Vec<Line>,
    map: Map<'c>,
    schedule: Schedule<'c>,
    start: Instant,
    in_flight: FuturesUnordered<LocalBoxFuture<'c, Ended>>,
    most_in_flight: usize,
    /// How many calls are over or left out.
    over: usize,
    found: Found,
}

impl<'c> Running<'c> {
    fn new(replay: &'c Replay, capture: &'c Capture, lines: Vec<Line>, map: Map<'c>) -> Running<'c> {
        let schedule = Schedule::new(capture, replay.pace);
        let start = Instant::now();
        Running {
            replay,
            capture,
            lines,
            map,
            schedule,
            start,
            in_flight: FuturesUnordered::new(),
            most_in_flight: 0,
            over: 0,
            found: Found::new(start, capture.version()),
        }
    }

    /// Does all calls, until they are over or the replay is to stop.
    async fn run(&mut self, timer: &Timer) {
        while self.found.errors < MAX_ERRORS && !self.replay.stop.is_stopped() {
            self.begin_due();
            if self.in_flight.is_empty() && self.schedule.next_due().is_none() {
                break;
            }
            self.wait(timer).await;
            while let Some(Some(ended)) = self.in_flight.next().now_or_never() {
                self.end(ended);
            }
            self.show_progress();
        }
        let deadline = tokio::time::Instant::now() + Stop::TIMEOUT;
        while let Ok(Some(ended)) = tokio::time::timeout_at(deadline, self.in_flight.next()).await {
            self.end(ended);
        }
        self.found.finish(Instant::now());
    }

    /// Begins the calls that are due.
    fn begin_due(&mut self) {
        while self.in_flight.len() < MAX_IN_FLIGHT
            && let now = self.start.elapsed()
            && let Some((number, due)) = self.schedule.next(now)
        {
            let call = &self.capture.calls[number as usize];
            match self.map.call(number, &call.op, &self.lines[call.connection as usize]) {
                Ok(call) => {
                    self.found.begin(now - due);
                    self.in_flight.push(call);
                    self.most_in_flight = self.most_in_flight.max(self.in_flight.len());
                }
                Err(why) => {
                    self.found.leave_out(why);
                    self.over += 1;
                    self.schedule.end(number, now);
                }
            }
        }
    }

    /// Waits until a call is over or due.
    async fn wait(&mut self, timer: &Timer) {
        let has_room = self.in_flight.len() < MAX_IN_FLIGHT;
        let due = self.schedule.next_due().filter(|_| has_room).unwrap_or(Duration::MAX);
        let due = self.start.checked_add(due).unwrap_or_else(|| Instant::now() + IDLE);
        let due = pin!(timer.wait_until(due, None, &self.replay.stop));
        if self.in_flight.is_empty() {
            due.await;
        } else if let Either::Left((Some(ended), _)) = select(self.in_flight.next(), due).await {
            self.end(ended);
        }
    }

    /// Takes the end of a call, and what the server answered.
    fn end(&mut self, ended: Ended) {
        let (number, at) = (ended.number, ended.at - self.start);
        let call = &self.capture.calls[number as usize];
        if let Some(answer) = self.found.end(call, ended) {
            self.map.learn(call, answer);
        }
        self.over += 1;
        self.schedule.end(number, at);
    }

    fn show_progress(&mut self) {
        let now = Instant::now();
        if self.found.time_since_sample(now) < INTERVAL {
            return;
        }
        let latest = self.found.sample(now);
        if let Some(Observer(watch)) = &self.replay.watcher {
            let done = self.over as f64 / self.capture.calls.len() as f64;
            let left = Duration::try_from_secs_f64((now - self.start).as_secs_f64() * (1.0 - done) / done);
            let (job, left) = (self.replay.name.clone(), left.unwrap_or_default());
            watch(&Progress { job, done, left, latest });
        }
    }

    fn summary(self, runtime: Duration, client_cpu: CpuUse) -> JobSummary {
        let Replay { name, url, options: mounted, pace, .. } = self.replay;
        let (version, lowest_version) = (Some(self.capture.version()), None);
        let parameters = Parameters { version, lowest_version, ..url.parameters.clone() };
        let url = Url { parameters, ..url.clone() };
        let options = [("name", name.clone()), ("ioengine", "wharf".to_owned()), ("rw", "replay".to_owned())];
        let is_interrupted = self.over < self.capture.calls.len() && self.replay.stop.is_stopped();
        let (work_in_runtime, periods) = (self.found.work(), self.found.periods(runtime));
        let (directions, found) = self.found.into_summaries(self.capture, self.map.opens.without_open);
        JobSummary {
            name: name.clone(),
            workload: "replay".to_owned(),
            target: described_url(&url, mounted),
            block_sizes: "as captured".to_owned(),
            depth: self.most_in_flight as u32,
            connections: self.lines.len() as u32,
            options: options.into_iter().chain([("replay_speed", pace.to_string())]).collect(),
            runtime,
            elapsed: runtime,
            directions,
            periods,
            work_in_runtime,
            client_cpu,
            server_cpu: None,
            is_interrupted,
            replay: Some(found),
        }
    }
}
