//! The cache of open files: what it saves, and what it must not change.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fs_fault::{FaultFs, FaultPlan, Operation};
use fs_mem::MemFs;
use proto::nfs3::{FileHandle, StableHow, Status};
use server::{Connections, Delivery, ExportOptions, OpenFileCounts, Server, Settings};
use vfs::{Context, FileSystem, Name, OpenMode, Place, SetAttributes, Stability};

use testing::caller::nfs3::{at, failure, mode, size, success};
use testing::caller::{Caller, EXPORT, export, export_with, memory, settings};

/// A server of files in memory that counts what it does to them.
struct Counted {
    server: Server,
    calls: FaultPlan,
    files: Arc<MemFs>,
}

impl Counted {
    fn new() -> Counted {
        Counted::with(settings())
    }

    fn with(settings: Settings) -> Counted {
        let (files, calls) = (memory(), FaultPlan::default());
        let export = export(EXPORT, Arc::new(FaultFs::new(files.clone(), calls.clone())));
        Counted { server: Server::new(settings, vec![export]).unwrap(), calls, files }
    }

    fn caller(&self) -> Caller<'_> {
        Caller::root(&self.server)
    }

    /// A file of ten bytes that nobody has opened.
    fn file(&self, name: &str) -> FileHandle {
        let caller = self.caller();
        let file = caller.make_file(&caller.mount(), name);
        success(caller.setattr(&file, size(10)));
        file
    }

    fn opens(&self) -> u64 {
        self.calls.calls(Operation::Open)
    }

    fn counts(&self) -> OpenFileCounts {
        self.server.open_files()
    }
}

#[test]
fn file_is_opened_once_for_reading_and_once_for_writing() {
    let counted = Counted::new();
    let (caller, file) = (counted.caller(), counted.file("f"));
    for offset in 0..10 {
        success(caller.read(&file, offset, 1));
        success(caller.write(&file, offset, StableHow::Unstable, b"x"));
    }
    assert_eq!(counted.opens(), 2);
    let counts = counted.counts();
    assert_eq!((counts.open, counts.hits, counts.misses), (2, 18, 2));
}

#[test]
fn cache_of_no_files_opens_and_closes_one_for_each_call() {
    let counted = Counted::with(Settings { open_files_per_worker: 0, ..settings() });
    let (caller, file) = (counted.caller(), counted.file("f"));
    for _ in 0..5 {
        success(caller.read(&file, 0, 1));
    }
    let counts = counted.counts();
    assert_eq!((counted.opens(), counts.open, counts.hits, counts.misses), (5, 0, 0, 5));
}

#[test]
fn permission_is_asked_for_each_call_though_the_file_is_open() {
    let counted = Counted::new();
    let file = counted.file("f");
    let user = counted.caller().user(1000, 1000, &[]);
    success(counted.caller().setattr(&file, mode(0o666)));
    success(user.read(&file, 0, 1));
    success(user.write(&file, 0, StableHow::Unstable, b"x"));
    success(counted.caller().setattr(&file, mode(0o600)));
    assert_eq!(failure(user.read(&file, 0, 1)), Status::Acces);
    assert_eq!(failure(user.write(&file, 0, StableHow::Unstable, b"x")), Status::Acces);
}

#[test]
fn export_is_asked_for_each_call_though_the_file_is_open() {
    let counted = Counted::new();
    let (caller, file) = (counted.caller(), counted.file("f"));
    success(caller.write(&file, 0, StableHow::Unstable, b"x"));
    let read_only = ExportOptions { read_only: true, ..ExportOptions::default() };
    counted.server.reload(vec![export_with(EXPORT, counted.files.clone(), read_only)]).unwrap();
    assert_eq!(failure(caller.write(&file, 0, StableHow::Unstable, b"x")), Status::RoFs);
    counted.server.reload(Vec::new()).unwrap();
    assert_eq!(failure(caller.read(&file, 0, 1)), Status::Stale);
    assert_eq!((counted.counts().open, counted.counts().purged), (0, 1), "what is not exported is closed");
}

#[test]
fn attributes_and_bytes_are_those_of_now_though_somebody_else_changed_the_file() {
    let counted = Counted::new();
    let (caller, file) = (counted.caller(), counted.file("f"));
    success(caller.read(&file, 0, 1));
    let place = Place { dir: counted.files.root(), name: Name::new(b"f").unwrap() };
    let local = counted.files.lookup(&Context::ROOT, place).unwrap().handle;
    let open = counted.files.open(&Context::ROOT, &local, OpenMode::Write).unwrap();
    open.write_at(&Context::ROOT, 0, b"longer than ten bytes", Stability::File).unwrap();
    let read = success(caller.read(&file, 0, 100));
    assert_eq!((read.data, read.head.attributes.unwrap().size), (&b"longer than ten bytes"[..], 21));
    counted
        .files
        .set_attributes(&Context::ROOT, &local, &SetAttributes { size_bytes: Some(3), ..SetAttributes::default() })
        .unwrap();
    assert_eq!(success(caller.read(&file, 0, 100)).data, b"lon");
    assert_eq!(counted.opens(), 1);
}

