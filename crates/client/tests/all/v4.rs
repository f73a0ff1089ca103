//! NFSv4 against the real server: what is open and sparse. Locks are in `locks.rs`.

use bytes::Bytes;
use client::v4::{Client, MinorVersion, Stateid};
use client::{
    Extent, File, Follow, LockKind, Mount, OpenOptions, Options, Reason, Segment, Status, Version, XattrMode,
};
use vfs::{CreateMode, SetAttributes, Stability};

use crate::real::Export;

const WHOLE: u64 = u64::MAX;
const VERSIONS: [Version; 3] = [Version::V4_0, Version::V4_1, Version::V4_2];

fn creating(options: OpenOptions) -> OpenOptions {
    options.creating(CreateMode::Unchecked, SetAttributes { mode: Some(0o644), ..SetAttributes::default() })
}

async fn open(mount: &Mount, name: &[u8]) -> File {
    mount.open(&mount.root().handle, name, &creating(OpenOptions::both())).await.unwrap()
}

async fn write(file: &File, offset: u64, data: impl Into<Bytes>) {
    file.write(offset, data.into(), Stability::File).await.unwrap();
}

#[tokio::test]
async fn file_is_written_and_read_under_its_open() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        let file = open(&mount, b"file").await;
        write(&file, 3, "data").await;
        let mut buffer = [1; 100];
        let read = file.read_into(0, &mut buffer).await.unwrap();
        assert_eq!((&buffer[..read.count], read.is_eof), (&b"\0\0\0data"[..], true), "{version}");
        let set = SetAttributes { size_bytes: Some(5), ..SetAttributes::default() };
        assert_eq!(file.setattr(&set).await.unwrap().size_bytes, 5);
        file.close().await.unwrap();
        mount.unmount().await.unwrap();
    }
}

#[tokio::test]
async fn share_reservation_keeps_others_out_until_it_is_closed() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (export.mount(version).await, export.mount(version).await);
        let root = mine.root().handle;
        let alone = OpenOptions { denies_writes: true, ..creating(OpenOptions::both()) };
        let held = mine.open(&root, b"alone", &alone).await.unwrap();
        let refused = yours.open(&root, b"alone", &OpenOptions::write()).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::ShareDenied), "{version}");
        assert_eq!(refused.file(), Some(&b"alone"[..]));
        yours.open(&root, b"alone", &OpenOptions::read()).await.unwrap().close().await.unwrap();
        held.close().await.unwrap();
        yours.open(&root, b"alone", &OpenOptions::write()).await.unwrap().close().await.unwrap();
    }
}

#[tokio::test]
async fn owner_who_closed_a_file_opens_and_locks_the_next() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        for round in 0..20 {
            let file = open(&mount, b"again").await;
            if round % 3 != 0 {
                file.lock(LockKind::Exclusive, round, 10).await.unwrap();
            }
            if round % 2 != 0 {
                file.unlock(0, WHOLE).await.unwrap();
            }
            write(&file, round, "x").await;
            file.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn dropped_file_is_closed_in_the_background() {
    let export = Export::start();
    let (mine, yours) = (export.mount(Version::V4_1).await, export.mount(Version::V4_1).await);
    let root = mine.root().handle;
    let alone = OpenOptions { denies_reads: true, ..creating(OpenOptions::both()) };
    drop(mine.open(&root, b"alone", &alone).await.unwrap());
    for _ in 0..200 {
        match yours.open(&root, b"alone", &OpenOptions::read()).await {
            Err(error) if error.status() == Some(Status::ShareDenied) => tokio::task::yield_now().await,
            other => return drop(other.unwrap()),
        }
    }
    panic!("the file stays open");
}

#[tokio::test]
async fn holes_are_told_found_made_and_filled() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    let file = open(&mount, b"sparse").await;
    write(&file, 1 << 20, vec![7; 4096]).await;
    let read = file.read_plus(0, 1 << 20).await.unwrap();
    assert_eq!(read.segments, [Segment::Hole { offset: 0, length: 1 << 20 }]);
    let read = file.read_plus((1 << 20) - 65_536, 70_000).await.unwrap();
    let [Segment::Hole { length: 65_536, .. }, Segment::Data { offset, bytes }] = &read.segments[..] else {
        panic!("{read:?}");
    };
    assert_eq!((*offset, bytes.as_ref(), read.is_eof), (1 << 20, &[7; 4096][..], true));
    assert_eq!(file.seek(0, Extent::Data).await.unwrap(), Some(1 << 20));
    assert_eq!(file.seek(0, Extent::Hole).await.unwrap(), Some(0));
    assert_eq!(file.seek(1 << 20, Extent::Hole).await.unwrap(), Some((1 << 20) + 4096));
    file.deallocate(1 << 20, 4096).await.unwrap();
    assert_eq!(file.read(1 << 20, 4096).await.unwrap().bytes.as_ref(), &[0; 4096]);
    file.allocate(0, 2 << 20).await.unwrap();
    assert_eq!(file.getattr().await.unwrap().size_bytes, 2 << 20);
    file.close().await.unwrap();
}

#[tokio::test]
async fn server_copies_between_files_and_says_how_much() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    let (source, destination) = (open(&mount, b"source").await, open(&mount, b"destination").await);
    write(&source, 0, "0123456789").await;
    let copied = destination.copy_from(&source, 2, 1, 5).await.unwrap();
    assert_eq!(copied.count, 5);
    assert_eq!(destination.read(0, 100).await.unwrap().bytes.as_ref(), b"\x0023456");
    match destination.clone_from(&source, 0, 0, 0).await {
        Ok(()) => assert_eq!(destination.read(0, 100).await.unwrap().bytes.as_ref(), b"0123456789"),
        Err(error) => assert_eq!(error.status(), Some(Status::NotSupported)),
    }
}

