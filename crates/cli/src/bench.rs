use std::io::Write;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{process, thread};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use client::{Follow, Status, Url};
use lab::bench::{
    BenchResult, BlockSplit, Distribution, End, Existing, Files, Job, Observer, Operation, Order, Rate, Stop, Workload,
};
use report::Run;
use tokio::sync::oneshot;
use vfs::FileKind;

use crate::failure::{BenchError, Failure};
use crate::interruption;
use crate::nfsstat::{OwnFlags, OwnMounts};
use crate::output::Output;
use crate::progress::BenchProgress;
use crate::remote::{self, ConnectFlags, Session, about};

/// Benchmark a server: throughput and latency.
///
/// Workloads run one after the other. A missing file is created and filled; in a directory, a temporary file is used.
/// An existing file is read as it is, and never written without --overwrite. Ctrl-C ends the benchmark and prints the
/// results so far.
#[derive(Debug, Args)]
pub struct Flags {
    /// File or directory to use, such as nfs://host/export/file or host:/export/file.
    #[arg(value_name = "URL", value_parser = remote::url_argument())]
    url: Url,
    /// Workloads, separated by commas. Data: read, write, rw, randread, randwrite, randrw. Metadata: getattr, access,
    /// lookup, createremove, readdirplus (whole directory), open (and close), lock (and unlock), newfile (create, write
    /// a block to stable storage, close), mix (many operations, like LADDIS and SPECsfs). READ_PLUS: readplus-data,
    /// readplus-hole, readplus-mixed, also with the prefix rand.
    #[arg(long, value_name = "WORKLOAD", value_delimiter = ',', default_value = "read")]
    rw: Vec<Workload>,
    /// Percentage of reads in rw and randrw. [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    rwmixread: Option<u8>,
    /// Bytes per operation. [default: 1M, or 4K for locks and random workloads]
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    bs: Option<u32>,
    /// Several sizes with their percentages, such as 4k/60:64k/40; READS,WRITES gives each its own.
    #[arg(long, value_name = "SPLIT", conflicts_with = "bs")]
    bssplit: Option<BlockSplit>,
    /// How often random workloads use each block: random (each once before one repeats), zipf:THETA, pareto:POWER or
    /// normal:PERCENT.
    #[arg(long, value_name = "DISTRIBUTION", default_value = "random")]
    random_distribution: Distribution,
    /// Write data that compresses by this percentage, with other bytes in every block. [default: the same
    /// incompressible block each time]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    compress: Option<u8>,
    /// Number of operations in flight on each connection.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = up_to(Job::MAX_DEPTH))]
    iodepth: u32,
    /// Number of connections.
    #[arg(long, value_name = "COUNT", visible_alias = "numjobs", default_value_t = 1,
        value_parser = up_to(Job::MAX_CONNECTIONS))]
    connections: u32,
    /// Start N operations per second over all connections, at equal intervals or as a Poisson process. Latency then
    /// counts from the scheduled start, and --iodepth limits the operations in flight. [default: each starts when
    /// another one completes]
    #[arg(long, value_name = "N[,poisson]")]
    rate: Option<Rate>,
    /// Measuring time. [default: 5s; with --size, until that much is transferred]
    #[arg(long, value_name = "TIME", value_parser = parse_runtime)]
    runtime: Option<Duration>,
    /// Bytes of the file to use. [default: 256M, or all of an existing file]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size)]
    size: Option<u64>,
    /// Time to run before measuring.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "0s")]
    ramp_time: Duration,
    /// Name of the file, relative to the URL.
    #[arg(long, value_name = "NAME")]
    file: Option<String>,
    /// Replace the contents of existing files: fill those that are too short, and write to them.
    #[arg(long)]
    overwrite: bool,
    /// Use one file per connection, named with the suffixes .0, .1 and so on.
    #[arg(long, conflicts_with = "verify")]
    own_files: bool,
    /// Spread reads, metadata operations and locks over COUNT files, named with the suffixes .0, .1 and so on.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["own_files", "verify"], value_parser = up_to(Job::MAX_FILES))]
    files: Option<u32>,
    /// Send a COMMIT after every N writes of a connection.
    #[arg(long, value_name = "N")]
    fsync: Option<NonZeroU32>,
    /// Pause of a connection after each operation, before it begins the next one.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "0s", conflicts_with = "rate")]
    thinktime: Duration,
    /// Request stable storage for every write (FILE_SYNC).
    #[arg(long)]
    sync: bool,
    /// Compare all data read with what was written. Costs much client time.
    #[arg(long)]
    verify: bool,
    /// Seed of random orders.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Process ID of a server on this machine, to report its processor time.
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Print JSON with the field names of fio.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    own: OwnFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// The default size of one operation: large in sequence, small in random order.
const SEQUENTIAL_BYTES: u32 = 1 << 20;
const RANDOM_BYTES: u32 = 4096;
/// The default measuring time.
const DEFAULT_RUNTIME: Duration = Duration::from_secs(5);