#[test]
fn file_that_has_its_number_from_one_that_is_gone_is_another_file() {
    let counted = Counted::new();
    let caller = counted.caller();
    let root = caller.mount();
    let first = counted.file("f");
    success(caller.read(&first, 0, 1));
    success(caller.remove(&root, "f"));
    for number in 0..20 {
        success(caller.read(&counted.file(&format!("f{number}")), 0, 1));
        assert_eq!(failure(caller.read(&first, 0, 1)), Status::Stale);
    }
}

#[test]
fn rename_keeps_the_open_file_and_the_last_unlink_closes_it() {
    let counted = Counted::new();
    let (caller, file) = (counted.caller(), counted.file("f"));
    let root = caller.mount();
    success(caller.read(&file, 0, 1));
    success(caller.rename(at(&root, "f"), at(&root, "g")));
    success(caller.read(&file, 0, 1));
    assert_eq!((counted.opens(), counted.counts().open), (1, 1));
    success(caller.remove(&root, "g"));
    assert_eq!((counted.counts().open, counted.counts().purged), (0, 1));
}

#[test]
fn open_that_failed_is_tried_again_by_the_next_call() {
    let counted = Counted::new();
    let (caller, file) = (counted.caller(), counted.file("f"));
    counted.calls.replace(vec!["open:error=io@1".parse().unwrap()]);
    assert_eq!(failure(caller.read(&file, 0, 1)), Status::Io);
    success(caller.read(&file, 0, 1));
    assert_eq!(counted.opens(), 2);
}

#[test]
fn file_that_was_used_stays_when_another_has_to_make_room() {
    let counted = Counted::with(Settings { open_files_per_worker: 3, ..settings() });
    let caller = counted.caller();
    let files: Vec<FileHandle> = (0..4).map(|number| counted.file(&format!("f{number}"))).collect();
    success(caller.read(&files[0], 0, 1));
    for file in &files[1..] {
        success(caller.read(&files[0], 0, 1));
        success(caller.read(file, 0, 1));
    }
    assert_eq!((counted.counts().open, counted.counts().evicted), (3, 1));
    let before = counted.opens();
    success(caller.read(&files[0], 0, 1));
    assert_eq!(counted.opens(), before, "the one that was used is still open");
    success(caller.read(&files[1], 0, 1));
    assert_eq!(counted.opens(), before + 1);
}

#[test]
fn no_more_files_stay_open_than_all_workers_together_may_have() {
    let counted = Counted::with(Settings { max_open_files: 3, ..settings() });
    let files: Vec<FileHandle> = (0..8).map(|number| counted.file(&format!("f{number}"))).collect();
    for file in &files {
        success(counted.caller().read(file, 0, 1));
        assert!(counted.counts().open <= 3);
    }
    assert_eq!((counted.counts().open, counted.counts().evicted), (3, 5));
}

/// So many connections are open.
struct Open(Arc<AtomicUsize>);

impl Connections for Open {
    fn delivery(&self, _: u64, _: Duration) -> Delivery {
        Delivery::Pending
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn files_use_the_descriptors_that_connections_leave_and_give_them_back() {
    let counted =
        Counted::with(Settings { max_open_files: 3, open_files_beside_connections: 10, workers: 2, ..settings() });
    let connections = Arc::new(AtomicUsize::new(2));
    counted.server.watch_connections(Box::new(Open(Arc::clone(&connections))));
    let files: Vec<FileHandle> = (0..20).map(|number| counted.file(&format!("f{number}"))).collect();
    let read_all = || {
        for file in &files {
            success(counted.caller().read(file, 0, 1));
        }
    };
    let open_with = |count: usize| {
        connections.store(count, Ordering::Relaxed);
        counted.server.tick(counted.caller().now);
        counted.counts().open
    };
    read_all();
    assert_eq!(counted.counts().open, 3, "before anybody has counted the connections");
    for (count, most) in [(0, 13), (2, 9), (4, 5), (5, 3), (1000, 3), (1, 11)] {
        open_with(count);
        read_all();
        assert_eq!(counted.counts().open, most, "with {count} connections");
    }
    assert_eq!(open_with(4), 5, "files are closed without a call that needs one");
}

#[test]
fn file_that_nobody_uses_is_closed_after_the_idle_time_and_one_in_use_is_not() {
    let counted = Counted::with(Settings { open_file_idle: Duration::from_secs(10), ..settings() });
    let (used, unused) = (counted.file("used"), counted.file("unused"));
    let at = |seconds| counted.caller().later(seconds);
    counted.server.tick(at(0).now);
    success(at(1).read(&used, 0, 1));
    success(at(1).read(&unused, 0, 1));
    for seconds in [5, 10, 15, 20] {
        success(at(seconds).read(&used, 0, 1));
        counted.server.tick(at(seconds).now);
    }
    let counts = counted.counts();
    assert_eq!((counts.open, counts.idle, counted.opens()), (1, 1, 2));
    assert!((9_000..=20_000).contains(&counts.closed_age_ms), "{} ms", counts.closed_age_ms);
}
