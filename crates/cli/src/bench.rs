use std::io::Write;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{process, thread};

use clap::Args;
use client::{Follow, Status, Url};
use lab::bench::{End, Files, Job, Observer, Order, Outcome, Rate, Stop, Workload};
use report::Run;
use tokio::sync::oneshot;
use vfs::FileKind;

use crate::failure::{BenchError, Failure};
use crate::interruption;
use crate::nfsstat::{OwnFlags, OwnMounts};
use crate::output::Output;
use crate::progress::BenchProgress;
use crate::remote::{self, ConnectFlags, Session, about};

/// Measure how fast a server reads and writes.
///
/// Each workload runs for itself, one after the other. The file is made and filled when it is missing or too short; in
/// a directory, a file is made and removed afterwards. Ctrl-C ends the measurement and tells what was measured until
/// then.
#[derive(Debug, Args)]
pub struct Flags {
    /// The file or directory to use, such as nfs://host/export/file or host:/export/file.
    #[arg(value_name = "URL", value_parser = remote::parse_url)]
    url: Url,
    /// What to do: read, write, rw, randread, randwrite, randrw; getattr, access, lookup, createremove, newfile (made,
    /// a block written to stable storage, closed), readdirplus (the whole directory), mix (many operations, like LADDIS and SPECsfs);
    /// open (and close), lock (and unlock); readplus-data, readplus-hole, readplus-mixed, the same with rand in front; several with commas between them.
    #[arg(long, value_name = "WORKLOAD", value_delimiter = ',', default_value = "read")]
    rw: Vec<Workload>,
    /// How many of a hundred operations read, for rw and randrw. [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    rwmixread: Option<u8>,
    /// The size of one operation. [default: 1M, and 4K for locks and random workloads]
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    bs: Option<u32>,
    /// How many operations are under way at once on each connection.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    iodepth: u32,
    /// How many connections there are.
    #[arg(long, value_name = "COUNT", visible_alias = "numjobs", default_value_t = 1)]
    connections: u32,
    /// Begin so many operations a second on all connections together, at equal distances or as a Poisson process. Latency counts
    /// from when an operation was due; --iodepth is the most that are under way at once on a connection. [default: each
    /// begins as soon as another one is over]
    #[arg(long, value_name = "N[,poisson]")]
    rate: Option<Rate>,
    /// How long to measure. [default: 5s, unless --size is given: then until that much is transferred]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    runtime: Option<Duration>,
    /// How much of the file is used. [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size)]
    size: Option<u64>,
    /// How long to run before measuring.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "0s")]
    ramp_time: Duration,
    /// The name of the file, below the URL.
    #[arg(long, value_name = "NAME")]
    file: Option<String>,
    /// Let each connection use a file of its own, whose name has .0, .1 and so on behind it.
    #[arg(long, conflicts_with = "verify")]
    own_files: bool,
    /// Spread reads and questions over COUNT files, whose names have .0, .1 and so on behind them.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["own_files", "verify"])]
    files: Option<u32>,
    /// Ask for every write to be on stable storage before it is answered.
    #[arg(long)]
    sync: bool,
    /// Compare every byte that is read with what was written; this costs the client much time.
    #[arg(long)]
    verify: bool,
    /// What random orders follow from.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The process of a server on this machine, to tell what it spends.
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// The figures with the field names of fio's JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    own: OwnFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// The size of one operation when nobody says: large ones in sequence, small ones anywhere.
const SEQUENTIAL_BYTES: u32 = 1 << 20;
const RANDOM_BYTES: u32 = 4096;
/// How long to measure when nobody says.
const DEFAULT_RUNTIME: Duration = Duration::from_secs(5);

/// Measures.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let own = Arc::new(OwnMounts::new("bench", flags.own));
    own.tell(report(flags, &own))
}

/// Measures, and says what came of it; when it is interrupted, what was measured until then.
fn report(flags: &Flags, own: &Arc<OwnMounts>) -> Result<(), Failure> {
    let at = SystemTime::now();
    let (outcomes, ended) = measure(flags, own)?;
    let first_error = outcomes.iter().position(|outcome| outcome.first_error.is_some());
    let (summaries, mut errors): (Vec<_>, Vec<_>) =
        outcomes.into_iter().map(|outcome| (outcome.summary, outcome.first_error)).unzip();
    let run = Run { version: env!("CARGO_PKG_VERSION").to_owned(), at, jobs: summaries };
    if !run.jobs.is_empty() {
        let mut output = Output::new();
        match flags.json {
            true => writeln!(output, "{}", run.to_json().map_err(BenchError::Json)?)?,
            false => write!(output, "{}", run.to_text())?,
        }
        output.finish()?;
    }
    ended?;
    match first_error.and_then(|index| errors.swap_remove(index)) {
        Some(source) => Err(BenchError::Operation(source).into()),
        None => Ok(()),
    }
}

