//! One program that reads or writes one file from its first block to its last, through the client's cache.

use std::time::{Duration, Instant};

use client::{Caching, File, Follow, Mount, OpenOptions, Options, Statistics, Url, Version};
use measure::Histogram;
use tokio::task::LocalSet;
use tokio::time::sleep_until;

use crate::bench::Order;
use crate::bench::permutation::permuted;
use crate::data_file;
use crate::process::{self, Process};
use crate::reads;

/// What to do with which file.
#[derive(Debug, Clone)]
pub(crate) struct FileLoad {
    pub(crate) url: Url,
    pub(crate) order: Order,
    pub(crate) is_write: bool,
    /// The bytes of one read or write of the program.
    pub(crate) block_bytes: u32,
    pub(crate) file_bytes: u64,
    /// The bytes of one READ or WRITE, and of a block of the cache.
    pub(crate) transfer_bytes: u32,
    /// The most calls that are in progress at once.
    pub(crate) max_pending: usize,
    /// Whether READs overtake each other, as those of several threads of a kernel's client do: each `max_pending` of
    /// them are sent in any order, without the cache.
    pub(crate) reads_in_any_order: bool,
    /// The bytes that the program reads or writes in a second at the most; nothing for as many as it can.
    pub(crate) bytes_per_second: Option<f64>,
    /// What a random order follows from.
    pub(crate) seed: u64,
    pub(crate) server_pid: Option<u32>,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct FileLoadFound {
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    /// From the first operation to the end of the last.
    pub(crate) elapsed: Duration,
    /// And until everything was on stable storage.
    pub(crate) elapsed_with_commit: Duration,
    pub(crate) latency_ns: Histogram,
    pub(crate) statistics: Statistics,
    pub(crate) client_cpu: Duration,
    pub(crate) server_cpu: Option<Duration>,
}

/// Why a load has no figures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FileLoadError {
    /// The client says why.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The server's process cannot be looked at.
    #[error("server process: {0}")]
    Process(#[from] process::Error),
    /// The file ends before its end.
    #[error("the file ends at byte {got}, before byte {wanted}")]
    Short { got: u64, wanted: u64 },
}

impl FileLoad {
    /// Does all of it once, on this thread.
    pub(crate) async fn run(&self) -> Result<FileLoadFound, FileLoadError> {
        let mount = self.connect().await?;
        let result = self.run_on(&mount).await;
        if matches!(mount.version(), Version::V4(_)) {
            // A server forgets a silent client by itself.
            let _ = mount.clone().unmount().await;
        }
        result
    }

    /// Mounts what it works on.
    pub(crate) async fn connect(&self) -> client::Result<Mount> {
        Mount::connect(&self.url, &self.options()).await
    }

    fn options(&self) -> Options {
        let defaults = Caching::default();
        let max_bytes = match self.order {
            Order::Sequential => defaults.max_bytes,
            // Blocks are met again and again: the whole file stays.
            Order::Random => self.file_bytes + defaults.max_bytes,
        };
        let caching = Caching { block_bytes: self.transfer_bytes, max_bytes, ..defaults };
        Options {
            caching,
            read_bytes: Some(self.transfer_bytes),
            write_bytes: Some(self.transfer_bytes),
            max_pending: self.max_pending,
            use_privileged_port: false,
            ..Options::default()
        }
    }

    /// Does all of it once on such a mount.
    pub(crate) async fn run_on(&self, mount: &Mount) -> Result<FileLoadFound, FileLoadError> {
        let (dir, name) = mount.walk_parent(mount.path_below()).await?;
        let options = if self.is_write { OpenOptions::both().making(0o644) } else { OpenOptions::read() };
        let file = mount.open(&dir.handle, name, &options).await?;
        let (earlier, mut latency_ns) = (mount.statistics(), Histogram::new());
        let (client_before, server_before) = (Process::This.time()?, self.server_time()?);
        let began = Instant::now();
        match self.reads_in_any_order && !self.is_write {
            true => self.read_in_any_order(mount).await?,
            false => self.one_by_one(&file, began, &mut latency_ns).await?,
        }
        let elapsed = began.elapsed();
        if self.is_write {
            file.sync().await?;
        }
        let elapsed_with_commit = began.elapsed();
        let server_cpu = self.server_time()?.zip(server_before).map(|(now, before)| now.saturating_sub(before));
        let client_cpu = Process::This.time()?.saturating_sub(client_before);
        let statistics = mount.statistics().since(&earlier);
        file.close().await?;
        Ok(FileLoadFound {
            operations: self.file_bytes.div_ceil(self.block_bytes.into()),
            bytes: self.file_bytes,
            elapsed,
            elapsed_with_commit,
            latency_ns,
            statistics,
            client_cpu,
            server_cpu,
        })
    }

