//! Storage that fails to take changes, says so once, and then takes others as if nothing were missing.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use fs_host::{HostFs, HostOptions};
use stable::{Options, Replayed, StableFs, WriteLog, WriteLogError};
use testing::Scratch;
use vfs::{
    Attributes, Context, CreateMode, Error, FileSystem, Handle, Memory, Name, OpenFile, OpenMode, Place, Result,
    SetAttributes, Stability, Timestamp,
};

use crate::breaking::Breaking;

const CX: Context<'static> = Context::ROOT;

struct Failing {
    inner: Arc<dyn FileSystem>,
    memory: u64,
    /// Whether the next flush fails, of a file or of all.
    fails: Arc<AtomicBool>,
    /// How many times the kernel has no memory when a file is looked at.
    shortages: Arc<AtomicU32>,
    /// Whether pages of files stay in memory, as those that a program has mapped.
    keeps_pages: Arc<AtomicBool>,
}

fn fail_once(fails: &AtomicBool) -> Result<()> {
    if fails.swap(false, Ordering::Relaxed) { Err(Error::Io(io::Error::other("the disk is broken"))) } else { Ok(()) }
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Failing {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, access, set_attributes,
        lookup, find, parent, read_link, hold, has_local_locks, open_for_locks, lease_break_time, lease, read_dir,
        create, make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs,
        remove_xattr, acls, set_acls, maintain, space, losses, log_marks, set_log_mark);

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        let inner = self.inner.open(cx, node, mode)?;
        let (fails, keeps_pages) = (Arc::clone(&self.fails), Arc::clone(&self.keeps_pages));
        Ok(Arc::new(FailingFile { inner, fails, keeps_pages }))
    }

    fn attributes(&self, cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
        match self.shortages.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1)) {
            Ok(_) => Err(Error::TryLater(io::Error::from(io::ErrorKind::OutOfMemory))),
            Err(_) => self.inner.attributes(cx, node),
        }
    }

    fn sync_all(&self, cx: &Context<'_>) -> Result<()> {
        fail_once(&self.fails)?;
        self.inner.sync_all(cx)
    }

    fn memory(&self) -> Option<Memory> {
        Some(Memory { number: self.memory, since: Timestamp::default() })
    }
}

struct FailingFile {
    inner: Arc<dyn OpenFile>,
    fails: Arc<AtomicBool>,
    keeps_pages: Arc<AtomicBool>,
}

#[deny(clippy::missing_trait_methods)]
impl OpenFile for FailingFile {
    vfs::forward!(OpenFile for self.inner:
        read_at, read_lent, write_at, write_parts_at, check_written, seek, allocate, deallocate, copy_range, clone_range, lock,
        test_lock, unlock, attributes, host_file, is_resident);

    fn evict(&self, range_bytes: Range<u64>) -> bool {
        !self.keeps_pages.load(Ordering::Relaxed) && self.inner.evict(range_bytes)
    }

    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        fail_once(&self.fails)?;
        self.inner.sync(cx)
    }
}

struct Site {
    base: Scratch,
    device: Arc<Breaking>,
    fails: Arc<AtomicBool>,
    shortages: Arc<AtomicU32>,
    keeps_pages: Arc<AtomicBool>,
    /// Changes when the machine is started again.
    memory: u64,
}

type Served = (StableFs, Replayed, Arc<WriteLog>);

impl Site {
    fn new() -> Site {
        let base = Scratch::new();
        base.dir("export");
        let device = Breaking::new(1 << 20);
        WriteLog::create(device.clone()).unwrap();
        Site { base, device, fails: Arc::default(), shortages: Arc::default(), keeps_pages: Arc::default(), memory: 1 }
    }

    fn options(&self) -> Options {
        Options::new(self.base.path("state"))
    }

    fn serve(&self) -> std::result::Result<Served, WriteLogError> {
        self.serve_with(self.options())
    }

    fn serve_with(&self, options: Options) -> std::result::Result<Served, WriteLogError> {
        let state = options.state_dir.clone();
        let log = WriteLog::open(self.device.clone(), options).unwrap();
        let host = HostOptions { state_dir: Some(state), sync_metadata: false, ..HostOptions::default() };
        let inner = Arc::new(HostFs::open(&self.base.path("export"), host).unwrap());
        let (fails, shortages) = (Arc::clone(&self.fails), Arc::clone(&self.shortages));
        let failing =
            Failing { inner, memory: self.memory, fails, shortages, keeps_pages: Arc::clone(&self.keeps_pages) };
        let (fs, replayed) = log.attach(Path::new("export"), Arc::new(failing))?;
        log.start().unwrap();
        Ok((fs, replayed, log))
    }

