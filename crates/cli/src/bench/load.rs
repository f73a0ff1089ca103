//! The options that describe a load.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Command, FromArgMatches};
use lab::bench::{BlockSplit, Distribution, End, Existing, Files, Job, Operation, Order, Rate, Workload};

use super::target::Target;
use crate::remote::ConnectFlags;

/// A load.
#[derive(Debug, Args)]
pub(super) struct Load {
    /// Workloads, separated by commas. Data: read, write, rw, randread, randwrite, randrw. Metadata: getattr, access,
    /// lookup, createremove, readdirplus (whole directory), open (and close), lock (and unlock), newfile (create, write
    /// a block to stable storage, close), mix (many operations, like LADDIS and SPECsfs), build (steps of a build of
    /// software in trees of small files). READ_PLUS: readplus-data,
    /// readplus-hole, readplus-mixed, also with the prefix rand.
    #[arg(long, value_name = "WORKLOAD", value_delimiter = ',', default_value = "read")]
    pub(super) rw: Vec<Workload>,
    /// Percentage of reads in rw and randrw. [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(super) rwmixread: Option<u8>,
    /// Bytes per operation. [default: 1M, 4K for locks and random workloads, 16K for the files of build]
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(super) bs: Option<u32>,
    /// Several sizes with their percentages, such as 4k/60:64k/40; READS,WRITES gives each its own.
    #[arg(long, value_name = "SPLIT", conflicts_with = "bs")]
    pub(super) bssplit: Option<BlockSplit>,
    /// How often random workloads use each block: random (each once before one repeats), zipf:THETA, pareto:POWER or
    /// normal:PERCENT.
    #[arg(long, value_name = "DISTRIBUTION", default_value = "random")]
    pub(super) random_distribution: Distribution,
    /// Write data that compresses by this percentage, with other bytes in every block. [default: the same
    /// incompressible block each time]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(super) compress: Option<u8>,
    /// Number of operations in flight on each connection.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = up_to(Job::MAX_DEPTH))]
    pub(super) iodepth: u32,
    /// Number of connections.
    #[arg(long, value_name = "COUNT", visible_alias = "numjobs", default_value_t = 1,
        value_parser = up_to(Job::MAX_CONNECTIONS))]
    pub(super) connections: u32,
    /// Start N operations per second over all connections, at equal intervals or as a Poisson process. Latency then
    /// counts from the scheduled start, and --iodepth limits the operations in flight. [default: each starts when
    /// another one completes]
    #[arg(long, value_name = "N[,poisson]")]
    pub(super) rate: Option<Rate>,
    /// Measuring time. [default: 5s; with --size, until that much is transferred]
    #[arg(long, value_name = "TIME", value_parser = parse_runtime)]
    pub(super) runtime: Option<Duration>,
    /// Bytes of the file to use, or of all files of build. [default: 256M, or all of an existing file; 16M for build]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size)]
    pub(super) size: Option<u64>,
    /// Time to run before measuring.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "0s")]
    pub(super) ramp_time: Duration,
    /// Name of the file, relative to the URL.
    #[arg(long, value_name = "NAME")]
    pub(super) file: Option<String>,
    /// Use one file per connection, named with the suffixes .0, .1 and so on.
    #[arg(long, conflicts_with = "verify")]
    pub(super) own_files: bool,
    /// Spread reads, metadata operations and locks over COUNT files, named with the suffixes .0, .1 and so on.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["own_files", "verify"],
        value_parser = up_to(Job::MAX_FILES))]
    pub(super) files: Option<u32>,
    /// Send a COMMIT after every N writes of a connection.
    #[arg(long, value_name = "N")]
    pub(super) fsync: Option<NonZeroU32>,
    /// Pause of a connection after each operation, before it begins the next one.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "0s", conflicts_with = "rate")]
    pub(super) thinktime: Duration,
    /// Request stable storage for every write (FILE_SYNC).
    #[arg(long)]
    pub(super) sync: bool,
    /// Read and write past the page cache (O_DIRECT), of a path of this machine. Calls to a server never use it.
    #[arg(long)]
    pub(super) direct: bool,
    /// Compare all data read with what was written. Costs much client time.
    #[arg(long)]
    pub(super) verify: bool,
    /// Seed of random orders.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(super) seed: u64,
}

/// The default size of one operation: large in sequence, small in random order.
const SEQUENTIAL_BYTES: u32 = 1 << 20;
const RANDOM_BYTES: u32 = 4096;
/// The default sizes of a file and of all files of a build.
const BUILD_FILE_BYTES: u32 = 16 << 10;
const BUILD_BYTES: u64 = 16 << 20;
/// The default measuring time.
const DEFAULT_RUNTIME: Duration = Duration::from_secs(5);

impl Load {
    /// Reads options like those of the command line.
    pub(super) fn parse(arguments: &[String]) -> Result<Load, clap::Error> {
        let command = Load::augment_args(Command::new("bench").no_binary_name(true));
        Load::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }

    /// A job with this load.
    pub(super) fn job(&self, mut workload: Workload, target: &Target, connect: &ConnectFlags) -> Job {
        if let (Some(percent), true) = (self.rwmixread, workload.reads() && workload.writes()) {
            workload.read_percent = percent;
        }
        let default_bytes = match (workload.operation, workload.order) {
            (Operation::Build, _) => BUILD_FILE_BYTES,
            (operation, Order::Sequential) if operation.moves_bytes() => SEQUENTIAL_BYTES,
            _ => RANDOM_BYTES,
        };
        let defaults = target.with_file(self.file.as_deref()).job(self.direct);
        Job {
            name: workload.to_string(),
            options: match workload.operation {
                Operation::ReadPlus(_) => connect.preferring_4_2(),
                Operation::OpenClose | Operation::LockUnlock => connect.preferring_4(),
                _ => connect.preferring_3(),
            }
            .options(),
            workload,
            block_bytes: self.bs.unwrap_or(default_bytes),
            block_split: self.bssplit.clone(),
            distribution: self.random_distribution,
            compress_percent: self.compress,
            depth: self.iodepth,
            connections: self.connections,
            file_bytes: self.size.unwrap_or(match workload.operation {
                Operation::Build => BUILD_BYTES,
                _ => defaults.file_bytes,
            }),
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
            existing: if self.size.is_some() { Existing::Keep } else { Existing::KeepWhole },
            seed: self.seed,
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
}

fn parse_block(text: &str) -> Result<u32, String> {
    let bytes = config::parse_size(text).map_err(|error| error.to_string())?;
    u32::try_from(bytes).map_err(|_| "an operation must be smaller than 4 GiB".to_owned())
}

/// Reads a number from 1 to `max`.
pub(super) fn up_to(max: u32) -> RangedU64ValueParser<u32> {
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
