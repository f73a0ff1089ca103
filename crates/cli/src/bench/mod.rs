//! `wharf bench`: loads on a server, and what was measured of them.

mod agents;
mod fio;
mod load;
mod replay;
mod target;

use std::io::Write;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, process, thread};

use clap::{Args, Command, FromArgMatches};
use client::{Follow, Status, Url};
use lab::bench::{
    BenchResult, End, Existing, Files, Job, LocalPath, Observer, Progress, Rate, Spacing, Stop, Workload,
};
use lab::replay::Replay;
use measure::record::JobSummary;
use report::Run;
use tokio::sync::oneshot;
use vfs::FileKind;

use self::agents::AgentFlags;
use self::fio::FioJob;
use self::load::{Load, up_to};
use self::replay::ReplayFlags;
use self::target::{Target, target_argument};
use crate::failure::{BenchError, Failure};
use crate::interruption;
use crate::nfsstat::{OwnFlags, OwnMounts};
use crate::output::Output;
use crate::progress::BenchProgress;
use crate::remote::{self, ConnectFlags, Session, about};

/// Benchmark a server, or a mount of it: throughput and latency.
///
/// Workloads run one after the other. A missing file is created and filled; in a directory, a temporary file is used.
/// An existing file is read as it is, and never written without --overwrite. Ctrl-C ends the benchmark and prints the
/// results so far.
#[derive(Debug, Args)]
pub struct Flags {
    /// File or directory to use, such as nfs://host/export/file or host:/export/file. A path that begins with / or . is
    /// on this machine, such as below a mounted export: system calls then do the work.
    #[arg(value_name = "URL", value_parser = target_argument())]
    target: Target,
    /// Run the jobs of a file of fio one after the other. The URL names their directory, or the file of all of them.
    #[arg(long, value_name = "FILE", conflicts_with = "Load")]
    fio: Option<PathBuf>,
    #[command(flatten)]
    replay: ReplayFlags,
    #[command(flatten)]
    load: Load,
    /// Measure the maximum of each job with --iodepth, then STEPS rates up to it as Poisson processes with a depth of
    /// 64 or more: latency against throughput, as a table at the end.
    #[arg(long, value_name = "STEPS", conflicts_with_all = ["rate", "thinktime"], value_parser = up_to(MAX_STEPS))]
    curve: Option<u32>,
    /// Replace the contents of existing files: fill those that are too short, and write to them.
    #[arg(long)]
    overwrite: bool,
    /// Process ID of a server on this machine, to report its processor time.
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Print JSON with the field names of fio.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    agents: AgentFlags,
    #[command(flatten)]
    own: OwnFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// The most rates of a curve.
const MAX_STEPS: u32 = 100;

/// Runs the benchmark.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    if flags.agents.is_wanted() {
        return report_of_agents(flags);
    }
    let own = Arc::new(OwnMounts::new("bench", flags.own));
    own.tell(report(flags, &own))
}

/// Measures, and prints the results, or those up to an interruption.
fn report(flags: &Flags, own: &Arc<OwnMounts>) -> Result<(), Failure> {
    let at = SystemTime::now();
    let (outcomes, ended) = measure(flags, own)?;
    let first_error = outcomes.iter().position(|outcome| outcome.first_error.is_some());
    let (summaries, mut errors): (Vec<_>, Vec<_>) =
        outcomes.into_iter().map(|outcome| (outcome.summary, outcome.first_error)).unzip();
    if !summaries.is_empty() {
        flags.print(at, summaries)?;
    }
    ended?;
    match first_error.and_then(|index| errors.swap_remove(index)) {
        Some(source) => Err(BenchError::Operation(source).into()),
        None => Ok(()),
    }
}

/// Has agents measure, and prints the results. Ctrl-C ends this process, and its agents end their jobs.
fn report_of_agents(flags: &Flags) -> Result<(), Failure> {
    let at = SystemTime::now();
    let (summaries, first_error) = flags.agents.measure(&flags.all_jobs()?)?;
    flags.print(at, summaries)?;
    first_error.map_or(Ok(()), |error| Err(error.into()))
}

