//! Tests the tables on reads with known costs: the identities of FreeBSD's counters.

use std::sync::Arc;
use std::time::Duration;

use client::{Caching, File, Mount, OpenOptions, Options, Version};
use daemon::{Daemon, export_to_this_machine};
use fs_mem::{MemFs, MemOptions};
use vfs::{CreateMode, SetAttributes};

use super::document::Figures;
use super::intervals;
use super::layout::{self, Extent};

const BLOCKS: u64 = 30;
const BLOCK_BYTES: u32 = 65_536;

async fn open(server: &Daemon, version: Version) -> (Mount, File) {
    let url = format!("nfs://{}/files", server.addresses()[0]).parse().unwrap();
    let caching = Caching { block_bytes: BLOCK_BYTES, ..Caching::default() };
    let read_bytes = Some(BLOCK_BYTES);
    let options = Options { version, caching, read_bytes, use_privileged_port: false, ..Options::default() };
    let mount = Mount::connect(&url, &options).await.unwrap();
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let creating = OpenOptions::both().creating(CreateMode::Unchecked, set);
    let file = mount.open(&mount.root().handle, b"file", &creating).await.unwrap();
    (mount, file)
}

/// The numbers of the line below the one that begins with `name`.
fn numbers(tables: &str, name: &str) -> Vec<u64> {
    let mut lines = tables.lines().skip_while(|line| !line.trim_start().starts_with(name)).skip(1);
    lines.next().unwrap().split_whitespace().map(|number| number.parse().unwrap()).collect()
}

#[tokio::test]
async fn sequential_read_shows_n_reads_n_misses_and_15_n_hits() {
    let listen = vec!["127.0.0.1:0".parse().unwrap()];
    let options = daemon::Options { listen, loops: 1, ..daemon::Options::default() };
    let mut export = export_to_this_machine("/files", Arc::new(MemFs::new(MemOptions::default())));
    export.rules.iter_mut().for_each(|rule| rule.options.squash = server::Squash::None);
    let server = Daemon::start(options, vec![export]).unwrap();
    let bytes = BLOCKS * u64::from(BLOCK_BYTES);
    let (_, file) = open(&server, Version::V3).await;
    file.write_at(0, &vec![7; usize::try_from(bytes).unwrap()]).await.unwrap();
    file.close().await.unwrap();
    for version in [Version::V3, Version::V4_0, Version::V4_1, Version::V4_2] {
        let (mount, file) = open(&server, version).await;
        let before = mount.statistics();
        let mut buffer = vec![0; 4096];
        for offset in (0..bytes).step_by(buffer.len()) {
            assert_eq!(file.read_at(offset, &mut buffer).await.unwrap(), buffer.len());
        }
        // As another process would receive it.
        let since = Figures::from(&mount.statistics().since(&before)).statistics();
        let tables = layout::text(&since, Extent::Basic, false);
        assert_eq!(numbers(&tables, "Getattr")[4], BLOCKS, "Read, {version}: {tables}");
        let caches = numbers(&tables, "Attr Hits");
        assert_eq!((caches[4], caches[5]), (15 * BLOCKS, BLOCKS), "BioR, {version}: {tables}");
        let line = intervals::line(&since, true);
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[3], words[10]), (BLOCKS.to_string().as_str(), "93%"), "{version}: {line}");
        file.close().await.unwrap();
    }
    server.shutdown(Duration::from_secs(1));
    server.wait();
}
