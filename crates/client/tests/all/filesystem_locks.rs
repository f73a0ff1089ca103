//! Locks through the client as a file system, against the real server.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use client::{Mount, Options, RemoteFs, Version};
use tokio::runtime::{Builder, Runtime};
use vfs::{
    Context, CreateMode, Error, FileLock, FileSystem, LockOutcome, LockOwner, Name, OpenFile, OpenMode, Place,
    SetAttributes, Stability,
};

use crate::real::Export;
use crate::real::proxy::Proxy;
use crate::remote::{Remote, VERSIONS};

const CX: Context<'static> = Context::ROOT;
const MINE: LockOwner = LockOwner(1);
const YOURS: LockOwner = LockOwner(2);

/// Leases and grace periods of servers that are restarted.
const LEASE: Duration = Duration::from_secs(2);
/// For how long something that must come is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

fn range(first_bytes: u64, last_bytes: u64, exclusive: bool) -> FileLock {
    FileLock { first_bytes, last_bytes, exclusive }
}

#[test]
fn owners_keep_each_other_out_of_what_they_lock_and_not_themselves() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        assert!(files.properties().locks);
        let place = Place { dir: files.root(), name: Name::new(b"file").unwrap() };
        let entry = files.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
        // Both owners have the file by one open file, as descriptors of one mount may.
        let open = files.open(&CX, &entry.handle, OpenMode::Write).unwrap();
        let lock = |owner, lock| open.lock(&CX, owner, lock).unwrap();
        let is_taken = |outcome| matches!(outcome, LockOutcome::Taken(_));
        assert_eq!(lock(MINE, range(0, 99, true)), LockOutcome::Free);
        let taken = lock(YOURS, range(50, u64::MAX, true));
        assert_eq!(taken, LockOutcome::Taken(range(0, 99, true)), "{version}");
        assert!(is_taken(open.test_lock(&CX, YOURS, range(0, 0, false)).unwrap()));
        assert_eq!(open.test_lock(&CX, MINE, range(0, 0, true)).unwrap(), LockOutcome::Free);
        assert_eq!(lock(YOURS, range(100, u64::MAX, false)), LockOutcome::Free);
        assert!(is_taken(lock(MINE, range(0, 100, true))));
        assert_eq!(lock(MINE, range(0, 99, false)), LockOutcome::Free);
        assert_eq!(lock(YOURS, range(0, u64::MAX, false)), LockOutcome::Free);
        open.unlock(&CX, YOURS, 10..=19).unwrap();
        assert_eq!(lock(MINE, range(10, 19, true)), LockOutcome::Free);
        assert!(is_taken(lock(MINE, range(10, 20, true))));
        open.unlock(&CX, YOURS, 0..=u64::MAX).unwrap();
        assert_eq!(lock(MINE, range(0, u64::MAX, true)), LockOutcome::Free, "{version}");
    }
}

#[test]
fn lock_that_conflicts_is_reported_with_its_kind_and_range() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let other = remote.again_as(0);
        let (mine, yours) = (open(&remote.files), open(&other));
        for held in [range(10, 19, false), range(10, 19, true)] {
            assert_eq!(yours.lock(&CX, YOURS, held).unwrap(), LockOutcome::Free);
            let tested = mine.test_lock(&CX, MINE, range(0, u64::MAX, true)).unwrap();
            assert_eq!(tested, LockOutcome::Taken(held), "{version}");
            let refused = mine.lock(&CX, MINE, range(0, u64::MAX, true)).unwrap();
            assert_eq!(refused, LockOutcome::Taken(held), "{version}");
            yours.unlock(&CX, YOURS, 0..=u64::MAX).unwrap();
        }
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// An export as a file system that waits for the server, which is at `address`.
fn hard(export: &Export, runtime: &Runtime, (version, address): (Version, std::net::SocketAddr)) -> RemoteFs {
    let options = Options { is_hard: true, ..export.options(version) };
    let url = format!("nfs://{address}/files").parse().unwrap();
    RemoteFs::new(runtime.block_on(Mount::connect(&url, &options)).unwrap(), runtime.handle().clone())
}

fn open(files: &RemoteFs) -> Arc<dyn OpenFile> {
    let place = Place { dir: files.root(), name: Name::new(b"file").unwrap() };
    let entry = files.create(&CX, place, CreateMode::Unchecked, &SetAttributes::default()).unwrap();
    files.open(&CX, &entry.handle, OpenMode::Write).unwrap()
}

fn until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it never came");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn lost_lock_is_an_error_for_all_who_use_the_file_until_it_is_given_up() {
    let runtime = runtime();
    for version in [Version::V3, Version::V4_1] {
        let mut export = Export::restartable(LEASE);
        let proxy = runtime.block_on(Proxy::start(export.address()));
        let (mine, yours) = (hard(&export, &runtime, (version, proxy.address)), export.address());
        let file = open(&mine);
        file.write_at(&CX, 0, b"text", Stability::File).unwrap();
        assert_eq!(file.lock(&CX, MINE, range(0, 9, true)).unwrap(), LockOutcome::Free);
        proxy.block(true);
        export.restart();
        let taken = open(&hard(&export, &runtime, (version, yours)));
        until(|| taken.lock(&CX, YOURS, range(0, 9, true)).unwrap() == LockOutcome::Free);
        proxy.block(false);
        until(|| file.read_at(&CX, 0, &mut [0]).is_err());
        assert!(matches!(file.read_at(&CX, 0, &mut [0]), Err(Error::Io(_))), "{version}");
        assert!(matches!(file.read_lent(&CX, 0, &mut [0; 1 << 16]), Err(Error::Io(_))), "{version}");
        assert!(matches!(file.write_at(&CX, 0, b"x", Stability::Unstable), Err(Error::Io(_))), "{version}");
        file.unlock(&CX, MINE, 0..=9).unwrap();
        assert_eq!(file.read_at(&CX, 0, &mut [0]).unwrap(), 1, "{version}");
        file.write_at(&CX, 0, b"x", Stability::File).unwrap();
    }
}

#[test]
fn owner_who_gives_up_everything_while_it_asks_for_a_lock_has_none_afterwards() {
    let runtime = runtime();
    for version in [Version::V3, Version::V4_1] {
        let mut export = Export::restartable(LEASE);
        let (mine, yours) = (hard(&export, &runtime, (version, export.address())), export.address());
        let file = open(&mine);
        file.lock(&CX, YOURS, range(50, 50, true)).unwrap();
        export.restart();
        // The server lets locks be reclaimed only, so that this waits.
        let asking = thread::spawn({
            let file = Arc::clone(&file);
            move || file.lock(&CX, MINE, range(0, 9, true)).map(drop)
        });
        thread::sleep(LEASE / 4);
        file.unlock(&CX, MINE, 0..=u64::MAX).unwrap();
        let _ = asking.join().unwrap();
        let other = open(&hard(&export, &runtime, (version, yours)));
        until(|| other.lock(&CX, YOURS, range(0, 9, true)).unwrap() == LockOutcome::Free);
    }
}
