//! The cache of data against the real server, in every version.

use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;

use client::{Caching, File, LockKind, Mount, OpenOptions, Options, Status, Version};
use testing::Random;
use vfs::{CreateMode, SetAttributes, SetTime, Stability, Timestamp};

use crate::real::Export;

const VERSIONS: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];

/// So small that everything happens often: blocks are dropped, parts are many, writers wait.
fn tiny() -> Caching {
    Caching {
        block_bytes: 4096,
        max_bytes: 8 * 4096,
        max_dirty_bytes: 3 * 4096,
        read_ahead_bytes: 8192,
        ..Caching::default()
    }
}

async fn mount(export: &Export, version: Version, caching: Caching) -> Mount {
    let options = Options { caching, ..export.options(version) };
    Mount::connect(&export.url(), &options).await.unwrap()
}

async fn open(mount: &Mount, name: &[u8]) -> File {
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let options = OpenOptions::both().creating(CreateMode::Unchecked, set);
    mount.open(&mount.root().handle, name, &options).await.unwrap()
}

async fn contents(file: &File) -> Vec<u8> {
    let mut buffer = vec![0xee; 1 << 20];
    let count = file.read_at(0, &mut buffer).await.unwrap();
    buffer.truncate(count);
    buffer
}

/// Does what comes by chance to a file and to a vector of bytes, which must look the same all the time.
async fn act_like_a_vector(file: &File, random: &mut Random, model: &mut Vec<u8>, steps: u32) {
    const MAX_BYTES: u64 = 100_000;
    for step in 0..steps {
        let offset = random.below(MAX_BYTES);
        let length = match random.below(4) {
            0 => random.below(30_000),
            1 => 4096,
            _ => random.below(300),
        } as usize;
        match random.below(20) {
            0..=8 => {
                let mut buffer = vec![0xee; length];
                let count = file.read_at(offset, &mut buffer).await.unwrap();
                let expected = model.get(offset as usize..).unwrap_or_default();
                let expected = &expected[..expected.len().min(length)];
                assert!(buffer[..count] == *expected, "step {step}: {length} bytes from {offset} on, {count} read");
            }
            9..=16 => {
                let data: Vec<u8> = (0..length).map(|_| random.below(255) as u8 + 1).collect();
                assert_eq!(file.write_at(offset, &data).await.unwrap(), length);
                let end = offset as usize + length;
                if length > 0 && model.len() < end {
                    model.resize(end, 0);
                }
                if length > 0 {
                    model[offset as usize..end].copy_from_slice(&data);
                }
            }
            17 => {
                file.set_len(offset).await.unwrap();
                model.resize(offset as usize, 0);
            }
            18 => file.flush().await.unwrap(),
            _ => file.sync().await.unwrap(),
        }
    }
}

#[tokio::test]
async fn cached_file_behaves_like_a_vector_of_bytes() {
    let export = Export::start();
    for (number, version) in VERSIONS.into_iter().enumerate() {
        let passing = Caching { max_kept_read_bytes: 4096, ..tiny() };
        for caching in [tiny(), passing, Caching { block_bytes: 8192, ..Caching::default() }] {
            let seed = 0x5eed + number as u64;
            println!("{version}, seed {seed}");
            let (mut random, mut model) = (Random(seed), Vec::new());
            let mount = mount(&export, version, caching).await;
            let file = open(&mount, format!("model{number}").as_bytes()).await;
            file.set_len(0).await.unwrap();
            act_like_a_vector(&file, &mut random, &mut model, 400).await;
            file.close().await.unwrap();
            let direct = self::mount(&export, version, Caching { is_direct: true, ..Caching::default() }).await;
            let again = open(&direct, format!("model{number}").as_bytes()).await;
            assert!(contents(&again).await == model, "{version}: what the server has");
        }
    }
}

#[tokio::test]
async fn direct_file_behaves_like_a_vector_of_bytes() {
    let export = Export::start();
    let caching = Caching { is_direct: true, ..Caching::default() };
    for version in VERSIONS {
        let mount = mount(&export, version, caching).await;
        let file = open(&mount, b"direct").await;
        file.set_len(0).await.unwrap();
        act_like_a_vector(&file, &mut Random(11), &mut Vec::new(), 100).await;
        assert_eq!(mount.cache_counters().block_reads, client::HitsMisses::default());
    }
}

