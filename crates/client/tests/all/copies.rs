//! Copies between exports of the real server, by itself and through the client.

use std::sync::{Arc, Mutex};

use client::copy::{CopyError, CopyOptions, Event, Summary, between, download};
use client::{Mount, OpenOptions, Options, Status, Version};
use proto::nfs4::OpNumber;
use vfs::{CreateMode, SetAttributes, Stability};

use crate::real::Export;
use crate::real::files::{bytes, find, make};
use crate::real::proxy::Proxy;

const MIB: u64 = 1 << 20;
/// A hole, some data, a hole, a byte, and a hole.
const SIZE: u64 = 24 * MIB;

async fn make_sparse(mount: &Mount) {
    let data: Vec<u8> = (0..3 * MIB as usize).map(|place| (place / 4096 % 251) as u8 + 1).collect();
    make(mount, b"sparse", SIZE, &[(5 * MIB, data), (20 * MIB + 77, vec![1])]).await;
}

fn checking() -> CopyOptions {
    CopyOptions { verify: true, ..CopyOptions::default() }
}

async fn copy(from: (&Mount, &str), to: (&Mount, &str), options: &CopyOptions) -> Result<Summary, CopyError> {
    between(from.0, from.1.as_bytes(), to.0, to.1.as_bytes(), options).await
}

async fn assert_is_sparse_copy(mount: &Mount, name: &str) {
    let (original, copy) = (find(mount, "sparse").await.attributes, find(mount, name).await.attributes);
    assert_eq!((copy.size_bytes, copy.mode, copy.modified.seconds), (SIZE, 0o640, original.modified.seconds), "{name}");
    assert!(copy.used_bytes <= original.used_bytes + 4096, "{name}: {copy:?}");
    assert!(bytes(mount, "sparse").await == bytes(mount, name).await, "{name}");
}

#[tokio::test]
async fn one_mount_of_4_2_copies_at_the_server_and_keeps_holes() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    make_sparse(&mount).await;
    let told = Arc::new(Mutex::new((0, 0)));
    let hears = Arc::clone(&told);
    let progress = move |event: Event<'_>| {
        let mut told = hears.lock().unwrap();
        match event {
            Event::Found { bytes, .. } => told.0 += bytes,
            Event::Copied(bytes) => told.1 += bytes,
            _ => {}
        }
    };
    let options = CopyOptions { progress: Some(Arc::new(progress)), ..checking() };
    let summary = copy((&mount, "sparse"), (&mount, "copy"), &options).await.unwrap();
    assert_eq!((summary.files, summary.bytes, summary.data_bytes), (1, SIZE, 0), "{summary:?}");
    assert!(summary.server_bytes > 3 * MIB && summary.server_bytes < 4 * MIB, "data only: {summary:?}");
    assert_eq!(*told.lock().unwrap(), (SIZE, SIZE));
    assert_is_sparse_copy(&mount, "copy").await;
}

#[tokio::test]
async fn tebibyte_of_holes_is_copied_by_its_data() {
    const HUGE: u64 = 1 << 40;
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    make(&mount, b"huge", HUGE, &[(HUGE / 2, vec![7; 5000])]).await;
    for target in [mount.clone(), export.mount(Version::V4_2).await, export.mount(Version::V3).await] {
        let name = format!("copy-{}-{}", target.version(), target.is_same(&mount));
        let summary = copy((&mount, "huge"), (&target, &name), &CopyOptions::default()).await.unwrap();
        assert!(summary.bytes == HUGE && summary.data_bytes + summary.server_bytes < MIB, "{name}: {summary:?}");
        let copy = find(&target, &name).await;
        assert_eq!(copy.attributes.size_bytes, HUGE, "{name}");
        assert!(target.read(&copy.handle, HUGE / 2, 5000).await.unwrap().bytes == [7; 5000][..], "{name}");
    }
}

/// How many operations of a name a mount has sent.
fn operations(mount: &Mount, name: &str) -> u64 {
    mount.statistics().operations().find(|(of, _)| *of == name).map_or(0, |(_, counted)| counted.calls)
}

