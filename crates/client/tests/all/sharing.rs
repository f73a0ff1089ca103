//! Two clients that write one file, with the cache of data, in every version.

use std::time::Duration;

use client::{Caching, File, Mount, OpenOptions, Options, Version};

use crate::real::{Export, VERSIONS};

const BLOCK: u64 = 64 * 1024;

/// Attributes are valid until the test is over, so that only replies to what is done anyway tell anything.
async fn mount(export: &Export, version: Version) -> Mount {
    let day = Duration::from_secs(86_400);
    let caching = Caching { file_min: day, file_max: day, dir_min: day, dir_max: day, ..Caching::default() };
    let options = Options { caching, uses_delegations: false, ..export.options(version) };
    Mount::connect(&export.url(), &options).await.unwrap()
}

async fn open(mount: &Mount) -> File {
    mount.root_dir().open("shared", &OpenOptions::both().making(0o644)).await.unwrap()
}

async fn read(file: &File, offset: u64) -> [u8; 6] {
    let mut bytes = [0; 6];
    file.read_at(offset, &mut bytes).await.unwrap();
    bytes
}

/// Writes by another client, from the opening of the file to its closing.
async fn write_elsewhere(export: &Export, version: Version, offset: u64, data: &[u8]) {
    let yours = mount(export, version).await;
    let file = open(&yours).await;
    file.write_at(offset, data).await.unwrap();
    file.close().await.unwrap();
    yours.unmount().await.unwrap();
}

/// A file of three blocks, all of them in memory.
async fn known(mount: &Mount) -> File {
    let file = open(mount).await;
    file.write_at(0, &[b'.'; 3 * BLOCK as usize]).await.unwrap();
    file.sync().await.unwrap();
    assert_eq!(file.read_at(0, &mut [0; 3 * BLOCK as usize]).await.unwrap(), 3 * BLOCK as usize);
    file
}

#[tokio::test]
async fn what_another_client_wrote_before_an_own_write_is_seen_behind_it() {
    // No reply of version 2 tells what a WRITE found.
    for version in VERSIONS.into_iter().filter(|version| *version != Version::V2) {
        let export = Export::start();
        let mine = mount(&export, version).await;
        let file = known(&mine).await;
        write_elsewhere(&export, version, 0, b"theirs").await;
        assert_eq!(read(&file, 0).await, *b"......", "{version}: still believed");
        file.write_at(2 * BLOCK, b"my own").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(read(&file, 0).await, *b"theirs", "{version}");
        assert_eq!(read(&file, 2 * BLOCK).await, *b"my own", "{version}");
    }
}

#[tokio::test]
async fn what_another_client_wrote_behind_an_own_write_is_seen_by_whoever_opens_the_file_again() {
    for version in VERSIONS {
        let export = Export::start();
        let mine = mount(&export, version).await;
        let file = known(&mine).await;
        file.write_at(2 * BLOCK, b"my own").await.unwrap();
        file.flush().await.unwrap();
        write_elsewhere(&export, version, 0, b"theirs").await;
        let again = open(&mine).await;
        assert_eq!(read(&again, 0).await, *b"theirs", "{version}");
        assert_eq!(read(&again, 2 * BLOCK).await, *b"my own", "{version}");
    }
}

#[tokio::test]
async fn own_writes_spare_what_is_known_and_closing_need_not_ask() {
    for version in VERSIONS {
        let export = Export::start();
        let mine = mount(&export, version).await;
        let file = known(&mine).await;
        let before = mine.cache_counters().block_reads;
        for round in 0..5 {
            file.write_at(2 * BLOCK + round * 100, b"my own").await.unwrap();
            file.flush().await.unwrap();
            assert_eq!(read(&file, 0).await, *b"......", "{version}");
        }
        let misses = mine.cache_counters().block_reads.misses - before.misses;
        assert_eq!(misses, 0, "{version}");
        let calls = mine.counters().calls;
        file.sync().await.unwrap();
        let is_durable = version == Version::V2;
        assert!(mine.counters().calls - calls <= u64::from(!is_durable), "{version}: a COMMIT, and no GETATTR");
    }
}