#[tokio::test]
async fn direct_transfers_are_larger_than_one_call() {
    let export = Export::start();
    let caching = Caching { is_direct: true, ..Caching::default() };
    let options = Options { caching, read_bytes: Some(4096), write_bytes: Some(8192), ..export.options(Version::V3) };
    let mount = Mount::connect(&export.url(), &options).await.unwrap();
    let file = open(&mount, b"large").await;
    let data: Vec<u8> = (0..300_001u32).map(|byte| (byte % 251) as u8).collect();
    file.write_at(5, &data).await.unwrap();
    assert_eq!(contents(&file).await[5..], data);
    let (mut first, mut second) = (vec![0; 10_000], vec![0; 20_000]);
    let mut buffers = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut []), IoSliceMut::new(&mut second)];
    assert_eq!(file.read_vectored_at(300_006 - 25_000, &mut buffers).await.unwrap(), 25_000);
    assert_eq!([first, second[..15_000].to_vec()].concat(), data[data.len() - 25_000..]);
}

#[tokio::test]
async fn files_of_one_mount_see_each_others_bytes_at_once() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount(&export, version, Caching::default()).await;
        let (one, other) = (open(&mount, b"shared").await, open(&mount, b"shared").await);
        one.write_at(0, b"one and ").await.unwrap();
        other.write_at(8, b"other").await.unwrap();
        assert_eq!(contents(&one).await, b"one and other");
        one.close().await.unwrap();
        other.write_at(0, b"ONE").await.unwrap();
        assert_eq!(contents(&other).await, b"ONE and other", "{version}");
        other.close().await.unwrap();
    }
}

#[tokio::test]
async fn what_another_client_wrote_is_seen_after_it_is_opened_again() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (export.mount(version).await, export.mount(version).await);
        let file = open(&mine, b"file").await;
        file.set_len(0).await.unwrap();
        file.write_at(0, b"mine").await.unwrap();
        file.close().await.unwrap();
        // Writes of one clock tick can look like one: the size tells them apart as well.
        let other = open(&yours, b"file").await;
        assert_eq!(contents(&other).await, b"mine", "{version}");
        other.write_at(0, b"yours").await.unwrap();
        other.close().await.unwrap();
        assert_eq!(contents(&open(&mine, b"file").await).await, b"yours", "{version}");
    }
}

#[tokio::test]
async fn file_that_is_cut_when_it_is_opened_keeps_nothing() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount(&export, version, Caching::default()).await;
        let file = open(&mount, b"file").await;
        file.write_at(0, b"old and long").await.unwrap();
        file.sync().await.unwrap();
        let set = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
        let options = OpenOptions::both().creating(CreateMode::Unchecked, set);
        let cut = mount.open(&mount.root().handle, b"file", &options).await.unwrap();
        assert_eq!(contents(&cut).await, b"", "{version}");
        cut.write_at(4, b"new").await.unwrap();
        assert_eq!(contents(&file).await, b"\0\0\0\0new", "{version}");
    }
}

#[tokio::test]
async fn dropped_file_is_written_in_the_background() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (export.mount(version).await, export.mount(version).await);
        let file = open(&mine, b"dropped").await;
        file.set_len(0).await.unwrap();
        file.write_at(0, b"kept").await.unwrap();
        drop(file);
        let mut seen = Vec::new();
        for _ in 0..10_000 {
            seen = contents(&open(&yours, b"dropped").await).await;
            if seen == b"kept" {
                break;
            }
        }
        assert_eq!(seen, b"kept", "{version}");
    }
}

#[tokio::test]
async fn under_locks_two_clients_see_each_others_bytes_at_once() {
    const ROUNDS: u8 = 20;
    let export = Export::start();
    for version in [Version::V4_0, Version::V4_1, Version::V4_2] {
        let (mine, yours) = (export.mount(version).await, export.mount(version).await);
        let name = format!("counted{version}").into_bytes();
        let files = [open(&mine, &name).await, open(&yours, &name).await];
        files[0].write_at(0, &[0; 100]).await.unwrap();
        files[0].flush().await.unwrap();
        for round in 0..ROUNDS {
            let file = &files[usize::from(round) % 2];
            file.lock(LockKind::Exclusive, 0, 100).await.unwrap();
            let mut count = [0xee; 100];
            file.read_at(0, &mut count).await.unwrap();
            assert_eq!(count, [round; 100], "{version}");
            file.write_at(0, &[round + 1; 100]).await.unwrap();
            file.unlock(0, 100).await.unwrap();
        }
    }
}