    fn fail(&self) {
        self.fails.store(true, Ordering::Relaxed);
    }

    /// Loses what the storage has failed to take.
    fn lose(&self) {
        fs::write(self.base.path("export/file"), "").unwrap();
    }

    fn content(&self) -> String {
        fs::read_to_string(self.base.path("export/file")).unwrap()
    }
}

fn lookup(fs: &StableFs) -> Handle {
    fs.lookup(&CX, Place { dir: fs.root(), name: Name::new(b"file").unwrap() }).unwrap().handle
}

/// Writes to a file in a way that only the log keeps.
fn write(fs: &StableFs) -> Arc<dyn OpenFile> {
    let place = Place { dir: fs.root(), name: Name::new(b"file").unwrap() };
    let handle = fs.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap().handle;
    let file = fs.open(&CX, &handle, OpenMode::Write).unwrap();
    file.write_at(&CX, 0, b"stable", Stability::File).unwrap();
    file
}

#[test]
fn log_keeps_what_storage_has_lost_and_the_next_start_makes_it_again() {
    let site = Site::new();
    let (fs, _, log) = site.serve().unwrap();
    let file = write(&fs);
    site.fail();
    let first = log.drain().unwrap_err();
    assert!(matches!(first, WriteLogError::Storage { .. }), "{first}");
    // Storage does not fail twice, and has not what it lost.
    let second = log.drain().unwrap_err();
    assert!(matches!(second, WriteLogError::Lost { .. }), "{second}");
    for said in [first, second].map(|error| error.to_string()) {
        assert!(said.contains("unmount the file system, check it and mount it again; then start"), "{said}");
    }
    let refused = file.write_at(&CX, 0, b"later", Stability::File);
    assert!(matches!(refused, Err(Error::Io(_))), "{refused:?}");
    let read = file.read_at(&CX, 0, &mut [0; 6]);
    assert!(matches!(read, Err(Error::Io(_))), "the memory may have lost the data, too: {read:?}");
    log.close();
    site.lose();
    let (_fs, replayed, log) = site.serve().unwrap();
    assert!(replayed.compared);
    assert_eq!(site.content(), "stable");
    log.drain().unwrap();
    log.close();
}

#[test]
fn replay_begins_again_when_the_kernel_has_no_memory_for_a_moment() {
    let mut site = Site::new();
    let (fs, _, log) = site.serve().unwrap();
    write(&fs);
    log.close();
    drop((fs, log));
    site.lose();
    site.memory = 2;
    site.shortages.store(2, Ordering::Relaxed);
    let (_fs, replayed, log) = site.serve().unwrap();
    assert!(replayed.compared);
    assert_eq!(site.content(), "stable");
    log.close();
}

#[test]
fn handle_of_a_recreated_file_is_kept_when_the_kernel_has_no_memory_for_a_moment() {
    let mut site = Site::new();
    let (fs, _, log) = site.serve().unwrap();
    write(&fs);
    let handle = lookup(&fs);
    log.close();
    drop((fs, log));
    fs::remove_file(site.base.path("export/file")).unwrap();
    site.memory = 2;
    let (fs, replayed, log) = site.serve().unwrap();
    assert_eq!((replayed.made, lookup(&fs)), (1, handle));
    log.close();
    drop((fs, log));
    site.shortages.store(1, Ordering::Relaxed);
    let (fs, _, log) = site.serve().unwrap();
    assert_eq!(site.shortages.load(Ordering::Relaxed), 0);
    fs.attributes(&CX, &handle).unwrap();
    log.close();
}

#[test]
fn change_that_waits_for_room_in_the_log_has_it_trimmed_below_the_high_water_mark_too() {
    let site = Site::new();
    let options = Options { high_water: 2.0, max_age: Duration::from_secs(3600), ..site.options() };
    let (fs, _, log) = site.serve_with(options).unwrap();
    log.trim_in_background().unwrap();
    let file = write(&fs);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for _ in 0..30 {
            file.write_at(&CX, 0, &[1; 50_000], Stability::File).unwrap();
        }
        sender.send(()).unwrap();
    });
    receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(log.status().stalls > 0);
    log.close();
}