#[tokio::test]
async fn extended_attributes_are_made_replaced_listed_and_removed() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    let file = *open(&mount, b"file").await.handle();
    mount.setxattr(&file, b"colour", b"red", XattrMode::Create).await.unwrap();
    let refused = mount.setxattr(&file, b"colour", b"blue", XattrMode::Create).await.unwrap_err();
    assert_eq!(refused.status(), Some(Status::Exists));
    let refused = mount.setxattr(&file, b"size", b"1", XattrMode::Replace).await.unwrap_err();
    assert_eq!(refused.status(), Some(Status::NoXattr));
    mount.setxattr(&file, b"colour", b"blue", XattrMode::Replace).await.unwrap();
    mount.setxattr(&file, b"size", b"1", XattrMode::Either).await.unwrap();
    assert_eq!(mount.getxattr(&file, b"colour").await.unwrap(), b"blue");
    let mut names = mount.listxattrs(&file).await.unwrap();
    names.sort();
    assert_eq!(names, [b"colour".to_vec(), b"size".to_vec()]);
    mount.removexattr(&file, b"colour").await.unwrap();
    assert_eq!(mount.getxattr(&file, b"colour").await.unwrap_err().status(), Some(Status::NoXattr));
    let older = export.mount(Version::V3).await;
    let refused = older.listxattrs(&older.root().handle).await.unwrap_err();
    assert!(matches!(refused.reason(), Reason::NotInVersion(Version::V3)));
}

#[tokio::test]
async fn older_versions_read_and_write_by_the_handle() {
    let export = Export::start();
    for version in [Version::V2, Version::V3] {
        let mount = export.mount(version).await;
        let file = open(&mount, b"file").await;
        write(&file, 0, "text").await;
        assert_eq!(file.read(0, 100).await.unwrap().bytes.as_ref(), b"text");
        file.close().await.unwrap();
    }
}

#[tokio::test]
async fn many_calls_share_the_slots_of_a_session_and_its_connections() {
    let export = Export::start();
    let options = Options { connections: 4, max_pending: 8, ..export.options(Version::V4_1) };
    let mount = Mount::connect(&export.url(), &options).await.unwrap();
    let file = std::sync::Arc::new(open(&mount, b"shared").await);
    write(&file, 0, vec![5; 64 << 10]).await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..500 {
        let file = std::sync::Arc::clone(&file);
        calls.spawn(async move {
            let data = file.read(number * 100, 100).await.unwrap();
            assert_eq!(data.bytes.as_ref(), &[5; 100]);
        });
    }
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test]
async fn slots_of_calls_that_nobody_waits_for_come_back() {
    let export = Export::start();
    let options = Options { max_pending: 4, ..export.options(Version::V4_1) };
    let mount = Mount::connect(&export.url(), &options).await.unwrap();
    let file = open(&mount, b"file").await;
    write(&file, 0, "bytes").await;
    for _ in 0..200 {
        let forgotten = tokio::time::timeout(std::time::Duration::from_micros(50), file.read(0, 10)).await;
        drop(forgotten);
    }
    for _ in 0..20 {
        assert_eq!(file.read(0, 10).await.unwrap().bytes.as_ref(), b"bytes");
    }
}

#[tokio::test]
async fn remove_leaves_directories_and_rmdir_leaves_files() {
    let export = Export::start();
    let mount = export.mount(Version::V4_1).await;
    let root = mount.root().handle;
    mount.mkdir(&root, b"dir", &SetAttributes::default()).await.unwrap();
    open(&mount, b"file").await.close().await.unwrap();
    assert_eq!(mount.remove(&root, b"dir").await.unwrap_err().status(), Some(Status::IsDirectory));
    assert_eq!(mount.rmdir(&root, b"file").await.unwrap_err().status(), Some(Status::NotDirectory));
    mount.remove(&root, b"file").await.unwrap();
    mount.rmdir(&root, b"dir").await.unwrap();
}

#[tokio::test]
async fn root_of_the_mount_is_the_export_and_the_servers_root_can_be_listed() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    open(&mount, b"file").await.close().await.unwrap();
    assert_eq!((mount.export(), mount.path_below()), (&b"/files"[..], &b""[..]));
    let top = format!("nfs://{}/", export.address()).parse().unwrap();
    let top = Mount::connect(&top, &export.options(Version::V4_2)).await.unwrap();
    let found = top.walk(b"files/file", Follow::Links).await.unwrap();
    assert_eq!(found.handle, mount.walk(b"file", Follow::Links).await.unwrap().handle);
}

#[tokio::test]
async fn file_is_read_by_handle_and_stateid_in_a_session_of_ones_own() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    let file = open(&mount, b"file").await;
    write(&file, 0, "copied by another server").await;
    let options = export.options(Version::V4_2);
    let client = Client::connect(export.address(), "source", MinorVersion::V2, &options).await.unwrap();
    let data = client.read(file.handle(), Stateid::ANONYMOUS, 7, 2).await.unwrap();
    assert_eq!((data.bytes.as_ref(), data.is_eof), (&b"by"[..], false));
    let stranger = Stateid { seqid: 1, other: *b"not anything" };
    let refused = client.read(file.handle(), stranger, 0, 10).await.unwrap_err();
    assert!(matches!(refused.status(), Some(Status::V4(_))), "{refused}");
    client.close().await.unwrap();
}

#[tokio::test]
async fn datagrams_are_refused() {
    let export = Export::start();
    let options = Options { transport: client::Transport::Udp, ..export.options(Version::V4_1) };
    let refused = Mount::connect(&export.url(), &options).await.unwrap_err();
    assert!(matches!(refused.reason(), Reason::NeedsStream(Version::V4_1)), "{refused}");
}