#[tokio::test]
async fn time_that_is_set_after_a_late_write_stays() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        let file = open(&mount, b"dated").await;
        file.write_at(0, b"late").await.unwrap();
        assert_eq!(file.getattr().await.unwrap().size_bytes, 4, "{version}");
        file.write_at(0, b"later").await.unwrap();
        let time = Timestamp { seconds: 1_000_000_000, nanoseconds: 0 };
        let set = SetAttributes { modified: Some(SetTime::To(time)), ..SetAttributes::default() };
        file.setattr(&set).await.unwrap();
        file.close().await.unwrap();
        let entry = mount.lookup(&mount.root().handle, b"dated").await.unwrap();
        assert_eq!((entry.attributes.modified, entry.attributes.size_bytes), (time, 5), "{version}");
        mount.remove(&mount.root().handle, b"dated").await.unwrap();
    }
}

#[tokio::test]
async fn unmounting_waits_until_dropped_files_are_written() {
    let export = Export::start();
    let yours = export.mount(Version::V3).await;
    for (number, version) in VERSIONS.into_iter().enumerate() {
        let mine = export.mount(version).await;
        let name = format!("dropped{number}").into_bytes();
        let file = open(&mine, &name).await;
        file.write_at(0, &[7; 300_000]).await.unwrap();
        drop(file);
        // Older versions' servers need not be told, and say so without a rpcbind.
        let _ = mine.unmount().await;
        assert!(contents(&open(&yours, &name).await).await == [7; 300_000], "{version}");
    }
}

#[tokio::test]
async fn many_tasks_write_and_read_their_parts_of_one_file_in_little_memory() {
    const PART: usize = 20_000;
    let export = Export::start();
    for version in [Version::V2, Version::V3, Version::V4_1] {
        let mount = mount(&export, version, tiny()).await;
        let file = Arc::new(open(&mount, b"parts").await);
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..16u8 {
            let file = Arc::clone(&file);
            tasks.spawn(async move {
                let start = u64::from(number) * PART as u64;
                for round in 1..6u8 {
                    let data = vec![number ^ round; PART];
                    file.write_at(start, &data).await.unwrap();
                    let mut back = vec![0; PART];
                    assert_eq!(file.read_at(start, &mut back).await.unwrap(), PART);
                    assert!(back == data, "{version}, part {number}, round {round}");
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
        let raw = file.handle();
        file.sync().await.unwrap();
        let data = mount.read(raw, 19_990, 20).await.unwrap();
        assert_eq!(data.bytes.as_ref(), [[5; 10], [4; 10]].concat());
    }
}

#[tokio::test]
async fn vectors_are_filled_and_written_in_their_order() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    let file = open(&mount, b"vectors").await;
    let written = file.write_vectored_at(1, &[IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cdef")]).await;
    assert_eq!(written.unwrap(), 6);
    let (mut first, mut second) = ([0; 3], [9; 9]);
    let mut buffers = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
    assert_eq!(file.read_vectored_at(0, &mut buffers).await.unwrap(), 7);
    assert_eq!((&first, &second), (b"\0ab", b"cdef\x09\x09\x09\x09\x09"));
}

#[tokio::test]
async fn write_that_is_flushed_is_seen_by_others_and_the_raw_calls() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        let file = open(&mount, b"raw").await;
        file.set_len(0).await.unwrap();
        file.write_at(0, b"late").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(file.read(0, 10).await.unwrap().bytes.as_ref(), b"late", "{version}");
        file.write(4, "r".into(), Stability::File).await.unwrap();
        file.close().await.unwrap();
        assert_eq!(contents(&open(&mount, b"raw").await).await, b"later", "{version}");
    }
}

fn reads(mount: &Mount) -> u64 {
    let statistics = mount.statistics();
    let is_read = |name: &&str| matches!(*name, "READ" | "READ_PLUS");
    let in_compounds =
        statistics.operations().filter(|(name, _)| is_read(name)).map(|(_, counted)| counted.calls).sum();
    statistics.calls("READ").max(in_compounds)
}

#[tokio::test]
async fn writes_past_the_cache_and_through_it_keep_their_order() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        let file = open(&mount, format!("mixed{version}").as_bytes()).await;
        file.write(1000, vec![1; 1000].into(), Stability::File).await.unwrap();
        file.write_at(0, &[2; 10]).await.unwrap();
        let mut buffer = [0xee; 2000];
        assert_eq!(file.read_at(0, &mut buffer).await.unwrap(), 2000, "{version}");
        let expected = [&[2; 10][..], &[0; 990], &[1; 1000]].concat();
        assert!(buffer[..] == expected, "{version}: what was written past the cache is behind the end that it knew");
        file.write_at(5, &[3; 1500]).await.unwrap();
        let raw = file.read(0, 2000).await.unwrap().bytes;
        let expected = [&[2; 5][..], &[3; 1500], &[1; 495]].concat();
        assert!(raw[..] == expected, "{version}: a read past the cache");
        file.write_at(0, &[4; 100]).await.unwrap();
        file.write(50, vec![5; 10].into(), Stability::File).await.unwrap();
        file.close().await.unwrap();
        let file = open(&mount, format!("mixed{version}").as_bytes()).await;
        assert_eq!(
            contents(&file).await[40..70],
            [[4; 10], [5; 10], [4; 10]].concat(),
            "{version}: the later write wins"
        );
    }
}

/// The identity of FreeBSD's counters: a block is missed once, and found by the 15 reads that follow.
#[tokio::test]
async fn sequential_4_kib_reads_of_64_kib_blocks_cost_a_read_and_a_miss_and_15_hits_each() {
    const BLOCKS: u64 = 40;
    let export = Export::start();
    for version in VERSIONS {
        let direct = mount(&export, version, Caching { is_direct: true, ..Caching::default() }).await;
        let data: Vec<u8> = (0..BLOCKS * 65_536).map(|byte| (byte % 253) as u8).collect();
        open(&direct, b"sequence").await.write_at(0, &data).await.unwrap();
        for read_ahead_bytes in [Caching::default().read_ahead_bytes, 0] {
            let caching = Caching { block_bytes: 65_536, read_ahead_bytes, ..Caching::default() };
            let options = Options { caching, read_bytes: Some(65_536), ..export.options(version) };
            let mount = Mount::connect(&export.url(), &options).await.unwrap();
            let file = open(&mount, b"sequence").await;
            let mut buffer = vec![0; 4096];
            for offset in (0..BLOCKS * 65_536).step_by(4096) {
                assert_eq!(file.read_at(offset, &mut buffer).await.unwrap(), 4096);
                assert!(buffer == data[offset as usize..][..4096], "{version}, {offset}");
            }
            // Version 2 carries 8 KiB in a READ, so that it takes eight of them for a block.
            let per_block = if version == Version::V2 { 65_536 / u64::from(mount.sizes().read) } else { 1 };
            let counted = mount.cache_counters().block_reads;
            assert_eq!((counted.misses, counted.hits), (BLOCKS, 15 * BLOCKS), "{version}, {read_ahead_bytes}");
            assert_eq!(reads(&mount), per_block * BLOCKS, "{version}, {read_ahead_bytes}");
        }
    }
}

#[tokio::test]
async fn file_that_was_made_longer_is_longer_for_its_first_reader() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount(&export, version, Caching::default()).await;
        let file = open(&mount, format!("longer-{version}").as_bytes()).await;
        file.set_len(5000).await.unwrap();
        assert_eq!(contents(&file).await, vec![0; 5000], "{version}");
        file.close().await.unwrap();
    }
}

