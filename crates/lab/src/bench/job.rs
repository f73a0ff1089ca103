use std::num::NonZeroU32;
use std::time::Duration;

use client::{Mount, Options, Url};
use measure::record::JobSummary;

use super::local_path::LocalPath;
use super::pattern::Pattern;
use super::{
    BlockSplit, Distribution, Error, Gate, Observer, Operation, Order, Progress, Rate, Spacing, Stop, Workload,
};
use crate::leftovers::Leftover;

/// What to do, how, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// What the user calls it.
    pub name: String,
    /// The file, on its server. It is made and filled when it is not there. When this is a directory, a file in it is
    /// used and removed afterwards.
    pub url: Url,
    /// A file or directory of this machine that is used instead of the one of the URL, by system calls.
    pub local: Option<LocalPath>,
    /// How to mount; what the URL says goes before. [`Job::connections`] replaces the number of connections in it.
    pub options: Options,
    /// What operations there are.
    pub workload: Workload,
    /// The bytes of one operation: a multiple of 8, at most what the server transfers at once.
    pub block_bytes: u32,
    /// Several sizes of reads and writes, in place of [`Job::block_bytes`].
    pub block_split: Option<BlockSplit>,
    /// How often a random workload uses each block.
    pub distribution: Distribution,
    /// How much the written data can be compressed, in percent. Every write then has bytes of its own, so that nothing
    /// is stored once that was written twice. Without it all writes have the same bytes, which costs the client least.
    pub compress_percent: Option<u8>,
    /// How many operations are outstanding at once on each connection, 1 to [`Job::MAX_DEPTH`].
    pub depth: u32,
    /// How many connections there are, 1 to [`Job::MAX_CONNECTIONS`].
    pub connections: u32,
    /// How much of the file is used, in bytes: at least one block.
    pub file_bytes: u64,
    /// How often operations begin. Their latency counts from when they were due, even if all that [`Job::depth`] allows
    /// are outstanding then. Without it, each begins as soon as another one is over.
    pub rate: Option<Rate>,
    /// When the job is over.
    pub end: End,
    /// How long it runs before anything is measured.
    pub warm_up: Duration,
    /// After how many writes a connection asks for stable storage of its file. The COMMIT follows the reply to the last
    /// of them.
    pub commit_every: Option<NonZeroU32>,
    /// How long a connection begins no operation after one is over.
    pub think_time: Duration,
    /// Whether every write is on stable storage before it is answered. Otherwise each connection asks for that once, at
    /// its end, which is measured for itself.
    pub stable_writes: bool,
    /// Whether to check every byte: the file is filled with a pattern first, what is read is compared with it, and what
    /// was written is read back at the end. This costs the client much time.
    pub verify: bool,
    /// Which files there are.
    pub files: Files,
    /// What may be done with files that exist before the job.
    pub existing: Existing,
    /// Whether each connection has every file open from which its operations choose, and READs name the open. Only
    /// NFSv4 has opens.
    pub holds_opens: bool,
    /// What random orders and patterns follow from.
    pub seed: u64,
    /// Who is told of every mount that is made for the job.
    pub observer: Option<Observer<Mount>>,
    /// Who is told what was measured, before files are checked and removed.
    pub on_measured: Option<Observer<JobSummary>>,
    /// Who is told now and then how far the job is.
    pub watcher: Option<Observer<Progress>>,
    /// What ends the job before its time.
    pub stop: Stop,
    /// What the job waits for when all its connections are made.
    pub gate: Option<Gate>,
    /// The number of the host among several that do this job in step: their temporary files have other names.
    pub host: Option<u32>,
    /// The server's process, if it runs on this machine and its cost is wanted.
    pub server_pid: Option<u32>,
}

/// Which files a job uses. With more than one, their names have numbers behind them, `.0` and on, and nothing can be
/// verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// One for all connections.
    One,
    /// One for each connection.
    OnePerConnection,
    /// So many for all connections, 1 to [`Job::MAX_FILES`]. Each operation uses one of them; of locks, each
    /// outstanding operation of a connection keeps to its own. Only operations that change no file can be spread.
    Spread(u32),
}

