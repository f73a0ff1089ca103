//! Processes that read a file of their own each.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;

use crate::bench::Order;
use crate::contender::Server;
use crate::file_load::{FileLoad, FileLoadError, FileLoadFound};

/// The bytes of a READ, whatever those of a process's read: the client's cache is between them, as the source's was.
pub(super) const TRANSFER_BYTES: u32 = 32 << 10;
/// How many READs of a process are in flight at the most: as many as Linux had read ahead then, 128 KiB.
pub(super) const MAX_PENDING: usize = 4;

/// What all of them found.
pub(super) struct Found {
    pub(super) bytes: u64,
    pub(super) reads: u64,
    pub(super) elapsed: Duration,
}

/// The file of one of so many processes.
pub(super) fn file(processes: u32, number: u32) -> String {
    format!("file.{number}-of-{processes}")
}

/// Reads the files of so many processes once, each with reads of so many bytes.
pub(super) async fn read_all(
    server: &Server,
    processes: u32,
    file_bytes: u64,
    size: u32,
) -> Result<Found, FileLoadError> {
    let load = |number| FileLoad {
        url: server.url(&file(processes, number)),
        order: Order::Sequential,
        is_write: false,
        block_bytes: size,
        file_bytes,
        transfer_bytes: TRANSFER_BYTES,
        max_pending: MAX_PENDING,
        reads_in_any_order: false,
        bytes_per_second: None,
        seed: 0,
        server_pid: None,
    };
    let loads: Vec<FileLoad> = (0..processes).map(load).collect();
    let mut mounts = Vec::new();
    for load in &loads {
        mounts.push(load.connect().await?);
    }
    let began = Instant::now();
    let found = try_join_all(loads.iter().zip(&mounts).map(|(load, mount)| load.run_on(mount))).await?;
    let elapsed = began.elapsed();
    let reads = |found: &FileLoadFound| found.statistics.calls("READ");
    Ok(Found { bytes: u64::from(processes) * file_bytes, reads: found.iter().map(reads).sum(), elapsed })
}
