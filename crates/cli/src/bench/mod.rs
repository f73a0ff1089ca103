//! `wharf bench`: loads on a server, and what was measured of them.

mod agents;
mod fio;
mod found;
mod interrupted;
mod load;
mod replay;
mod runner;
mod target;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use clap::{Args, Command, FromArgMatches};
use lab::bench::{End, Existing, Job, Observer, Progress, Stop, Workload};
use lab::replay::Replay;
use measure::record::JobSummary;
use report::Run;
use tokio::sync::oneshot;

use self::agents::AgentFlags;
use self::fio::FioJob;
use self::found::{Figures, Found};
use self::interrupted::wait;
use self::load::{Load, up_to};
use self::replay::ReplayFlags;
use self::runner::Runner;
use self::target::{Target, target_argument};
use crate::failure::{BenchError, Failure};
use crate::interruption;
use crate::nfsstat::{OwnFlags, OwnMounts};
use crate::output::Output;
use crate::progress::BenchProgress;
use crate::remote::{self, ConnectFlags};

/// Benchmark a server, or a mount of it: throughput and latency.
///
/// Workloads run one after the other. A missing file is created and filled; in a directory, a temporary file is used.
/// An existing file is read as it is, and never written without --overwrite. Ctrl-C ends the benchmark, prints the
/// results so far and removes temporary files; a second one ends it at once and names what is left.
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
    let own = Arc::new(OwnMounts::new("bench", flags.own));
    own.tell(report(flags, &own))
}

/// Measures, and prints the results, or those up to an interruption.
fn report(flags: &Flags, own: &Arc<OwnMounts>) -> Result<(), Failure> {
    let at = SystemTime::now();
    let (Figures { summaries, first_error }, ended) = measure(flags, own)?;
    if !summaries.is_empty() {
        flags.print(at, summaries)?;
    }
    ended?;
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

/// Runs all jobs on a thread of their own. Returns the figures, and how the jobs ended.
fn measure(flags: &Flags, own: &Arc<OwnMounts>) -> Result<(Figures, Result<(), Failure>), Failure> {
    let interrupted = interruption::listen()?;
    let (stop, progress, found) = (Stop::default(), BenchProgress::start(), Found::default());
    let (sender, done) = oneshot::channel();
    let work = flags.work(own, &stop, progress.watcher(), &found)?;
    let spawned = thread::Builder::new().name("jobs".to_owned()).spawn(move || sender.send(work()));
    spawned.map_err(|source| Failure::System { action: "start a thread", source })?;
    let ended = remote::run_to_its_end(wait(&flags.connect, done, async {
        let signal = interrupted.await;
        stop.stop();
        signal.ok()
    }));
    progress.finish();
    Ok((found.take(), ended))
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
        let (found, stop, watcher) = (found.clone(), stop.clone(), Some(watcher));
        if self.agents.is_wanted() {
            let (agents, jobs) = (self.agents.clone(), self.all_jobs()?);
            return Ok(Box::new(move || agents.measure(&jobs, &stop, &found)));
        }
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
                on_measured: None,
                watcher,
                stop,
            };
            return Ok(Box::new(move || {
                let run = |observer| file.replay(&Replay { on_measured: Some(observer), ..replay }, &capture);
                let outcome = found.add(run, |_| false)?;
                outcome.first_error.into_iter().for_each(|error| found.note_error(error.into()));
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
