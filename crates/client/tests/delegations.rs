//! Files that the server delegates to the client: believed and opened without asking, and returned when somebody else wants them.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod real;

use std::time::Duration;

use client::{File, LockKind, Mount, OpenOptions, Options, Version};
use real::Export;
use vfs::{CreateMode, SetAttributes, Stability};

const VERSIONS: [Version; 2] = [Version::V4_1, Version::V4_2];
/// How long something is waited for that comes soon.
const PATIENCE: Duration = Duration::from_secs(20);

async fn make(mount: &Mount, name: &[u8], data: &'static str) {
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let options = OpenOptions::write().creating(CreateMode::Unchecked, set);
    let file = mount.open(&mount.root().handle, name, &options).await.unwrap();
    file.write(0, data.into(), Stability::File).await.unwrap();
    file.close().await.unwrap();
}

async fn open(mount: &Mount, name: &[u8], options: OpenOptions) -> File {
    mount.open(&mount.root().handle, name, &options).await.unwrap()
}

async fn text(file: &File) -> String {
    String::from_utf8(file.read(0, 100).await.unwrap().bytes.to_vec()).unwrap()
}

/// How many calls `work` makes.
async fn calls<T>(mount: &Mount, work: impl Future<Output = T>) -> (T, u64) {
    let before = mount.counters().calls;
    let done = work.await;
    (done, mount.counters().calls - before)
}

/// A file that is delegated to this mount.
async fn delegated(mount: &Mount, name: &[u8]) -> File {
    make(mount, name, "first").await;
    open(mount, name, OpenOptions::read()).await
}

#[tokio::test]
async fn delegated_file_is_opened_and_believed_without_asking() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        let file = delegated(&mount, b"file").await;
        let (again, asked) = calls(&mount, open(&mount, b"file", OpenOptions::read())).await;
        assert_eq!(asked, 0, "{version}: the second open asks nobody");
        let (by_handle, asked) = calls(&mount, mount.open_handle(file.handle(), &OpenOptions::read())).await;
        assert_eq!((asked, by_handle.unwrap().handle()), (0, file.handle()));
        let (size, asked) = calls(&mount, mount.attributes_at_open(file.handle())).await;
        assert_eq!((size.unwrap().size_bytes, asked), (5, 0));
        assert_eq!((text(&file).await, text(&again).await), ("first".to_owned(), "first".to_owned()));
        let ((), asked) = calls(&mount, async { again.close().await.unwrap() }).await;
        assert_eq!(asked, 0, "the server knows of no open");
        file.close().await.unwrap();
        mount.remove(&mount.root().handle, b"file").await.unwrap();
        mount.unmount().await.unwrap();
    }
}