#[tokio::test]
async fn small_holes_are_found_by_read_plus_and_without_it_by_two_seeks_each() {
    const SEGMENTS: u64 = 1024;
    const SEGMENT: u64 = 4096;
    let export = Export::start();
    let data: Vec<_> =
        (0..SEGMENTS).step_by(2).map(|number| (number * SEGMENT, vec![number as u8 | 1; SEGMENT as usize])).collect();
    make(&export.mount(Version::V4_2).await, b"mixed", SEGMENTS * SEGMENT, &data).await;
    let copy_of = std::env::temp_dir().join(format!("wharf-mixed-{}", std::process::id()));
    for uses_read_plus in [true, false] {
        let options = Options { uses_read_plus, ..export.options(Version::V4_2) };
        let mount = Mount::connect(&export.url(), &options).await.unwrap();
        let target = export.mount(Version::V3).await;
        let name = format!("copy-{uses_read_plus}");
        let summary = copy((&mount, "mixed"), (&target, &name), &checking()).await.unwrap();
        assert_eq!((summary.bytes, summary.data_bytes), (SEGMENTS * SEGMENT, SEGMENTS * SEGMENT / 2), "{summary:?}");
        assert_eq!(find(&target, &name).await.attributes.used_bytes, SEGMENTS * SEGMENT / 2);
        download(&mount, b"mixed", &copy_of, &checking()).await.unwrap();
        std::fs::remove_file(&copy_of).unwrap();
        let calls = ["SEEK", "READ_PLUS"].map(|name| operations(&mount, name));
        // Two copies, each with one SEEK for 16 MiB, or with two for each segment of data and one behind the last.
        match uses_read_plus {
            true => assert!(calls[0] == 2 && (2..=64).contains(&calls[1]), "{calls:?}"),
            false => assert_eq!(calls, [2 * (SEGMENTS + 1), 0]),
        }
    }
}

#[tokio::test]
async fn every_version_copies_to_every_other_and_keeps_holes() {
    let export = Export::start();
    make_sparse(&export.mount(Version::V3).await).await;
    let versions = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];
    for (number, from) in versions.into_iter().enumerate() {
        let to = versions[(number + 1) % versions.len()];
        let (source, target) = (export.mount(from).await, export.mount(to).await);
        let name = format!("from-{from}");
        let summary = copy((&source, "sparse"), (&target, &name), &checking()).await.unwrap();
        assert_eq!((summary.files, summary.bytes, summary.server_bytes), (1, SIZE, 0), "{from} to {to}");
        assert_is_sparse_copy(&export.mount(Version::V3).await, &name).await;
        if from == Version::V4_2 {
            assert!(summary.data_bytes < 4 * MIB, "holes are not read: {summary:?}");
        }
    }
}

#[tokio::test]
async fn tree_is_copied_with_its_links() {
    let (export, other) = (Export::start(), Export::start());
    for version in [Version::V3, Version::V4_2] {
        let mount = export.mount(version).await;
        let top = format!("tree-{version}");
        let dir = mount.mkdir(&mount.root().handle, top.as_bytes(), &SetAttributes::default()).await.unwrap().handle;
        let none = SetAttributes::default();
        let file = mount.create(&dir, b"file", CreateMode::Guarded, &none).await.unwrap().handle;
        mount.write(&file, 0, "content".into(), Stability::File).await.unwrap();
        mount.link(&file, &dir, b"same").await.unwrap();
        mount.symlink(&dir, b"pointer", b"file", &none).await.unwrap();
        mount.create(&dir, b"empty", CreateMode::Guarded, &none).await.unwrap();
        let set = SetAttributes { mode: Some(0o500), ..none };
        mount.setattr(&dir, &set).await.unwrap();
        for target in [mount.clone(), other.mount(version).await] {
            let to = format!("copy-{version}");
            let summary = copy((&mount, &top), (&target, &to), &checking()).await.unwrap();
            let counted = (summary.files, summary.directories, summary.symlinks, summary.hard_links);
            assert_eq!(counted, (2, 1, 1, 1), "{version}: {summary:?}");
            let (file, same) = (find(&target, &format!("{to}/file")).await, find(&target, &format!("{to}/same")).await);
            assert_eq!((file.attributes.fileid, file.attributes.links), (same.attributes.fileid, 2));
            assert_eq!(bytes(&target, &format!("{to}/same")).await, b"content");
            assert_eq!(find(&target, &to).await.attributes.mode, 0o500);
        }
    }
}

