//! What holds for locks in every version of NFS, whoever keeps them: the lock manager of versions 2 and 3, or version 4
//! itself.

use std::time::Duration;

use client::{Error, File, LockKind, Mount, OpenOptions, Options, Reason, Status, Version};
use vfs::{CreateMode, SetAttributes, Stability};

use crate::real::proxy::Proxy;
use crate::real::{Export, VERSIONS};

const WHOLE: u64 = u64::MAX;
/// For how long something that must come is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Leases and grace periods of servers that are restarted.
const LEASE: Duration = Duration::from_secs(2);

async fn open(mount: &Mount, name: &[u8]) -> File {
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let options = OpenOptions::both().creating(CreateMode::Unchecked, set);
    mount.open(&mount.root().handle, name, &options).await.unwrap()
}

/// The same file at two mounts.
async fn open_twice(export: &Export, version: Version) -> (File, File) {
    let (mine, yours) = (export.mount(version).await, export.mount(version).await);
    (open(&mine, b"file").await, open(&yours, b"file").await)
}

async fn lock_when_free(file: &File, kind: LockKind, offset: u64, length: u64) {
    tokio::time::timeout(PATIENCE, file.lock(kind, offset, length)).await.unwrap().unwrap();
}

fn is_lost(error: &Error) -> bool {
    matches!(error.reason(), Reason::StateLost)
}

#[tokio::test]
async fn locks_of_two_clients_conflict_and_say_where() {
    let export = Export::start();
    for version in VERSIONS {
        let (held, other) = open_twice(&export, version).await;
        held.lock(LockKind::Exclusive, 100, 50).await.unwrap();
        held.lock(LockKind::Shared, 200, 10).await.unwrap();
        let refused = other.try_lock(LockKind::Shared, 0, WHOLE).await.unwrap_err();
        assert!(matches!(refused.reason(), Reason::Locked { offset: 100, length: 50, .. }), "{version}: {refused}");
        assert!(refused.to_string().contains("bytes 100 to 149 are locked"), "{refused}");
        let refused = other.test_lock(LockKind::Exclusive, 205, 1).await.unwrap_err();
        assert!(matches!(refused.reason(), Reason::Locked { offset: 200, length: 10, .. }), "{version}: {refused}");
        other.test_lock(LockKind::Shared, 205, 1).await.unwrap();
        other.try_lock(LockKind::Shared, 205, 1).await.unwrap();
        held.unlock(110, 10).await.unwrap();
        other.try_lock(LockKind::Exclusive, 110, 10).await.unwrap();
        held.close().await.unwrap();
        other.try_lock(LockKind::Exclusive, 0, WHOLE).await.unwrap();
        assert_eq!(other.try_lock(LockKind::Shared, 5, 0).await.unwrap_err().status(), Some(Status::Invalid));
        other.close().await.unwrap();
    }
}

#[tokio::test]
async fn two_files_of_one_mount_are_two_owners_and_meet_those_of_other_versions() {
    let export = Export::start();
    let mut mounts = Vec::new();
    for version in VERSIONS {
        mounts.push(export.mount(version).await);
    }
    for mine in &mounts {
        let first = open(mine, b"file").await;
        first.lock(LockKind::Exclusive, 5, WHOLE).await.unwrap();
        for yours in &mounts {
            let second = open(yours, b"file").await;
            let refused = second.try_lock(LockKind::Shared, 7, 1).await.unwrap_err();
            let Reason::Locked { offset: 5, length, .. } = refused.reason() else { panic!("{refused}") };
            assert_eq!(*length, WHOLE, "{} and {}", mine.version(), yours.version());
            second.close().await.unwrap();
        }
        first.close().await.unwrap();
    }
}

#[tokio::test]
async fn lock_is_waited_for_until_the_other_lets_it_go() {
    let export = Export::start();
    for version in VERSIONS {
        let (held, other) = open_twice(&export, version).await;
        held.lock(LockKind::Exclusive, 0, WHOLE).await.unwrap();
        let waiting = tokio::spawn(async move { lock_when_free(&other, LockKind::Exclusive, 5, 5).await });
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!waiting.is_finished(), "{version}");
        held.unlock(0, WHOLE).await.unwrap();
        waiting.await.unwrap();
    }
}