impl Files {
    /// How many of them an operation chooses from.
    pub(super) fn choice(self) -> u32 {
        match self {
            Files::One | Files::OnePerConnection => 1,
            Files::Spread(count) => count,
        }
    }
}

/// What may be done with a file that exists before the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is read as it is. A job that would change it is refused, and so is one that needs more bytes.
    Keep,
    /// As [`Existing::Keep`], and all of it is used, whatever [`Job::file_bytes`] says.
    KeepWhole,
    /// It is filled when it is too short, and written.
    Overwrite,
}

/// When a job is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After this time, which begins after the warm-up. What is outstanding then is waited for.
    After(Duration),
    /// After this many bytes in all, rounded up to whole blocks on each connection. There is no warm-up then.
    Bytes(u64),
}

impl Job {
    /// The most operations outstanding on one connection.
    pub const MAX_DEPTH: u32 = 4096;
    /// The most connections.
    pub const MAX_CONNECTIONS: u32 = 10_000;
    /// The most files.
    pub const MAX_FILES: u32 = 1_000_000;

    /// Sequential reads of 1 MiB for five seconds, one at a time on one connection, of a file of 256 MiB.
    pub fn new(url: Url) -> Job {
        Job {
            name: "bench".to_owned(),
            url,
            local: None,
            options: Options::default(),
            workload: Workload::reading(Order::Sequential),
            block_bytes: 1 << 20,
            block_split: None,
            distribution: Distribution::Random,
            compress_percent: None,
            depth: 1,
            connections: 1,
            file_bytes: 256 << 20,
            rate: None,
            end: End::After(Duration::from_secs(5)),
            warm_up: Duration::ZERO,
            commit_every: None,
            think_time: Duration::ZERO,
            stable_writes: false,
            verify: false,
            files: Files::One,
            existing: Existing::Keep,
            holds_opens: false,
            seed: 1,
            observer: None,
            on_measured: None,
            watcher: None,
            stop: Stop::default(),
            gate: None,
            host: None,
            server_pid: None,
        }
    }

    /// The part of one of several hosts that do it in step. Each uses random blocks in an order of its own.
    pub(crate) fn for_host(self, host: u32) -> Job {
        Job { host: Some(host), seed: self.seed.wrapping_add(host.into()), ..self }
    }

    /// The file or directory as a user names it.
    pub(super) fn target(&self) -> String {
        self.local.as_ref().map_or_else(|| self.url.to_string(), |local| local.path.display().to_string())
    }

    /// The name of its temporary file, without what tells several apart.
    pub(super) fn temporary_name(&self) -> String {
        let host = self.host.map_or_else(String::new, |host| format!("-{host}"));
        // What is behind it begins with a dot, so that no other process or host has a name that begins alike.
        format!("wharf-bench.{}{host}.tmp", std::process::id())
    }

    /// What it makes under temporary names, beside its file or in its directory.
    pub(super) fn leftover(&self, is_in_directory: bool) -> Leftover {
        let inside = |path: &[u8]| [path, b"/", self.temporary_name().as_bytes()].concat();
        let mut leftover = match &self.local {
            Some(LocalPath { path, .. }) if is_in_directory => Leftover::local(&path.join(self.temporary_name())),
            Some(LocalPath { path, .. }) => Leftover::local(&path.with_file_name(self.temporary_name())),
            None if is_in_directory => Leftover::export(&Url { path: inside(&self.url.path), ..self.url.clone() }),
            None => Leftover { name: self.temporary_name().into_bytes(), ..Leftover::export(&self.url) },
        };
        leftover.is_prefix = true;
        leftover
    }

    /// A file of its own on the export, with this name.
    pub(super) fn leftover_file(&self, name: &[u8], is_in_directory: bool) -> Leftover {
        Leftover { name: name.to_vec(), is_prefix: false, ..self.leftover(is_in_directory) }
    }

    /// Whether it writes to its files, also before it measures.
    pub(super) fn changes_files(&self) -> bool {
        self.workload.writes() || self.verify || matches!(self.workload.operation, Operation::ReadPlus(_))
    }