    /// Does an operation when the one before is done, and it is due.
    async fn one_by_one(&self, file: &File, began: Instant, latency_ns: &mut Histogram) -> Result<(), FileLoadError> {
        let (mut buffer, mut now) = (vec![0x5a; self.block_bytes as usize], began);
        for (number, offset) in self.offsets().enumerate() {
            if let Some(due) = self.due(began, number) {
                sleep_until(due.into()).await;
                now = Instant::now();
            }
            let length = usize::try_from(self.file_bytes - offset).map_or(buffer.len(), |left| left.min(buffer.len()));
            let done = match self.is_write {
                true => file.write_at(offset, &buffer[..length]).await?,
                false => file.read_at(offset, &mut buffer[..length]).await?,
            };
            if done < length {
                return Err(FileLoadError::Short { got: offset + done as u64, wanted: self.file_bytes });
            }
            let ended = Instant::now();
            latency_ns.record(u64::try_from((ended - now).as_nanos()).unwrap_or(u64::MAX));
            now = ended;
        }
        Ok(())
    }

    async fn read_in_any_order(&self, mount: &Mount) -> Result<(), FileLoadError> {
        let file = mount.walk(mount.path_below(), Follow::Links).await?.handle;
        let (depth, mut offsets) = (self.max_pending as u32, self.offsets().collect::<Vec<_>>());
        reads::shuffle_each(depth, self.seed, &mut offsets);
        let reading = reads::at_once(mount.clone(), file, offsets, (depth, self.block_bytes));
        let got = LocalSet::new().run_until(reading).await?;
        if got < self.file_bytes { Err(FileLoadError::Short { got, wanted: self.file_bytes }) } else { Ok(()) }
    }

    /// When the program does its operation of this number, if it does not do it at once. tokio's timers are a
    /// millisecond fine: operations that are due before are done together then.
    fn due(&self, began: Instant, number: usize) -> Option<Instant> {
        let bytes = number as f64 * f64::from(self.block_bytes);
        self.bytes_per_second.map(|rate| began + Duration::from_secs_f64(bytes / rate))
    }

    fn server_time(&self) -> Result<Option<Duration>, process::Error> {
        self.server_pid.map(|pid| Process::Id(pid).time()).transpose()
    }

    /// Where each block begins, each once.
    fn offsets(&self) -> impl Iterator<Item = u64> {
        let (block_bytes, order, seed) = (u64::from(self.block_bytes), self.order, self.seed);
        let count = self.file_bytes.div_ceil(block_bytes);
        (0..count).map(move |number| {
            let block = if order == Order::Random { permuted(number, count, seed) } else { number };
            block * block_bytes
        })
    }
}

/// Makes the file of a server at least so long, through the server.
pub(crate) async fn prepare(url: Url, bytes: u64) -> client::Result<()> {
    let options = Options { use_privileged_port: false, ..Options::default() };
    let mount = Mount::connect(&url, &options).await?;
    let (dir, name) = mount.walk_parent(mount.path_below()).await?;
    let file = mount.open(&dir.handle, name, &OpenOptions::both().making(0o644)).await?;
    let mut at = file.getattr().await?.size_bytes;
    let chunk = data_file::chunk();
    while at < bytes {
        let length = usize::try_from(bytes - at).map_or(chunk.len(), |left| left.min(chunk.len()));
        at += file.write_at(at, &chunk[..length]).await? as u64;
    }
    file.close().await?;
    mount.unmount().await
}