#[tokio::test]
async fn what_is_there_is_kept_and_nothing_is_copied_onto_or_into_itself() {
    let export = Export::start();
    for version in [Version::V3, Version::V4_2] {
        let (mount, again) = (export.mount(version).await, export.mount(version).await);
        let name = format!("file-{version}");
        make(&mount, name.as_bytes(), 3, &[(0, b"abc".to_vec())]).await;
        let refused = copy((&mount, &name), (&again, &name), &checking()).await.unwrap_err();
        assert!(matches!(refused, CopyError::Exists { .. }), "{refused}");
        let overwriting = CopyOptions { overwrite: true, ..checking() };
        let refused = copy((&mount, &name), (&again, &name), &overwriting).await.unwrap_err();
        assert!(matches!(refused, CopyError::Itself { .. }), "{refused}");
        assert_eq!(bytes(&mount, &name).await, b"abc");
        let dir = format!("dir-{version}");
        mount.mkdir(&mount.root().handle, dir.as_bytes(), &SetAttributes::default()).await.unwrap();
        let refused = copy((&mount, &dir), (&again, &format!("{dir}/inside")), &checking()).await.unwrap_err();
        assert!(matches!(refused, CopyError::IntoItself { .. }), "{refused}");
    }
}

#[tokio::test]
async fn long_copy_goes_on_behind_its_reply_and_its_end_is_told() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    make(&mount, b"long", 32 * MIB, &[(0, vec![3; 32 << 20])]).await;
    make(&mount, b"copy", 0, &[]).await;
    let source = mount.open(&mount.root().handle, b"long", &OpenOptions::read()).await.unwrap();
    let target = mount.open(&mount.root().handle, b"copy", &OpenOptions::both()).await.unwrap();
    let copying = target.begin_copy(&source, 0, 0, 32 * MIB).await.unwrap();
    assert!(copying.goes_on());
    assert_eq!(copying.end(|_| ()).await.unwrap().count, 32 * MIB);
    assert!(bytes(&mount, "copy").await == bytes(&mount, "long").await);
    mount.copies_ended().await;
}

#[tokio::test]
async fn what_is_read_while_a_long_copy_goes_on_is_not_kept() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    make(&mount, b"long", 32 * MIB, &[(0, vec![3; 32 << 20])]).await;
    make(&mount, b"copy", 32 * MIB, &[]).await;
    let source = mount.open(&mount.root().handle, b"long", &OpenOptions::read()).await.unwrap();
    let target = mount.open(&mount.root().handle, b"copy", &OpenOptions::both()).await.unwrap();
    let (mut buffer, last) = (vec![0; MIB as usize], 31 * MIB);
    let copying = target.begin_copy(&source, 0, 0, 32 * MIB).await.unwrap();
    assert!(copying.goes_on());
    // Most of the time the copy has not come so far yet.
    target.read_at(last, &mut buffer).await.unwrap();
    copying.end(|_| ()).await.unwrap();
    assert_eq!(target.read_at(last, &mut buffer).await.unwrap(), buffer.len());
    assert!(buffer.iter().all(|byte| *byte == 3));
}

#[tokio::test]
async fn copy_that_nobody_waits_for_is_cancelled() {
    let export = Export::start();
    let proxy = Proxy::start(export.address()).await;
    let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
    let mount = Mount::connect(&url, &export.options(Version::V4_2)).await.unwrap();
    make(&mount, b"long", 64 * MIB, &[(0, vec![3; 64 << 20])]).await;
    make(&mount, b"copy", 0, &[]).await;
    let source = mount.open(&mount.root().handle, b"long", &OpenOptions::read()).await.unwrap();
    let target = mount.open(&mount.root().handle, b"copy", &OpenOptions::both()).await.unwrap();
    proxy.lose_reply_to(OpNumber::OffloadCancel as u32);
    let copying = target.begin_copy(&source, 0, 0, 0).await.unwrap();
    assert!(copying.goes_on());
    drop(copying);
    mount.copies_ended().await;
    assert!(proxy.seen() > 0);
}

#[tokio::test]
async fn copy_between_files_that_cannot_be_opened_is_an_error_of_its_file() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    let Err(CopyError::Remote(error)) = copy((&mount, "missing"), (&mount, "copy"), &checking()).await else {
        panic!("nothing is copied");
    };
    assert_eq!((error.status(), error.file()), (Some(Status::NoEntry), Some(&b"missing"[..])));
}