#[tokio::test]
async fn dropped_file_and_dropped_lock_leave_nothing_locked() {
    let export = Export::start();
    for version in VERSIONS {
        let (file, other) = open_twice(&export, version).await;
        file.lock(LockKind::Exclusive, 0, WHOLE).await.unwrap();
        // On a thread that runs no tasks, too.
        std::thread::spawn(move || drop(file)).join().unwrap();
        lock_when_free(&other, LockKind::Exclusive, 0, WHOLE).await;
        other.close().await.unwrap();
        let (file, other) = open_twice(&export, version).await;
        file.lock(LockKind::Shared, 0, 10).await.unwrap();
        for micros in 0..50 {
            // Whenever it is dropped, before its reply or after, no lock stays but the one before.
            let lock = file.lock(LockKind::Exclusive, 5, 20);
            let _ = tokio::time::timeout(Duration::from_micros(micros * 40), lock).await;
            file.unlock(10, 10).await.unwrap();
            file.unlock(20, 5).await.unwrap();
            file.lock(LockKind::Shared, 0, 10).await.unwrap();
        }
        lock_when_free(&other, LockKind::Exclusive, 10, 15).await;
        assert!(other.try_lock(LockKind::Exclusive, 9, 1).await.is_err(), "{version}");
        lock_when_free(&other, LockKind::Shared, 5, 5).await;
        file.close().await.unwrap();
        other.close().await.unwrap();
    }
}

#[tokio::test]
async fn data_that_was_written_under_a_lock_is_seen_under_the_next() {
    let export = Export::start();
    for version in VERSIONS {
        let (one, other) = open_twice(&export, version).await;
        one.write_at(0, &[0]).await.unwrap();
        one.flush().await.unwrap();
        for turn in 0..20 {
            let file = if turn % 2 == 0 { &one } else { &other };
            lock_when_free(file, LockKind::Exclusive, 0, WHOLE).await;
            let mut byte = [0];
            assert_eq!(file.read_at(0, &mut byte).await.unwrap(), 1);
            assert_eq!(byte[0], turn, "{version}");
            file.write_at(0, &[turn + 1]).await.unwrap();
            // Times of version 2 are whole microseconds, and so is what tells one version of a file from the next.
            tokio::time::sleep(Duration::from_millis(2)).await;
            file.unlock(0, WHOLE).await.unwrap();
        }
    }
}

#[tokio::test]
async fn locks_are_reclaimed_after_a_restart_before_anybody_else_has_them() {
    for version in VERSIONS {
        let mut export = Export::restartable(LEASE);
        let hard = Options { is_hard: true, ..export.options(version) };
        let mine = Mount::connect(&export.url(), &hard).await.unwrap();
        let file = open(&mine, b"file").await;
        file.lock(LockKind::Exclusive, 0, 10).await.unwrap();
        file.lock(LockKind::Shared, 20, WHOLE).await.unwrap();
        export.restart();
        // While the server lets locks be reclaimed nobody gets a new one, so that this waits until that is over.
        let other = open(&Mount::connect(&export.url(), &hard).await.unwrap(), b"file").await;
        let asking = other.try_lock(LockKind::Exclusive, 5, 1);
        let refused = tokio::time::timeout(PATIENCE, asking).await.unwrap().unwrap_err();
        assert!(matches!(refused.reason(), Reason::Locked { offset: 0, length: 10, .. }), "{version}: {refused}");
        other.try_lock(LockKind::Exclusive, 12, 1).await.unwrap();
        assert!(other.try_lock(LockKind::Exclusive, 25, 1).await.is_err(), "{version}");
        file.unlock(0, 10).await.unwrap();
        other.try_lock(LockKind::Exclusive, 5, 1).await.unwrap();
    }
}