/// How long a benchmark may take to end when the user wants no more of it.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Does all jobs on a thread of their own. Gives what was measured, and how the jobs ended.
fn measure(flags: &Flags, own: &Arc<OwnMounts>) -> Result<(Vec<Outcome>, Result<(), Failure>), Failure> {
    let interrupted = interruption::listen()?;
    let (stop, progress) = (Stop::default(), BenchProgress::start());
    let jobs = flags.rw.iter().map(|workload| flags.job(*workload, own));
    let jobs: Vec<Job> = jobs.map(|job| Job { watcher: Some(progress.watcher()), stop: stop.clone(), ..job }).collect();
    let (sender, done) = oneshot::channel();
    let outcomes = Arc::new(Mutex::new(Vec::new()));
    let found = Arc::clone(&outcomes);
    let work = move || sender.send(run_all(&jobs, &found));
    let spawned = thread::Builder::new().name("jobs".to_owned()).spawn(work);
    spawned.map_err(|source| Failure::System { action: "start a thread", source })?;
    let ended = remote::run_to_its_end(wait(flags, done, async {
        let signal = interrupted.await;
        stop.stop();
        signal.ok()
    }));
    progress.finish();
    let outcomes = std::mem::take(&mut *outcomes.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((outcomes, ended))
}

/// Does the jobs one after the other, until one fails or they are stopped.
fn run_all(jobs: &[Job], found: &Mutex<Vec<Outcome>>) -> Result<(), lab::bench::Error> {
    for job in jobs.iter().take_while(|job| !job.stop.is_stopped()) {
        let outcome = lab::bench::run(job)?;
        found.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
    }
    Ok(())
}

/// Waits for the jobs. When a signal came, they are waited for as long as what is outstanding should take.
async fn wait(
    flags: &Flags,
    done: oneshot::Receiver<Result<(), lab::bench::Error>>,
    stopped: impl Future<Output = Option<i32>>,
) -> Result<(), Failure> {
    let mut done = pin!(done);
    let signal = tokio::select! {
        done = &mut done => return Ok(done.unwrap_or(Err(lab::bench::Error::ThreadDied)).map_err(BenchError::Lab)?),
        Some(signal) = stopped => signal,
    };
    if tokio::time::timeout(STOP_TIMEOUT, done).await.is_err() {
        flags.remove_temporary().await?;
    }
    Err(Failure::Interrupted { signal, left: "a file that was made for this is removed".to_owned() })
}

impl Flags {
    /// Removes the file that a job makes in a directory: it has the number of this process in its name.
    async fn remove_temporary(&self) -> Result<(), Failure> {
        let url = self.file_url();
        let session = Session::open(&url, &self.connect).await?;
        let found = session.find(Follow::Links).await?;
        if found.attributes.kind != FileKind::Directory {
            return Ok(());
        }
        let name = format!("wharf-bench.{}", process::id());
        match session.mount.remove(&found.handle, name.as_bytes()).await {
            Err(error) if error.status() != Some(Status::NoEntry) => Err(about(format!("{url}/{name}"))(error)),
            _ => Ok(()),
        }
    }

    fn job(&self, mut workload: Workload, own: &Arc<OwnMounts>) -> Job {
        if let (Some(percent), true) = (self.rwmixread, workload.reads() && workload.writes()) {
            workload.read_percent = percent;
        }
        let default_bytes = match (workload.operation, workload.order) {
            (operation, Order::Sequential) if operation.moves_bytes() => SEQUENTIAL_BYTES,
            _ => RANDOM_BYTES,
        };
        let defaults = Job::new(self.file_url());
        Job {
            name: workload.to_string(),
            options: self.connect.options(),
            workload,
            block_bytes: self.bs.unwrap_or(default_bytes),
            depth: self.iodepth,
            connections: self.connections,
            file_bytes: self.size.unwrap_or(defaults.file_bytes),
            rate: self.rate,
            end: self.end(),
            warm_up: self.ramp_time,
            stable_writes: self.sync,
            verify: self.verify,
            files: match self.files {
                Some(count) => Files::Spread(count),
                None if self.own_files => Files::OnePerConnection,
                None => Files::One,
            },
            seed: self.seed,
            observer: self.own.is_wanted().then(|| {
                let own = Arc::clone(own);
                Observer(Arc::new(move |mount| own.add(mount)))
            }),
            server_pid: self.server_pid,
            ..defaults
        }
    }

    fn end(&self) -> End {
        match (self.runtime, self.size) {
            (Some(time), _) => End::After(time),
            (None, Some(bytes)) => End::Bytes(bytes),
            (None, None) => End::After(DEFAULT_RUNTIME),
        }
    }

    fn file_url(&self) -> Url {
        let mut url = self.url.clone();
        if let Some(name) = &self.file {
            url.path.push(b'/');
            url.path.extend_from_slice(name.as_bytes());
        }
        url
    }
}

fn parse_block(text: &str) -> Result<u32, String> {
    let bytes = config::parse_size(text).map_err(|error| error.to_string())?;
    u32::try_from(bytes).map_err(|_| "no operation is that large".to_owned())
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let time = config::parse_timeout(text).map_err(|error| error.to_string())?;
    time.ok_or_else(|| "a benchmark has to end".to_owned())
}