#[test]
fn change_that_waits_for_room_in_the_log_is_refused_when_storage_fails() {
    let site = Site::new();
    let (fs, _, log) = site.serve().unwrap();
    let file = write(&fs);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        while file.write_at(&CX, 0, &[1; 100_000], Stability::File).is_ok() {}
        sender.send(()).unwrap();
    });
    while log.status().stalls == 0 {
        thread::yield_now();
    }
    site.fail();
    log.drain().unwrap_err();
    receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    log.close();
}

#[test]
fn commit_that_fails_does_not_make_older_records_useless() {
    let site = Site::new();
    let (fs, _, log) = site.serve().unwrap();
    let file = write(&fs);
    // More than the log takes.
    file.write_at(&CX, 6, &[0; 1 << 18], Stability::Unstable).unwrap();
    site.fail();
    file.sync(&CX).unwrap_err();
    file.sync(&CX).unwrap_err();
    log.close();
    site.lose();
    let (_fs, _, log) = site.serve().unwrap();
    assert!(site.content().starts_with("stable"));
    log.close();
}

#[test]
fn start_that_storage_tells_of_a_loss_compares_the_data_and_goes_on() {
    let site = Site::new();
    let (fs, _, log) = site.serve().unwrap();
    drop(write(&fs));
    log.close();
    drop((fs, log));
    site.fail();
    let (_fs, replayed, log) = site.serve().unwrap();
    assert_eq!((replayed.compared, replayed.checked_bytes), (false, 6));
    assert_eq!(site.content(), "stable");
    log.close();
}

#[test]
fn data_whose_pages_cannot_be_evicted_are_written_again() {
    let site = Site::new();
    let (fs, _, log) = site.serve().unwrap();
    drop(write(&fs));
    log.close();
    drop((fs, log));
    let modified = fs::metadata(site.base.path("export/file")).unwrap().modified().unwrap();
    site.keeps_pages.store(true, Ordering::Relaxed);
    let (_fs, replayed, log) = site.serve().unwrap();
    assert_eq!((replayed.data_bytes, replayed.set_aside), (6, 0));
    assert_eq!(fs::metadata(site.base.path("export/file")).unwrap().modified().unwrap(), modified);
    log.close();
}

#[test]
fn nothing_is_changed_when_the_log_fails_and_storage_too() {
    let site = Site::new();
    let (fs, _, log) = site.serve().unwrap();
    let file = write(&fs);
    site.device.set_broken(true);
    site.fail();
    // Storage would take the later one, and the next start would make older changes over it.
    for data in [b"second", b"third!"] {
        file.write_at(&CX, 0, data, Stability::File).unwrap_err();
    }
    log.close();
    drop((fs, log, file));
    site.device.set_broken(false);
    site.lose();
    let (_fs, replayed, log) = site.serve().unwrap();
    assert!(replayed.compared);
    assert_eq!(site.content(), "stable");
    log.close();
}

#[test]
fn records_of_a_later_start_are_not_made_again_because_storage_failed_before() {
    let site = Site::new();
    let (fs, _, log) = site.serve().unwrap();
    let file = write(&fs);
    site.device.set_broken(true);
    site.fail();
    file.write_at(&CX, 0, b"second", Stability::File).unwrap_err();
    log.close();
    site.device.set_broken(false);
    let (fs, replayed, log) = site.serve().unwrap();
    assert!(replayed.compared);
    fs.set_attributes(&CX, &lookup(&fs), &SetAttributes { mode: Some(0o600), ..SetAttributes::default() }).unwrap();
    log.close();
    let (_fs, replayed, log) = site.serve().unwrap();
    assert!(replayed.records > 0 && !replayed.compared, "the machine still has everything");
    log.close();
}

#[test]
fn nothing_is_changed_when_storage_fails_after_the_log() {
    let site = Site::new();
    let (fs, _, log) = site.serve().unwrap();
    let file = write(&fs);
    site.device.set_broken(true);
    file.write_at(&CX, 0, b"second", Stability::File).unwrap();
    site.fail();
    file.write_at(&CX, 0, b"third!", Stability::File).unwrap_err();
    // Storage has reported the loss to one caller, and others may have lost changes too.
    file.write_at(&CX, 0, b"fourth", Stability::File).unwrap_err();
    log.close();
}
