//! Copies that a server begins and does not bring to their end, and originals that change while they are copied.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use client::copy::{CopyError, CopyOptions, Event, Summary, between, download, upload};
use client::{Mount, OpenOptions, Status, Version};
use fs_fault::{FaultFs, FaultPlan, Operation, Rules};
use fs_mem::{MemFs, MemOptions};
use proto::nfs4::OpNumber;
use vfs::{Context, FileSystem, Name, OpenMode, Place, SetAttributes, Stability};

use crate::real::Export;
use crate::real::files::{bytes, find, make, pattern};
use crate::real::proxy::Proxy;

const MIB: u64 = 1 << 20;
/// What the real server copies before it replies to COPY.
const SHORT: u64 = 4 * MIB;
/// What it copies behind its reply, in several turns.
const LONG: u64 = 17 * MIB;
/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Files that fail as a plan says.
struct Files {
    files: Arc<FaultFs<MemFs>>,
    plan: FaultPlan,
}

impl Files {
    fn new(rules: &str) -> Files {
        let plan = FaultPlan::new(rules.parse::<Rules>().unwrap());
        let memory = Arc::new(MemFs::new(MemOptions::default()));
        Files { files: Arc::new(FaultFs::new(memory, plan.clone())), plan }
    }

    /// Writes to a file behind the server's back, or cuts it.
    fn change(files: &FaultFs<MemFs>, name: &str, change: Change) {
        let cx = Context::ROOT;
        let place = Place { dir: files.root(), name: Name::new(name.as_bytes()).unwrap() };
        let found = files.lookup(&cx, place).unwrap();
        match change {
            Change::Append(bytes) => {
                let file = files.open(&cx, &found.handle, OpenMode::Write).unwrap();
                file.write_at(&cx, found.attributes.size_bytes, bytes, Stability::File).unwrap();
            }
            Change::Cut(size) => {
                let set = SetAttributes { size_bytes: Some(size), ..SetAttributes::default() };
                files.set_attributes(&cx, &found.handle, &set).unwrap();
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Change {
    Append(&'static [u8]),
    Cut(u64),
}

/// What was told of a copy, in bytes.
#[derive(Default)]
struct Told(AtomicU64);

/// Copies a file within one mount, and compares it; gives what was told too.
async fn copy(mount: &Mount, from: &str, to: &str) -> (Summary, u64) {
    let told = Arc::<Told>::default();
    let options = CopyOptions { verify: true, ..telling(&told) };
    let summary = between(mount, from.as_bytes(), mount, to.as_bytes(), &options).await.unwrap();
    (summary, told.0.load(Ordering::Relaxed))
}

fn telling(told: &Arc<Told>) -> CopyOptions {
    let told = Arc::clone(told);
    let progress = move |event: Event<'_>| {
        if let Event::Copied(bytes) = event {
            told.0.fetch_add(bytes, Ordering::Relaxed);
        }
    };
    CopyOptions { progress: Some(Arc::new(progress)), ..CopyOptions::default() }
}

#[tokio::test]
async fn copy_that_fails_at_the_server_goes_on_here_from_where_it_ended() {
    for size in [SHORT, LONG] {
        for error in ["io", "nospace"] {
            let files = Files::new(&format!("copy:error={error}@2+"));
            let export = Export::of(files.files.clone());
            let mount = export.mount(Version::V4_2).await;
            make(&mount, b"file", size, &[(0, pattern(size))]).await;
            let (summary, told) = copy(&mount, "file", "copy").await;
            assert!(files.plan.injected() > 0, "{size}, {error}");
            assert_eq!((summary.bytes, told), (size, size), "{size}, {error}: {summary:?}");
            assert_eq!(summary.server_bytes + summary.data_bytes, size, "{size}, {error}: {summary:?}");
            assert!(summary.server_bytes > 0 && summary.data_bytes > 0, "{size}, {error}: {summary:?}");
            assert!(bytes(&mount, "copy").await == pattern(size), "{size}, {error}");
        }
    }
}

#[tokio::test]
async fn copy_that_cannot_end_for_want_of_room_is_an_error_of_its_file() {
    for (error, status) in [("nospace", Status::NoSpace), ("quota", Status::Quota)] {
        for size in [SHORT, LONG] {
            let files = Files::new("");
            let export = Export::of(files.files.clone());
            let mount = export.mount(Version::V4_2).await;
            make(&mount, b"file", size, &[(0, pattern(size))]).await;
            files.plan.replace(format!("copy:error={error}@2+,write:error={error}@5+").parse::<Rules>().unwrap());
            let refused = between(&mount, b"file", &mount, b"copy", &CopyOptions::default()).await.unwrap_err();
            let CopyError::Remote(refused) = refused else { panic!("{refused}") };
            assert_eq!((refused.status(), refused.file()), (Some(status), Some(&b"copy"[..])), "{size}");
        }
    }
}

#[tokio::test]
async fn clone_and_copy_that_are_refused_are_asked_for_once() {
    let files = Files::new("clone:error=notsupported");
    let export = Export::of(files.files.clone());
    let mount = export.mount(Version::V4_2).await;
    let dir = mount.mkdir(&mount.root().handle, b"dir", &SetAttributes::default()).await.unwrap().handle;
    for name in ["dir/a", "dir/b", "dir/c"] {
        make(&mount, b"file", 5000, &[(0, pattern(5000))]).await;
        mount.rename(&mount.root().handle, b"file", &dir, &name.as_bytes()[4..]).await.unwrap();
    }
    let options = CopyOptions { files: 1, ..CopyOptions::default() };
    let summary = between(&mount, b"dir", &mount, b"copy", &options).await.unwrap();
    assert_eq!((summary.files, summary.server_bytes), (3, 15_000));
    assert_eq!(files.plan.calls(Operation::Clone), 1);
}

/// A mount with a long file, at whom no callback arrives.
async fn without_callbacks(files: &Files) -> (Export, Proxy, Mount) {
    let export = Export::of(files.files.clone());
    let proxy = Proxy::start(export.address()).await;
    let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
    let mount = Mount::connect(&url, &export.options(Version::V4_2)).await.unwrap();
    make(&mount, b"file", LONG, &[(0, pattern(LONG))]).await;
    proxy.lose_callbacks();
    (export, proxy, mount)
}

#[tokio::test]
async fn copy_whose_end_is_never_told_is_asked_for() {
    let files = Files::new("");
    let (_export, proxy, mount) = without_callbacks(&files).await;
    let (summary, told) = copy(&mount, "file", "copy").await;
    assert_eq!((summary.server_bytes, summary.data_bytes, told), (LONG, 0, LONG));
    assert!(proxy.count(OpNumber::OffloadStatus as u32) > 0);
    assert!(bytes(&mount, "copy").await == pattern(LONG));
}

#[tokio::test]
async fn failure_that_is_never_told_is_asked_for() {
    let files = Files::new("copy:error=io@2+");
    let (_export, _proxy, mount) = without_callbacks(&files).await;
    let (summary, told) = copy(&mount, "file", "copy").await;
    assert_eq!((summary.server_bytes + summary.data_bytes, told), (LONG, LONG));
    assert!(summary.server_bytes > 0 && summary.data_bytes > 0, "{summary:?}");
    assert!(bytes(&mount, "copy").await == pattern(LONG));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_restarts_while_it_copies_loses_nothing() {
    const SIZE: u64 = 40 * MIB;
    let files = Files::new("");
    let mut export = Export::restartable_of(files.files.clone(), Duration::from_secs(1));
    let mount = export.mount(Version::V4_2).await;
    make(&mount, b"file", SIZE, &[(0, pattern(SIZE))]).await;
    files.plan.replace("copy:delay=300ms".parse::<Rules>().unwrap());
    let told = Arc::<Told>::default();
    let (options, own) = (telling(&told), mount.clone());
    let copying = tokio::spawn(async move { between(&own, b"file", &own, b"copy", &options).await });
    while told.0.load(Ordering::Relaxed) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    export.restart();
    let summary = tokio::time::timeout(PATIENCE, copying).await.unwrap().unwrap().unwrap();
    assert_eq!((summary.bytes, told.0.load(Ordering::Relaxed)), (SIZE, SIZE));
    assert!(bytes(&mount, "copy").await == pattern(SIZE));
}

/// What a copy does that hears of its file before it reads it.
fn changing(files: &Files, change: Change) -> CopyOptions {
    let (files, done) = (Arc::clone(&files.files), AtomicU64::new(0));
    let progress = move |event: Event<'_>| {
        if matches!(event, Event::Found { .. }) && done.fetch_add(1, Ordering::Relaxed) == 0 {
            Files::change(&files, "file", change);
        }
    };
    CopyOptions { progress: Some(Arc::new(progress)), ..CopyOptions::default() }
}

#[tokio::test]
async fn file_that_grows_before_it_is_read_is_copied_to_its_end() {
    for version in [Version::V3, Version::V4_2] {
        let files = Files::new("");
        let export = Export::of(files.files.clone());
        let (mount, other) = (export.mount(version).await, export.mount(version).await);
        make(&mount, b"file", SHORT, &[(0, pattern(SHORT))]).await;
        let grown = [&pattern(SHORT)[..], b"and more"].concat();
        for (name, target) in [("same", &mount), ("other", &other)] {
            Files::change(&files.files, "file", Change::Cut(SHORT));
            let options = changing(&files, Change::Append(b"and more"));
            let summary = between(&mount, b"file", target, name.as_bytes(), &options).await.unwrap();
            assert_eq!(summary.bytes, grown.len() as u64, "{version}, {name}");
            assert!(bytes(&mount, name).await == grown, "{version}, {name}");
        }
        Files::change(&files.files, "file", Change::Cut(SHORT));
        let local = std::env::temp_dir().join(format!("wharf-growing-{}-{version}", std::process::id()));
        download(&mount, b"file", &local, &changing(&files, Change::Append(b"and more"))).await.unwrap();
        assert!(std::fs::read(&local).unwrap() == grown, "{version}");
        let longer = local.clone();
        let progress = move |event: Event<'_>| {
            if matches!(event, Event::Found { .. }) {
                std::io::Write::write_all(&mut std::fs::File::options().append(true).open(&longer).unwrap(), b", too")
                    .unwrap();
            }
        };
        let options = CopyOptions { progress: Some(Arc::new(progress)), ..CopyOptions::default() };
        upload(&mount, &local, b"up", &options).await.unwrap();
        std::fs::remove_file(&local).unwrap();
        assert!(bytes(&mount, "up").await == [&grown[..], b", too"].concat(), "{version}");
    }
}

/// Zeros in place of bytes that are gone would look like a copy.
#[tokio::test]
async fn file_that_is_cut_while_it_is_copied_is_an_error_and_never_filled_with_zeros() {
    for version in [Version::V3, Version::V4_2] {
        // The second one has holes, which are looked for by SEEK where there is one.
        for (size, data) in [(SHORT, SHORT), (8 * MIB, MIB)] {
            let files = Files::new("");
            let export = Export::of(files.files.clone());
            let (mount, other) = (export.mount(version).await, export.mount(version).await);
            make(&mount, b"file", size, &[(0, pattern(data)), (size - 5, pattern(5))]).await;
            let grow = || {
                Files::change(&files.files, "file", Change::Cut(size - 5));
                Files::change(&files.files, "file", Change::Append(b"12345"));
            };
            let cut = Change::Cut(size / 2);
            for (name, target) in [("same", &mount), ("other", &other)] {
                let refused = between(&mount, b"file", target, name.as_bytes(), &changing(&files, cut)).await;
                assert!(matches!(refused, Err(CopyError::Shrank { .. })), "{version}, {size}, {name}: {refused:?}");
                grow();
            }
            let local = std::env::temp_dir().join(format!("wharf-cut-{}-{version}-{size}", std::process::id()));
            let refused = download(&mount, b"file", &local, &changing(&files, cut)).await;
            assert!(matches!(refused, Err(CopyError::Shrank { .. })), "{version}, {size}: {refused:?}");
            std::fs::write(&local, pattern(size)).unwrap();
            let shorter = local.clone();
            let progress = move |event: Event<'_>| {
                if matches!(event, Event::Found { .. }) {
                    std::fs::File::options().write(true).open(&shorter).unwrap().set_len(size / 2).unwrap();
                }
            };
            let options = CopyOptions { progress: Some(Arc::new(progress)), ..CopyOptions::default() };
            // A local file's length is that of its opening, which comes later.
            upload(&mount, &local, b"up", &options).await.unwrap();
            std::fs::remove_file(&local).unwrap();
            assert!(bytes(&mount, "up").await == pattern(size)[..size as usize / 2], "{version}, {size}");
            mount.remove(&mount.root().handle, b"up").await.unwrap();
        }
    }
}

#[tokio::test]
async fn longer_target_is_cut_and_the_hole_at_the_end_stays_one() {
    for version in [Version::V2, Version::V3, Version::V4_0, Version::V4_2] {
        let export = Export::start();
        let (mount, other) = (export.mount(version).await, export.mount(version).await);
        make(&mount, b"file", 4 * MIB, &[(0, pattern(MIB))]).await;
        for (name, target) in [("same", &mount), ("other", &other)] {
            make(&mount, name.as_bytes(), 6 * MIB, &[(0, vec![0xff; 6 << 20])]).await;
            let options = CopyOptions { overwrite: true, verify: true, ..CopyOptions::default() };
            between(&mount, b"file", target, name.as_bytes(), &options).await.unwrap();
            let copy = find(target, name).await.attributes;
            assert_eq!(copy.size_bytes, 4 * MIB, "{version}, {name}");
            assert!(copy.used_bytes < 2 * MIB, "{version}, {name}: {copy:?}");
            let copied = bytes(target, name).await;
            assert!(copied[..1 << 20] == pattern(MIB) && copied[1 << 20..].iter().all(|byte| *byte == 0), "{version}");
        }
    }
}

/// RFC 7862 §15.2.3 and §15.13.3.
#[tokio::test]
async fn file_copies_within_itself_where_the_ranges_do_not_overlap() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    make(&mount, b"file", 10_000, &[(0, pattern(10_000))]).await;
    let file = mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap();
    for (from, to, count) in [(0, 5000, 5001), (5000, 0, 5001), (100, 100, 1), (0, 0, 0)] {
        let refused = file.copy_from(&file, from, to, count).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::Invalid), "{from} to {to}, {count}");
        let refused = file.begin_copy(&file, from, to, count).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::Invalid), "{from} to {to}, {count}");
        let refused = file.clone_from(&file, from, to, count).await.unwrap_err();
        assert!(matches!(refused.status(), Some(Status::Invalid | Status::NotSupported)), "{refused}");
    }
    assert_eq!(file.copy_from(&file, 0, 5000, 5000).await.unwrap().count, 5000);
    let copied = bytes(&mount, "file").await;
    assert!(copied[..5000] == copied[5000..] && copied[..5000] == pattern(10_000)[..5000]);
}