/// The job of this number in the arguments that a conductor sent. Only loads are accepted: nothing that reads files of
/// this host.
pub fn make_job(arguments: &[String], number: usize) -> Result<Job, String> {
    let command = Flags::augment_args(Command::new("bench").no_binary_name(true));
    let flags = command.try_get_matches_from(arguments).and_then(|matches| Flags::from_arg_matches(&matches));
    let flags = flags.map_err(|error| error.to_string())?;
    if !flags.agents.is_wanted() {
        return Err("the order is a `wharf bench` without --agents".to_owned());
    }
    let jobs = flags.all_jobs().map_err(|failure| failure.to_string())?;
    match jobs.into_iter().nth(number) {
        Some(job) if job.local.is_some() => Err("agents use no files of their hosts: name a URL".to_owned()),
        job => job.ok_or_else(|| "the order has no such job".to_owned()),
    }
}

/// How long a benchmark may take to end after Ctrl-C.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What was found so far.
type Found = Arc<Mutex<Vec<BenchResult>>>;

/// Runs all jobs on a thread of their own. Returns the results, and how the jobs ended.
fn measure(flags: &Flags, own: &Arc<OwnMounts>) -> Result<(Vec<BenchResult>, Result<(), Failure>), Failure> {
    let interrupted = interruption::listen()?;
    let (stop, progress, found) = (Stop::default(), BenchProgress::start(), Found::default());
    let (sender, done) = oneshot::channel();
    let work = flags.work(own, &stop, progress.watcher(), &found)?;
    let spawned = thread::Builder::new().name("jobs".to_owned()).spawn(move || sender.send(work()));
    spawned.map_err(|source| Failure::System { action: "start a thread", source })?;
    let ended = remote::run_to_its_end(wait(flags, done, async {
        let signal = interrupted.await;
        stop.stop();
        signal.ok()
    }));
    progress.finish();
    let outcomes = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((outcomes, ended))
}

/// Runs jobs one after the other.
struct Runner {
    /// How many rates of each job are measured after its maximum.
    steps: u32,
    /// The files that these jobs made, which later ones may change.
    made: Vec<(Url, Option<LocalPath>, Files)>,
    found: Found,
}

/// How many operations of a connection wait for replies at most while their rate is given.
const OPEN_DEPTH: u32 = 64;

impl Runner {
    /// Runs all, until one fails or they are stopped.
    fn run_all(&mut self, jobs: &[Job]) -> Result<(), lab::bench::Error> {
        for job in jobs {
            let most = self.run(job)?;
            for step in 1..=self.steps {
                let share = f64::from(step) / f64::from(self.steps);
                let rate = Rate { per_second: most * share, spacing: Spacing::Poisson };
                let name = format!("{} {:.0} %", job.name, share * 100.0);
                let depth = job.depth.max(OPEN_DEPTH);
                if rate.per_second > 0.0 {
                    self.run(&Job { name, depth, rate: Some(rate), ..job.clone() })?;
                }
            }
        }
        Ok(())
    }

    /// Runs a job, unless it is stopped. Returns how many operations a second it did.
    fn run(&mut self, job: &Job) -> Result<f64, lab::bench::Error> {
        if job.stop.is_stopped() {
            return Ok(0.0);
        }
        let files = (job.url.clone(), job.local.clone(), job.files);
        let existing = if self.made.contains(&files) { Existing::Overwrite } else { job.existing };
        let outcome = lab::bench::run(&Job { existing, ..job.clone() })?;
        if outcome.made_files {
            self.made.push(files);
        }
        let rate = outcome.summary.work_in_runtime.operations_per_second(outcome.summary.runtime);
        self.found.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
        Ok(rate)
    }
}

/// Waits for the jobs. After a signal it waits only for operations in flight.
async fn wait(
    flags: &Flags,
    done: oneshot::Receiver<Result<(), BenchError>>,
    stopped: impl Future<Output = Option<i32>>,
) -> Result<(), Failure> {
    let mut done = pin!(done);
    let signal = tokio::select! {
        done = &mut done => return Ok(done.unwrap_or(Err(lab::bench::Error::ThreadDied.into()))?),
        Some(signal) = stopped => signal,
    };
    let has_ended = tokio::time::timeout(STOP_TIMEOUT, done).await.is_ok();
    let left = match (has_ended, flags.replay.is_wanted()) {
        (false, true) => {
            let dir = format!("{}/{}", flags.target, Replay::dir_name());
            format!("its files are left in {dir}: remove that directory")
        }
        (true, true) => "its files are removed".to_owned(),
        (has_ended, false) => {
            if !has_ended {
                flags.remove_temporary().await?;
            }
            "a file that was made for this is removed".to_owned()
        }
    };
    Err(Failure::Interrupted { signal, left })
}