#[tokio::test]
async fn conflicting_open_of_another_client_gets_the_file_and_the_first_reads_what_it_wrote() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (export.mount(version).await, export.mount(version).await);
        let first = delegated(&mine, b"file").await;
        // This one is open by the delegation alone, and has to be opened at the server before that goes.
        let local = open(&mine, b"file", OpenOptions::read()).await;
        let writer = open(&yours, b"file", OpenOptions::write()).await;
        writer.write(0, "other".into(), Stability::File).await.unwrap();
        writer.close().await.unwrap();
        assert_eq!((text(&first).await, text(&local).await), ("other".to_owned(), "other".to_owned()), "{version}");
        let (file, asked) = calls(&mine, open(&mine, b"file", OpenOptions::read())).await;
        assert!(asked > 0, "{version}: nothing is delegated any more");
        for file in [file, first, local] {
            file.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn change_of_another_version_waits_for_the_return() {
    let export = Export::start();
    let (mine, yours) = (export.mount(Version::V4_1).await, export.mount(Version::V3).await);
    let file = delegated(&mine, b"file").await;
    let other = open(&yours, b"file", OpenOptions::write()).await;
    other.write(0, "third".into(), Stability::File).await.unwrap();
    assert_eq!(text(&file).await, "third");
    assert_eq!(mine.attributes_at_open(file.handle()).await.unwrap().size_bytes, 5);
    let (_, asked) = calls(&mine, mine.attributes_at_open(file.handle())).await;
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn lock_of_a_file_that_is_open_by_its_delegation_alone_is_the_servers() {
    let export = Export::start();
    let (mine, yours) = (export.mount(Version::V4_2).await, export.mount(Version::V4_2).await);
    let _first = delegated(&mine, b"file").await;
    let local = open(&mine, b"file", OpenOptions::read()).await;
    local.lock(LockKind::Shared, 0, 10).await.unwrap();
    let other = open(&yours, b"file", OpenOptions::both()).await;
    assert!(other.try_lock(LockKind::Exclusive, 5, 1).await.is_err());
    assert_eq!(text(&local).await, "first");
    local.unlock(0, 10).await.unwrap();
    other.try_lock(LockKind::Exclusive, 5, 1).await.unwrap();
}

#[tokio::test]
async fn name_that_this_client_moved_away_is_asked_for_again() {
    let export = Export::start();
    let mount = export.mount(Version::V4_1).await;
    let root = mount.root().handle;
    let _file = delegated(&mount, b"file").await;
    mount.rename(&root, b"file", &root, b"elsewhere").await.unwrap();
    let missing = mount.open(&root, b"file", &OpenOptions::read()).await.unwrap_err();
    assert_eq!(missing.status(), Some(client::Status::NoEntry));
    make(&mount, b"file", "another").await;
    assert_eq!(text(&open(&mount, b"file", OpenOptions::read()).await).await, "another");
}

#[tokio::test]
async fn delegations_are_returned_when_the_mount_ends() {
    let export = Export::start();
    let (mine, yours) = (export.mount(Version::V4_1).await, export.mount(Version::V4_1).await);
    delegated(&mine, b"file").await.close().await.unwrap();
    mine.unmount().await.unwrap();
    let (writer, asked) = calls(&yours, open(&yours, b"file", OpenOptions::write())).await;
    assert_eq!(asked, 1, "nobody is in the way");
    writer.close().await.unwrap();
}

#[tokio::test]
async fn delegation_is_reclaimed_when_the_server_restarts() {
    for version in VERSIONS {
        let mut export = Export::restartable(Duration::from_secs(1));
        let options = Options { is_hard: true, ..export.options(version) };
        let mount = Mount::connect(&export.url(), &options).await.unwrap();
        let file = delegated(&mount, b"file").await;
        let local = open(&mount, b"file", OpenOptions::read()).await;
        export.restart();
        assert_eq!((text(&file).await, text(&local).await), ("first".to_owned(), "first".to_owned()), "{version}");
        // The name may lead elsewhere by now, the handle may not.
        let (again, asked) = calls(&mount, mount.open_handle(file.handle(), &OpenOptions::read())).await;
        let again = again.unwrap();
        assert_eq!(asked, 0, "{version}: it is delegated still");
        let yours = Mount::connect(&export.url(), &options).await.unwrap();
        let writing = async {
            let writer = open(&yours, b"file", OpenOptions::write()).await;
            writer.write(0, "after".into(), Stability::File).await.unwrap();
        };
        tokio::time::timeout(PATIENCE, writing).await.unwrap();
        for file in [&file, &local, &again] {
            assert_eq!(text(file).await, "after", "{version}");
        }
    }
}

#[tokio::test]
async fn mount_that_wants_none_asks_each_time() {
    let export = Export::start();
    let options = Options { uses_delegations: false, ..export.options(Version::V4_1) };
    let mount = Mount::connect(&export.url(), &options).await.unwrap();
    let _file = delegated(&mount, b"file").await;
    let (_again, asked) = calls(&mount, open(&mount, b"file", OpenOptions::read())).await;
    assert_eq!(asked, 1);
}
