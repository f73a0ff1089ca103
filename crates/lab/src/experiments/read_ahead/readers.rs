//! Those who read the file.

use std::time::{Duration, Instant};

use client::{Follow, Mount, Options, Url};
use tokio::task::LocalSet;

use crate::reads;

/// The bytes of one READ.
pub(super) const BLOCK_BYTES: u32 = 64 << 10;

/// Who reads the file, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) name: &'static str,
    /// How many readers share the file, each with a connection and a part of the file of its own.
    pub(super) readers: u32,
    /// How many READs each has in progress.
    pub(super) depth: u32,
    /// Whether each so many READs are sent in any order.
    pub(super) is_shuffled: bool,
}

/// One reader alone, several at once, one with many READs in order, and one with many in any order.
pub(super) const LOADS: [Load; 4] = [
    Load { name: "one reader", readers: 1, depth: 1, is_shuffled: false },
    Load { name: "4 readers", readers: 4, depth: 1, is_shuffled: false },
    Load { name: "one reader, 16 at once", readers: 1, depth: 16, is_shuffled: false },
    Load { name: "one reader, 16 at once in any order", readers: 1, depth: 16, is_shuffled: true },
];

/// Reads the whole file once, each reader its own part of it over a connection of its own; says how many bytes came and
/// how long that took.
pub(super) async fn read_all(url: &Url, load: &Load, seed: u64, file_bytes: u64) -> client::Result<(u64, Duration)> {
    let mut readers = Vec::new();
    for part in parts(load, seed, file_bytes) {
        let options = Options { use_privileged_port: false, ..Options::default() };
        let mount = Mount::connect(url, &options).await?;
        let file = mount.walk(mount.path_below(), Follow::Links).await?.handle;
        readers.push((mount, file, part));
    }
    let start = Instant::now();
    let tasks = LocalSet::new();
    let read = |(mount, file, part)| tasks.spawn_local(reads::at_once(mount, file, part, (load.depth, BLOCK_BYTES)));
    let running: Vec<_> = readers.into_iter().map(read).collect();
    tasks.await;
    let elapsed = start.elapsed();
    let mut bytes = 0;
    for reader in running {
        // A reader that panicked has said so; the others have read what it left.
        if let Ok(result) = reader.await {
            bytes += result?;
        }
    }
    Ok((bytes, elapsed))
}

/// The offsets that each reader reads, in their order: all blocks of the file, of which the last may be shorter.
fn parts(load: &Load, seed: u64, file_bytes: u64) -> Vec<Vec<u64>> {
    let block = u64::from(BLOCK_BYTES);
    let blocks = file_bytes.div_ceil(block);
    let first = |reader: u64| reader * blocks / u64::from(load.readers);
    let of_reader = |reader: u64| {
        let mut offsets: Vec<u64> = (first(reader)..first(reader + 1)).map(|index| index * block).collect();
        if load.is_shuffled {
            reads::shuffle_each(load.depth, seed ^ reader, &mut offsets);
        }
        offsets
    };
    (0..u64::from(load.readers)).map(of_reader).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_read_every_block_once() {
        let block = u64::from(BLOCK_BYTES);
        for load in &LOADS {
            for blocks in [1, 2, 255, 256, 257] {
                let mut all: Vec<u64> = parts(load, 1, blocks * block - 24).concat();
                all.sort_unstable();
                assert_eq!(all, (0..blocks).map(|index| index * block).collect::<Vec<_>>(), "{load:?}");
            }
        }
    }

    #[test]
    fn shuffled_requests_stay_within_their_window() {
        let block = u64::from(BLOCK_BYTES);
        let offsets = &parts(&LOADS[3], 1, 160 * block)[0];
        assert!(offsets.iter().zip(0..).all(|(offset, place)| offset / block / 16 == place / 16));
        assert!(!offsets.is_sorted());
    }
}