    /// The sizes of its operations.
    pub(super) fn sizes(&self) -> BlockSplit {
        self.block_split.clone().unwrap_or_else(|| BlockSplit::of(self.block_bytes))
    }

    /// Its sizes as text.
    pub(super) fn block_sizes(&self) -> String {
        self.block_split.as_ref().map_or_else(|| format!("{}B", self.block_bytes), BlockSplit::to_string)
    }

    /// The least size of an operation.
    pub(super) fn unit_bytes(&self) -> u32 {
        self.sizes().all_sizes().min().unwrap_or(self.block_bytes)
    }

    /// The largest size of an operation.
    pub(super) fn max_block_bytes(&self) -> u32 {
        self.sizes().all_sizes().max().unwrap_or(self.block_bytes)
    }

    /// How many units the file has; what is left of it behind the last whole one is not used.
    pub(super) fn unit_count(&self) -> u64 {
        self.file_bytes / u64::from(self.unit_bytes())
    }

    /// How many operations are outstanding at once.
    fn operations(&self) -> u64 {
        u64::from(self.connections) * u64::from(self.depth)
    }

    /// How many files each tree of a build has: all together have at most as many bytes as the job, and each has one at
    /// least.
    pub(super) fn files_of_tree(&self) -> u64 {
        (self.file_bytes / u64::from(self.max_block_bytes().max(1)) / self.operations().max(1)).max(1)
    }

    /// What every offset and size is a multiple of.
    pub(super) fn granule_bytes(&self) -> u32 {
        self.sizes().all_sizes().fold(0, greatest_common_divisor)
    }

    /// What files are filled with.
    pub(super) fn pattern(&self) -> Pattern {
        Pattern::new(self.seed).compressing(self.compress_percent.unwrap_or(0))
    }

