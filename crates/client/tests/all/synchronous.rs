//! Synchronous writes (nfs(5), `sync` and `noac`): what a call wrote is on the server's stable storage when it returns.

use std::io::IoSlice;
use std::sync::{Arc, Mutex};

use client::{Caching, File, Mount, OpenOptions, Options, RemoteFs, Status as Neutral, Version};
use proto::nfs4::{ArgOp, Res, ResOp, StableHow, Status, WriteOk};
use tokio::runtime::Builder;
use vfs::{Context, FileSystem, Name, OpenMode, Place, Stability};

use crate::fake4;
use crate::real::{Export, VERSIONS};

const PAGE: usize = 4096;

fn synchronous(options: Options) -> Options {
    let caching = Caching { is_synchronous: true, ..options.caching };
    Options { caching, write_bytes: Some(16 * PAGE as u32), ..options }
}

async fn open(mount: &Mount) -> File {
    mount.root_dir().open("file", &OpenOptions::both().making(0o644)).await.unwrap()
}

/// How many WRITEs and COMMITs there were.
fn writes_and_commits(mount: &Mount) -> (u64, u64) {
    let statistics = mount.statistics();
    (statistics.calls("WRITE"), statistics.calls("COMMIT"))
}

#[tokio::test]
async fn each_small_write_is_one_stable_write_and_a_large_one_is_committed_before_it_returns() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = Mount::connect(&export.url(), &synchronous(export.options(version))).await.unwrap();
        let file = open(&mount).await;
        for number in 0..10 {
            file.write_at(number * PAGE as u64, &[number as u8; PAGE]).await.unwrap();
            assert_eq!(writes_and_commits(&mount), (number + 1, 0), "{version}");
        }
        // Several buffers are one write.
        let piece = [7; 100];
        file.write_vectored_at(1 << 20, &[IoSlice::new(&piece), IoSlice::new(&piece)]).await.unwrap();
        assert_eq!(writes_and_commits(&mount), (11, 0), "{version}");
        let bytes = mount.sizes().write as usize * 3;
        file.write_at(2 << 20, &vec![1; bytes]).await.unwrap();
        let commits = u64::from(version != Version::V2);
        let done = writes_and_commits(&mount);
        assert!(done.0 >= 14 && done.1 <= commits, "{version}: {done:?}");
        // What was written is kept for whoever reads, and nothing is left to write.
        let mut page = [0; PAGE];
        file.read_at(5 * PAGE as u64, &mut page).await.unwrap();
        assert_eq!((page, mount.statistics().calls("READ")), ([5; PAGE], 0), "{version}");
        file.sync().await.unwrap();
        file.close().await.unwrap();
        assert_eq!(writes_and_commits(&mount), done, "{version}");
        mount.unmount().await.unwrap();
    }
}

/// A server that notes how stable each WRITE is to be, and each COMMIT.
async fn noting(options: Options) -> (Mount, Arc<Mutex<Vec<&'static str>>>) {
    let notes: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let noted = Arc::clone(&notes);
    let special = move |operation: &ArgOp<'_>, _: &[u8]| match operation {
        ArgOp::Write(args) => {
            noted.lock().unwrap().push(match args.stable {
                StableHow::Unstable => "UNSTABLE",
                StableHow::DataSync => "DATA_SYNC",
                StableHow::FileSync => "FILE_SYNC",
            });
            let (count, committed) = (args.data.len() as u32, args.stable);
            Some(ResOp::Write(Res::Ok(WriteOk { count, committed, verifier: [1; 8] })))
        }
        ArgOp::Commit(_) => {
            noted.lock().unwrap().push("COMMIT");
            Some(ResOp::Commit(Res::Ok([1; 8])))
        }
        _ => None,
    };
    (fake4::mount_in_memory(special, |_, results| results, options).await.unwrap().0, notes)
}

#[tokio::test]
async fn nothing_that_was_written_is_unstable_when_a_call_returns() {
    let (mount, notes) = noting(synchronous(fake4::options())).await;
    let file = mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap();
    file.write_at(0, &[1; PAGE]).await.unwrap();
    assert_eq!(std::mem::take(&mut *notes.lock().unwrap()), ["FILE_SYNC"]);
    file.write_at(0, &[1; 33 * PAGE]).await.unwrap();
    let large = std::mem::take(&mut *notes.lock().unwrap());
    let (last, before) = large.split_last().unwrap();
    assert!(*last == "COMMIT" && before == ["UNSTABLE"; 3], "{large:?}");
    // Without the option a write is sent later.
    let (mount, notes) = noting(fake4::options()).await;
    let file = mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap();
    file.write_at(0, &[1; PAGE]).await.unwrap();
    assert!(notes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn write_that_the_server_refuses_fails_itself_and_no_later_one_does() {
    let is_full = Arc::new(Mutex::new(true));
    let full = Arc::clone(&is_full);
    let special = move |operation: &ArgOp<'_>, _: &[u8]| match operation {
        ArgOp::Write(_) if *full.lock().unwrap() => Some(ResOp::Write(Res::Fail(Status::NoSpc))),
        ArgOp::Write(args) => {
            let (count, committed) = (args.data.len() as u32, args.stable);
            Some(ResOp::Write(Res::Ok(WriteOk { count, committed, verifier: [1; 8] })))
        }
        _ => None,
    };
    let options = synchronous(fake4::options());
    let (mount, _) = fake4::mount_in_memory(special, |_, results| results, options).await.unwrap();
    let file = mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap();
    let refused = file.write_at(0, b"data").await.unwrap_err();
    assert_eq!(refused.status(), Some(Neutral::NoSpace), "{refused}");
    *is_full.lock().unwrap() = false;
    file.write_at(0, b"data").await.unwrap();
    file.close().await.unwrap();
}

#[test]
fn file_system_of_a_synchronous_mount_says_that_writes_are_stable() {
    let export = Export::start();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let options = synchronous(export.options(Version::V4_2));
    let mount = runtime.block_on(Mount::connect(&export.url(), &options)).unwrap();
    runtime.block_on(mount.root_dir().write("file", b"text")).unwrap();
    let before = writes_and_commits(&mount).0;
    let files = RemoteFs::new(mount.clone(), runtime.handle().clone());
    let place = Place { dir: files.root(), name: Name::new(b"file").unwrap() };
    let found = files.lookup(&Context::ROOT, place).unwrap();
    let file = files.open(&Context::ROOT, &found.handle, OpenMode::Write).unwrap();
    let written = file.write_at(&Context::ROOT, 0, b"TEXT", Stability::Unstable).unwrap();
    assert_eq!((written.stability, writes_and_commits(&mount).0), (Stability::File, before + 1));
}