/// What is measured, on a thread of its own.
type Jobs = Box<dyn FnOnce() -> Result<(), BenchError> + Send>;

impl Flags {
    /// Everything that is measured.
    fn work(
        &self,
        own: &Arc<OwnMounts>,
        stop: &Stop,
        watcher: Observer<Progress>,
        found: &Found,
    ) -> Result<Jobs, Failure> {
        let (found, stop, watcher) = (Arc::clone(found), stop.clone(), Some(watcher));
        if let Some(file) = self.replay.file() {
            let Target::Export(url) = &self.target else {
                return Err(BenchError::ReplayPath(self.target.to_string()).into());
            };
            let capture = file.read(url.parameters.version.or(self.connect.version()))?;
            let replay = Replay {
                name: file.path.display().to_string(),
                url: url.clone(),
                options: self.connect.preferring(capture.version()).options(),
                pace: file.pace,
                max_bytes: file.max_bytes,
                server_pid: self.server_pid,
                watcher,
                stop,
            };
            return Ok(Box::new(move || {
                let outcome = file.replay(&replay, &capture)?;
                found.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                Ok(())
            }));
        }
        let jobs = self.jobs(own)?.into_iter();
        let jobs: Vec<Job> = jobs.map(|job| Job { watcher: watcher.clone(), stop: stop.clone(), ..job }).collect();
        let mut runner = Runner { steps: self.curve.unwrap_or(0), made: Vec::new(), found };
        Ok(Box::new(move || Ok(runner.run_all(&jobs)?)))
    }

    /// What agents do: these have no statistics of mounts to show.
    fn all_jobs(&self) -> Result<Vec<Job>, Failure> {
        self.jobs(&Arc::new(OwnMounts::new("bench", self.own)))
    }

    fn print(&self, at: SystemTime, jobs: Vec<JobSummary>) -> Result<(), Failure> {
        let run = Run { version: env!("CARGO_PKG_VERSION").to_owned(), at, jobs };
        let mut output = Output::new();
        match self.json {
            true => writeln!(output, "{}", run.to_json().map_err(BenchError::Json)?)?,
            false => write!(output, "{}", run.to_text())?,
        }
        Ok(output.finish()?)
    }

    /// Removes the file that a job makes in a directory. Its name contains the ID of this process.
    async fn remove_temporary(&self) -> Result<(), Failure> {
        let name = format!("wharf-bench.{}", process::id());
        let url = match self.target.with_file(self.load.file.as_deref()) {
            Target::Export(url) => url,
            Target::Local(path) => {
                // One that is not there was not made, or is removed.
                let _ = fs::remove_file(path.join(name));
                return Ok(());
            }
        };
        let session = Session::open(&url, &self.connect).await?;
        let found = session.find(Follow::Links).await?;
        if found.attributes.kind != FileKind::Directory {
            return Ok(());
        }
        match session.mount.remove(&found.handle, name.as_bytes()).await {
            Err(error) if error.status() != Some(Status::NoEntry) => Err(about(format!("{url}/{name}"))(error)),
            _ => Ok(()),
        }
    }

    /// What to do: the workloads of the command line, or the jobs of a file.
    fn jobs(&self, own: &Arc<OwnMounts>) -> Result<Vec<Job>, Failure> {
        let Some(path) = &self.fio else {
            return Ok(self.load.rw.iter().map(|workload| self.job(&self.load, *workload, own)).collect());
        };
        let jobs = fio::read(path).map_err(BenchError::Fio)?;
        let is_paced = |job: &&FioJob| job.load.rate.is_some() || !job.load.thinktime.is_zero();
        if let (Some(_), Some(job)) = (self.curve, jobs.iter().find(is_paced)) {
            return Err(BenchError::Paced(job.name.clone()).into());
        }
        let job = |FioJob { name, workload, load, bytes }: FioJob| {
            let job = self.job(&load, workload, own);
            Job { name, end: bytes.map_or(job.end, End::Bytes), ..job }
        };
        Ok(jobs.into_iter().map(job).collect())
    }

    fn job(&self, load: &Load, workload: Workload, own: &Arc<OwnMounts>) -> Job {
        let job = load.job(workload, &self.target, &self.connect);
        Job {
            existing: if self.overwrite { Existing::Overwrite } else { job.existing },
            observer: self.own.is_wanted().then(|| {
                let own = Arc::clone(own);
                Observer(Arc::new(move |mount| own.add(mount)))
            }),
            server_pid: self.server_pid,
            ..job
        }
    }
}