/// Restarts the server while a client is kept away until somebody else has got its lock.
async fn take_away(export: &mut Export, proxy: &Proxy, version: Version) -> File {
    proxy.block(true);
    export.restart();
    let hard = Options { is_hard: true, ..export.options(version) };
    let taken = open(&Mount::connect(&export.url(), &hard).await.unwrap(), b"file").await;
    lock_when_free(&taken, LockKind::Exclusive, 0, 10).await;
    proxy.block(false);
    taken
}

#[tokio::test]
async fn lost_lock_stops_reading_and_writing_until_it_is_given_up() {
    for version in VERSIONS {
        let mut export = Export::restartable(LEASE);
        let proxy = Proxy::start(export.address()).await;
        let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
        let options = Options { is_hard: true, ..export.options(version) };
        let mine = Mount::connect(&url, &options).await.unwrap();
        let file = open(&mine, b"file").await;
        file.write_at(0, b"before").await.unwrap();
        file.lock(LockKind::Exclusive, 0, 10).await.unwrap();
        let taken = take_away(&mut export, &proxy, version).await;

        // Older versions write without regard to locks, so that it takes a moment until the client has found out.
        let mut byte = [0];
        let finding = async {
            while file.read_at(0, &mut byte).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, finding).await.unwrap();
        assert!(is_lost(&file.read_at(0, &mut byte).await.unwrap_err()), "{version}");
        let buffers = &mut [std::io::IoSliceMut::new(&mut byte)];
        assert!(is_lost(&file.read_vectored_at(0, buffers).await.unwrap_err()), "{version}");
        assert!(is_lost(&file.write_at(0, b"x").await.unwrap_err()), "{version}");
        assert!(is_lost(&file.read(0, 1).await.unwrap_err()), "{version}");
        assert!(is_lost(&file.write(0, "x".into(), Stability::File).await.unwrap_err()), "{version}");
        assert!(is_lost(&file.try_lock(LockKind::Shared, 50, 1).await.unwrap_err()), "{version}");
        // Others of the same mount are not concerned, unless they lost something themselves.
        open(&mine, b"third").await.write_at(0, b"x").await.unwrap();

        file.unlock(0, 10).await.unwrap();
        assert_eq!(file.read_at(0, &mut byte).await.unwrap(), 1, "{version}");
        assert!(matches!(file.try_lock(LockKind::Shared, 5, 1).await.unwrap_err().reason(), Reason::Locked { .. }));
        taken.close().await.unwrap();
        lock_when_free(&file, LockKind::Exclusive, 0, 10).await;
        file.write_at(0, b"after").await.unwrap();
        file.close().await.unwrap();
    }
}

/// Older versions write without regard to locks.
#[tokio::test]
async fn what_was_written_under_a_lost_lock_is_not_sent_in_the_name_of_another_open() {
    for version in [Version::V4_0, Version::V4_1, Version::V4_2] {
        let mut export = Export::restartable(LEASE);
        let proxy = Proxy::start(export.address()).await;
        let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
        let options = Options { is_hard: true, ..export.options(version) };
        let mine = Mount::connect(&url, &options).await.unwrap();
        let (locked, other) = (open(&mine, b"file").await, open(&mine, b"file").await);
        locked.write_at(0, b"before").await.unwrap();
        locked.sync().await.unwrap();
        locked.lock(LockKind::Exclusive, 0, 10).await.unwrap();
        let mut bytes = [0; 20];
        locked.read_at(0, &mut bytes).await.unwrap();

        proxy.block(true);
        locked.write_at(0, b"mine").await.unwrap();
        let writing = tokio::spawn(async move { other.write_at(5, b"other").await.map(|_| other) });
        tokio::task::yield_now().await;
        let taken = take_away(&mut export, &proxy, version).await;
        let other = tokio::time::timeout(PATIENCE, writing).await.unwrap().unwrap().unwrap();
        other.sync().await.unwrap();
        assert!(is_lost(&locked.sync().await.unwrap_err()), "{version}");
        let read = taken.read(0, 20).await.unwrap();
        assert_eq!(&read.bytes[..], b"beforother", "{version}");
    }
}