#[tokio::test]
async fn places_that_no_file_can_have_are_refused_and_end_nothing() {
    let export = Export::start();
    for caching in [Caching::default(), Caching { is_direct: true, ..Caching::default() }] {
        let mount = mount(&export, Version::V3, caching).await;
        let file = open(&mount, b"longest").await;
        let too_big =
            |result: client::Result<usize>| assert_eq!(result.unwrap_err().status(), Some(Status::FileTooBig));
        let last = i64::MAX as u64;
        for offset in [u64::MAX, u64::MAX - 2, last - 2, last + 1] {
            too_big(file.write_at(offset, b"1234").await);
            too_big(file.write_vectored_at(offset - 1, &[IoSlice::new(b"12"), IoSlice::new(b"34")]).await);
        }
        for size in [u64::MAX, last + 1] {
            too_big(file.set_len(size).await.map(|()| 0));
        }
        for offset in [u64::MAX, last + 1] {
            let mut buffer = [0; 10];
            assert_eq!(file.read_at(offset, &mut buffer).await.unwrap_err().status(), Some(Status::Invalid));
            let read = file.read_vectored_at(offset, &mut [IoSliceMut::new(&mut buffer)]).await;
            assert_eq!(read.unwrap_err().status(), Some(Status::Invalid));
        }
        assert_eq!(file.read_at(last - 2, &mut [0; 10]).await.unwrap(), 0, "there it only ends");
    }
}