/// Runs the benchmark.
pub fn run(flags: &Flags) -> Result<(), Failure> {
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

/// How long a benchmark may take to end after Ctrl-C.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs all jobs on a thread of their own. Returns the results, and how the jobs ended.
fn measure(flags: &Flags, own: &Arc<OwnMounts>) -> Result<(Vec<BenchResult>, Result<(), Failure>), Failure> {
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

/// Runs the jobs one after the other, until one fails or they are stopped.
fn run_all(jobs: &[Job], found: &Mutex<Vec<BenchResult>>) -> Result<(), lab::bench::Error> {
    let mut made_files = false;
    for job in jobs.iter().take_while(|job| !job.stop.is_stopped()) {
        let existing = if made_files { Existing::Overwrite } else { job.existing };
        let outcome = lab::bench::run(&Job { existing, ..job.clone() })?;
        made_files |= outcome.made_files;
        found.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
    }
    Ok(())
}

/// Waits for the jobs. After a signal it waits only for operations in flight.
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
    /// Removes the file that a job makes in a directory. Its name contains the ID of this process.
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
            options: match workload.operation {
                Operation::ReadPlus(_) => self.connect.preferring_4_2(),
                Operation::OpenClose | Operation::LockUnlock => self.connect.preferring_4(),
                _ => self.connect.preferring_3(),
            }
            .options(),
            workload,
            block_bytes: self.bs.unwrap_or(default_bytes),
            block_split: self.bssplit.clone(),
            distribution: self.random_distribution,
            compress_percent: self.compress,
            depth: self.iodepth,
            connections: self.connections,
            file_bytes: self.size.unwrap_or(defaults.file_bytes),
            rate: self.rate,
            end: self.end(),
            warm_up: self.ramp_time,
            commit_every: self.fsync,
            think_time: self.thinktime,
            stable_writes: self.sync,
            verify: self.verify,
            files: match self.files {
                Some(count) => Files::Spread(count),
                None if self.own_files => Files::OnePerConnection,
                None => Files::One,
            },
            existing: match self.size {
                _ if self.overwrite => Existing::Overwrite,
                Some(_) => Existing::Keep,
                None => Existing::KeepWhole,
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
    u32::try_from(bytes).map_err(|_| "an operation must be smaller than 4 GiB".to_owned())
}

/// Reads a number from 1 to `max`.
fn up_to(max: u32) -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(1..=max.into())
}

fn parse_runtime(text: &str) -> Result<Duration, String> {
    let time = parse_time(text)?;
    if time.is_zero() { Err("a time above zero is required, such as 10s".to_owned()) } else { Ok(time) }
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let time = config::parse_timeout(text).map_err(|error| error.to_string())?;
    time.ok_or_else(|| "a time that ends is required, such as 10s".to_owned())
}