    /// The options of the job, under fio's names where fio has them.
    pub(super) fn described(&self) -> Vec<(&'static str, String)> {
        let mut options = vec![
            ("name", self.name.clone()),
            ("ioengine", if self.local.is_some() { "psync" } else { "wharf" }.to_owned()),
            ("rw", self.workload.to_string()),
            ("size", self.file_bytes.to_string()),
            ("iodepth", self.depth.to_string()),
            ("numjobs", self.connections.to_string()),
            ("randseed", self.seed.to_string()),
        ];
        match &self.block_split {
            Some(split) => options.push(("bssplit", split.to_string())),
            None => options.push(("bs", self.block_bytes.to_string())),
        }
        if self.distribution != Distribution::Random {
            options.push(("random_distribution", self.distribution.to_string()));
        }
        if let Some(percent) = self.compress_percent {
            options.push(("buffer_compress_percentage", percent.to_string()));
        }
        match self.end {
            End::After(time) => {
                options.extend([("runtime", seconds(time)), ("time_based", "1".to_owned())]);
                options.push(("ramp_time", seconds(self.warm_up)));
            }
            End::Bytes(bytes) => options.push(("io_size", bytes.to_string())),
        }
        if let Some(rate) = self.rate {
            options.push(("rate_iops", rate.per_second.to_string()));
            if rate.spacing == Spacing::Poisson {
                options.push(("rate_process", "poisson".to_owned()));
            }
        }
        if self.workload.reads() && self.workload.writes() {
            options.push(("rwmixread", self.workload.read_percent.to_string()));
        }
        if let Some(every) = self.commit_every {
            options.push(("fsync", every.to_string()));
        }
        if !self.think_time.is_zero() {
            options.push(("thinktime", self.think_time.as_micros().to_string()));
        }
        if let Files::Spread(count) = self.files {
            options.push(("nrfiles", count.to_string()));
        }
        let has_own_files = self.files == Files::OnePerConnection;
        let flags = [
            ("sync", self.stable_writes),
            ("verify", self.verify),
            ("own_files", has_own_files),
            ("holds_opens", self.holds_opens),
            ("direct", self.local.as_ref().is_some_and(|local| local.is_direct)),
        ];
        options.extend(flags.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| (name, "1".to_owned())));
        options
    }

    /// Refuses what makes no sense before anything is connected.
    pub(super) fn check(&self) -> Result<(), Error> {
        let within = |what, value: u64, min, max| match (min..=max).contains(&value) {
            true => Ok(()),
            false => Err(Error::Range { what, value, min, max }),
        };
        within("depth", self.depth.into(), 1, Self::MAX_DEPTH.into())?;
        within("connections", self.connections.into(), 1, Self::MAX_CONNECTIONS.into())?;
        within("percentage of reads", self.workload.read_percent.into(), 0, 100)?;
        within("compressible part of the data", self.compress_percent.unwrap_or(0).into(), 0, 100)?;
        if let Some(bytes) = self.sizes().all_sizes().find(|bytes| *bytes == 0 || !bytes.is_multiple_of(8)) {
            return Err(Error::BlockSize(bytes));
        }
        let (file_bytes, block_bytes) = (self.file_bytes, self.max_block_bytes());
        let usable_bytes = self.unit_count() * u64::from(self.unit_bytes());
        if usable_bytes < block_bytes.into() || i64::try_from(file_bytes).is_err() {
            return Err(Error::FileSize { file_bytes, block_bytes });
        }
        let workload = || self.workload.to_string();
        let operation = self.workload.operation;
        let moves_bytes = operation.moves_bytes() || [Operation::Mix, Operation::Build].contains(&operation);
        if self.block_split.is_some() && !moves_bytes {
            return Err(Error::NoBlocks { what: "--bssplit", workload: workload() });
        }
        if self.commit_every.is_some() && !self.workload.writes() {
            return Err(Error::NothingToCommit(workload()));
        }
        if self.distribution != Distribution::Random && self.workload.order == Order::Sequential {
            return Err(Error::NotRandom(workload()));
        }
        if self.verify && (self.workload.operation != Operation::Transfer || self.files != Files::One) {
            return Err(Error::Verify(self.workload.to_string()));
        }
        if self.workload.operation == Operation::Build {
            let files = self.files_of_tree().saturating_mul(self.operations());
            within("number of files (--size divided by --bs)", files, 1, Self::MAX_FILES.into())?;
        }
        if self.local.is_some() && (self.verify || self.workload.operation.needs_calls()) {
            let what = if self.verify { "--verify".to_owned() } else { format!("the workload {}", self.workload) };
            return Err(Error::NotLocal(what));
        }
        within("number of files", self.files.choice().into(), 1, Self::MAX_FILES.into())?;
        if matches!(self.files, Files::Spread(_)) && !self.workload.can_be_spread() {
            return Err(Error::Spread(self.workload.to_string()));
        }
        Ok(())
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// A time as fio takes it: in seconds.
fn seconds(time: Duration) -> String {
    format!("{}", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job::new("nfs://localhost/x".parse().unwrap())
    }

    #[test]
    fn job_that_makes_no_sense_is_refused_with_the_limit() {
        assert!(job().check().is_ok());
        let error = Job { depth: 0, ..job() }.check().unwrap_err().to_string();
        assert_eq!(error, "depth is 0; it can be 1 to 4096");
        assert!(matches!(Job { block_bytes: 4095, ..job() }.check(), Err(Error::BlockSize(4095))));
        assert!(matches!(Job { block_bytes: 0, ..job() }.check(), Err(Error::BlockSize(0))));
        assert!(matches!(Job { file_bytes: 4096, ..job() }.check(), Err(Error::FileSize { file_bytes: 4096, .. })));
        let split = |text: &str| Job { block_split: Some(text.parse().unwrap()), ..job() };
        assert!(matches!(split("4k/50:4100/50").check(), Err(Error::BlockSize(4100))));
        assert!(matches!(split("4k/50:1g/50").check(), Err(Error::FileSize { .. })));
        let getattr = Job { workload: "getattr".parse().unwrap(), ..split("4k/50:8k/50") };
        assert!(matches!(getattr.check(), Err(Error::NoBlocks { .. })));
        assert!(matches!(Job { commit_every: NonZeroU32::new(1), ..job() }.check(), Err(Error::NothingToCommit(_))));
        let zipf = Job { distribution: Distribution::Zipf { theta: 1.0 }, ..job() };
        assert!(matches!(zipf.check(), Err(Error::NotRandom(_))));
    }
}
