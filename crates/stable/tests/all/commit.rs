//! COMMIT while everything is brought to storage and the log is trimmed.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use fs_host::{HostFs, HostOptions};
use stable::{AlignedBuffer, Device, MemoryDevice, Options, StableFs, WriteLog};
use testing::Scratch;
use vfs::{
    Attributes, Context, CreateMode, Error, FileSystem, Handle, Memory, Name, OpenFile, OpenMode, Place, Result,
    SetAttributes, Stability, Timestamp, Written,
};

const CX: Context<'static> = Context::ROOT;
const LOG_BYTES: usize = 1 << 20;
const HEADERS_END: u64 = 8192;
/// Stable writes of so many bytes are flushed, and not logged.
const LARGE: usize = 64 << 10;

/// Where threads wait until it is opened.
struct Gate {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    fn new(is_open: bool) -> Gate {
        Gate { state: Mutex::new((0, is_open)), changed: Condvar::new() }
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |(_, is_open)| !*is_open).unwrap());
    }

    fn set(&self, is_open: bool) {
        *self.state.lock().unwrap() = (0, is_open);
        self.changed.notify_all();
    }

    /// Waits until so many threads have come, at most for this time.
    fn wait_for(&self, threads: usize, time: Duration) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_timeout_while(state, time, |(come, _)| *come < threads).unwrap());
    }
}

const LONG: Duration = Duration::from_secs(60);

/// What stops the flush of the file system, the first sync of a file, the write of the log's header, and whoever has
/// read, written or resized a file.
struct Gates {
    flush: Gate,
    access: Gate,
    first_sync: Gate,
    header: Gate,
    /// How many files were synced one by one.
    syncs: AtomicUsize,
    /// Whether the flush ends while a file is being synced, so that the trim gets to the header.
    sync_ends_flush: bool,
    /// Whether the next flush of the file system fails.
    flush_fails: AtomicBool,
    /// Whether writes of the log's header fail.
    header_fails: AtomicBool,
}

impl Gates {
    fn new() -> Gates {
        let [flush, access, first_sync, header] = [true; 4].map(Gate::new);
        let [flush_fails, header_fails] = [false; 2].map(AtomicBool::new);
        let syncs = AtomicUsize::new(0);
        Gates { flush, access, first_sync, header, syncs, sync_ends_flush: false, flush_fails, header_fails }
    }
}

struct Gated {
    inner: Arc<dyn FileSystem>,
    gates: Arc<Gates>,
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Gated {
    vfs::forward!(FileSystem for self.inner:
        root, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        lookup, find, parent, read_link, hold, has_local_locks, open_for_locks, lease_break_time, lease, read_dir,
        create, make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs,
        remove_xattr, acls, set_acls, maintain, space, losses, log_marks, set_log_mark);

    /// Each is on a disk of its own.
    fn storage(&self) -> Option<u64> {
        None
    }

    fn memory(&self) -> Option<Memory> {
        Some(Memory { number: Arc::as_ptr(&self.gates).addr() as u64, since: Timestamp::default() })
    }

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        let inner = self.inner.open(cx, node, mode)?;
        Ok(Arc::new(GatedFile { inner, gates: Arc::clone(&self.gates) }))
    }

    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        let after = self.inner.set_attributes(cx, node, set);
        self.gates.access.pass();
        after
    }

    fn sync_all(&self, cx: &Context<'_>) -> Result<()> {
        self.gates.flush.pass();
        if self.gates.flush_fails.swap(false, Ordering::Relaxed) {
            return Err(Error::Io(io::Error::other("the disk is broken")));
        }
        self.inner.sync_all(cx)
    }
}

struct GatedFile {
    inner: Arc<dyn OpenFile>,
    gates: Arc<Gates>,
}

#[deny(clippy::missing_trait_methods)]
impl OpenFile for GatedFile {
    vfs::forward!(OpenFile for self.inner:
        read_lent, write_at, check_written, seek, allocate, deallocate, copy_range, clone_range, lock,
        test_lock, unlock, attributes, host_file, is_resident, evict);

    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        let count = self.inner.read_at(cx, offset_bytes, into);
        self.gates.access.pass();
        count
    }

    fn write_parts_at(
        &self,
        cx: &Context<'_>,
        offset_bytes: u64,
        parts: &[&[u8]],
        stability: Stability,
    ) -> Result<Written> {
        let written = self.inner.write_parts_at(cx, offset_bytes, parts, stability);
        self.gates.access.pass();
        written
    }

    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        let number = self.gates.syncs.fetch_add(1, Ordering::Relaxed);
        if self.gates.sync_ends_flush {
            self.gates.flush.set(true);
            self.gates.header.wait_for(1, LONG);
        }
        if number == 0 {
            self.gates.first_sync.pass();
        }
        self.inner.sync(cx)
    }
}

struct GatedDevice {
    inner: MemoryDevice,
    gates: Arc<Gates>,
}

impl GatedDevice {
    /// Another device with what this one stores now.
    fn copy(&self) -> MemoryDevice {
        let (copy, mut bytes) = (MemoryDevice::new(LOG_BYTES), AlignedBuffer::new(LOG_BYTES));
        self.inner.read_at(0, &mut bytes).unwrap();
        copy.write_at(0, &bytes).unwrap();
        copy
    }
}

impl Device for GatedDevice {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    fn block_bytes(&self) -> usize {
        self.inner.block_bytes()
    }

    fn read_at(&self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(offset_bytes, into)
    }

    fn write_at(&self, offset_bytes: u64, from: &[u8]) -> io::Result<()> {
        if offset_bytes < HEADERS_END {
            self.gates.header.pass();
            if self.gates.header_fails.load(Ordering::Relaxed) {
                return Err(io::Error::other("the disk is broken"));
            }
        }
        self.inner.write_at(offset_bytes, from)
    }
}

struct Site(Scratch);

impl Site {
    fn new() -> Site {
        Site(Scratch::new())
    }

    /// Starts with an export for each of these gates.
    fn serve<const N: usize>(
        &self,
        device: Arc<dyn Device>,
        gates: [&Arc<Gates>; N],
    ) -> (Arc<WriteLog>, [StableFs; N]) {
        let log = self.open(device);
        let mut number = 0;
        let exports = gates.map(|gates| {
            let name = format!("export{number}");
            let gated = Gated { inner: self.host(&name), gates: Arc::clone(gates) };
            number += 1;
            log.attach(Path::new(&name), Arc::new(gated)).unwrap().0
        });
        log.start().unwrap();
        (log, exports)
    }

    fn open(&self, device: Arc<dyn Device>) -> Arc<WriteLog> {
        let options = Options { always_replay: true, ..Options::new(self.0.path("state")) };
        WriteLog::open(device, options).unwrap()
    }

    fn host(&self, name: &str) -> Arc<HostFs> {
        let dir = self.0.path(name);
        std::fs::create_dir_all(&dir).unwrap();
        let state_dir = Some(self.0.path("state").join(name));
        Arc::new(HostFs::open(&dir, HostOptions { state_dir, sync_metadata: false, ..HostOptions::default() }).unwrap())
    }

    /// Starts after a power failure that left this of the log, and reads the first bytes of a file.
    fn read_after_replay<const N: usize>(&self, left: MemoryDevice, (at, file): (usize, &Handle)) -> [u8; 5] {
        let (gates, left) = (Arc::new(Gates::new()), Arc::new(left));
        // The server went on after the copy was made, so that this is an old copy.
        let log = self.open(left.clone());
        (0..N).map(|number| format!("export{number}")).for_each(|name| {
            log.adopt(Path::new(&name), self.host(&name)).unwrap();
        });
        drop(log);
        let (log, exports) = self.serve(left, [&gates; N]);
        let mut data = [0; 5];
        open(&exports[at], file).read_at(&CX, 0, &mut data).unwrap();
        log.close();
        data
    }
}

fn new_device(gates: &Arc<Gates>) -> Arc<GatedDevice> {
    let device = Arc::new(GatedDevice { inner: MemoryDevice::new(LOG_BYTES), gates: Arc::clone(gates) });
    WriteLog::create(device.clone()).unwrap();
    device
}

fn open(fs: &StableFs, file: &Handle) -> Arc<dyn OpenFile> {
    fs.open(&CX, file, OpenMode::Write).unwrap()
}

fn create(fs: &StableFs) -> Handle {
    let place = Place { dir: fs.root(), name: Name::new(b"file").unwrap() };
    fs.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap().handle
}

/// Makes a file with stable data, and writes newer ones over them unstably.
fn write_over(fs: &StableFs) -> (Handle, Arc<dyn OpenFile>) {
    let handle = create(fs);
    let file = open(fs, &handle);
    file.write_at(&CX, 0, b"older", Stability::File).unwrap();
    file.write_at(&CX, 0, b"newer", Stability::Unstable).unwrap();
    (handle, file)
}

#[test]
fn older_data_of_a_log_that_is_not_trimmed_yet_are_not_written_over_committed_ones() {
    let site = Site::new();
    let gates = Arc::new(Gates { sync_ends_flush: true, ..Gates::new() });
    let device = new_device(&gates);
    let (log, [fs]) = site.serve(device.clone(), [&gates]);
    let (handle, file) = write_over(&fs);
    gates.flush.set(false);
    gates.header.set(false);
    let left = thread::scope(|scope| {
        let trim = scope.spawn(|| log.drain());
        gates.flush.wait_for(1, LONG);
        // The flush ends while this waits for the file, and the machine stops before the log is trimmed.
        file.sync(&CX).unwrap();
        let left = device.copy();
        gates.header.set(true);
        trim.join().unwrap().unwrap();
        left
    });
    log.close();
    assert_eq!(site.read_after_replay::<1>(left, (0, &handle)), *b"newer");
}

#[test]
fn commit_between_a_flush_and_the_trim_makes_older_data_of_the_log_obsolete() {
    let site = Site::new();
    let gates = Arc::new(Gates::new());
    let device = new_device(&gates);
    let (log, [fs]) = site.serve(device.clone(), [&gates]);
    let (handle, file) = write_over(&fs);
    gates.header.set(false);
    let left = thread::scope(|scope| {
        let trim = scope.spawn(|| log.drain());
        gates.header.wait_for(1, LONG);
        file.sync(&CX).unwrap();
        let left = device.copy();
        gates.header.set(true);
        trim.join().unwrap().unwrap();
        left
    });
    log.close();
    assert_eq!(site.read_after_replay::<1>(left, (0, &handle)), *b"newer");
}

#[test]
fn commit_after_the_storage_of_another_export_has_failed_makes_older_data_of_the_log_obsolete() {
    let site = Site::new();
    let [gates, other] = [Gates::new(), Gates::new()].map(Arc::new);
    let device = new_device(&gates);
    let (log, [fs, _other]) = site.serve(device.clone(), [&gates, &other]);
    let (handle, file) = write_over(&fs);
    other.flush_fails.store(true, Ordering::Relaxed);
    log.drain().unwrap_err();
    file.sync(&CX).unwrap();
    let left = device.copy();
    log.close();
    assert_eq!(site.read_after_replay::<2>(left, (0, &handle)), *b"newer");
}

#[test]
fn commit_of_what_a_trim_has_flushed_makes_older_data_behind_the_trim_obsolete() {
    let site = Site::new();
    let [other, gates] = [Gates::new(), Gates::new()].map(Arc::new);
    let device = new_device(&gates);
    let (log, [_other, fs]) = site.serve(device.clone(), [&other, &gates]);
    other.flush.set(false);
    let (handle, file) = thread::scope(|scope| {
        let trim = scope.spawn(|| log.drain());
        other.flush.wait_for(1, LONG);
        // The trim leaves these records, and flushes the file.
        let written = write_over(&fs);
        other.flush.set(true);
        trim.join().unwrap().unwrap();
        written
    });
    file.sync(&CX).unwrap();
    let left = device.copy();
    log.close();
    assert_eq!(site.read_after_replay::<2>(left, (1, &handle)), *b"newer");
}

/// Lets a caller make an older change, which is not logged before another caller has written newer data over it, the
/// log was trimmed, and the newer data were committed. They must be there after a power failure.
fn check_that_older_change_is_not_made_again(older: impl FnOnce(&StableFs, &Handle) -> Result<()> + Send) {
    let site = Site::new();
    let gates = Arc::new(Gates::new());
    let device = new_device(&gates);
    let (log, [fs]) = site.serve(device.clone(), [&gates]);
    let handle = create(&fs);
    let file = open(&fs, &handle);
    file.write_at(&CX, 0, b"first", Stability::Unstable).unwrap();
    gates.access.set(false);
    thread::scope(|scope| {
        let older = scope.spawn(|| older(&fs, &handle));
        gates.access.wait_for(1, LONG);
        file.write_at(&CX, 0, b"newer", Stability::Unstable).unwrap();
        log.drain().unwrap();
        gates.access.set(true);
        older.join().unwrap().unwrap();
    });
    file.sync(&CX).unwrap();
    let left = device.copy();
    log.close();
    assert_eq!(site.read_after_replay::<1>(left, (0, &handle)), *b"newer");
}

#[test]
fn data_that_a_commit_has_read_are_not_written_over_newer_ones_of_a_trim() {
    check_that_older_change_is_not_made_again(|fs, file| open(fs, file).sync(&CX));
}

#[test]
fn stable_write_is_not_made_again_over_newer_data_of_a_trim() {
    check_that_older_change_is_not_made_again(|fs, file| {
        open(fs, file).write_at(&CX, 0, b"older", Stability::File).map(drop)
    });
}

#[test]
fn size_is_not_set_again_over_newer_data_of_a_trim() {
    check_that_older_change_is_not_made_again(|fs, file| {
        let set = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
        fs.set_attributes(&CX, file, &set).map(drop)
    });
}

#[test]
fn time_of_a_file_is_not_set_back_to_that_of_a_record_behind_a_trim() {
    let site = Site::new();
    let [other, gates] = [Gates::new(), Gates::new()].map(Arc::new);
    let device = new_device(&gates);
    let (log, [_other, fs]) = site.serve(device.clone(), [&other, &gates]);
    let modified = |fs: &StableFs, file: &Handle| {
        let time = fs.attributes(&CX, file).unwrap().modified;
        (time.seconds, time.nanoseconds)
    };
    other.flush.set(false);
    let (handle, written_at) = thread::scope(|scope| {
        let trim = scope.spawn(|| log.drain());
        other.flush.wait_for(1, LONG);
        // The trim leaves the record of the new file, and flushes the file.
        let handle = create(&fs);
        let made_at = modified(&fs, &handle);
        while modified(&fs, &handle) == made_at {
            open(&fs, &handle).write_at(&CX, 0, b"data", Stability::Unstable).unwrap();
        }
        other.flush.set(true);
        trim.join().unwrap().unwrap();
        let written_at = modified(&fs, &handle);
        (handle, written_at)
    });
    open(&fs, &handle).sync(&CX).unwrap();
    let left = device.copy();
    log.close();
    let gates = Arc::new(Gates::new());
    let (log, [_other, fs]) = site.serve(Arc::new(left), [&gates; 2]);
    assert!(modified(&fs, &handle) >= written_at);
    log.close();
}

#[test]
fn data_that_were_flushed_are_kept_though_a_flush_that_began_earlier_is_recorded_later() {
    let site = Site::new();
    let gates = Arc::new(Gates::new());
    let device = new_device(&gates);
    let (log, [fs]) = site.serve(device.clone(), [&gates]);
    let handle = create(&fs);
    let file = open(&fs, &handle);
    gates.first_sync.set(false);
    thread::scope(|scope| {
        let first = scope.spawn(|| file.write_at(&CX, 0, &[b'1'; LARGE], Stability::File));
        gates.first_sync.wait_for(1, LONG);
        file.write_at(&CX, 0, b"older", Stability::File).unwrap();
        let records = log.status().records;
        let second = scope.spawn(|| file.write_at(&CX, 0, &[b'2'; LARGE], Stability::File));
        while log.status().records == records {
            thread::yield_now();
        }
        gates.first_sync.set(true);
        for write in [first, second] {
            write.join().unwrap().unwrap();
        }
    });
    let left = device.copy();
    log.close();
    assert_eq!(site.read_after_replay::<1>(left, (0, &handle)), [b'2'; 5]);
}

/// Has a COMMIT take this many unstable bytes, and checks that another one waits until it has flushed them.
fn check_that_second_commit_waits(bytes: usize, before_write: impl FnOnce(&Gates, &WriteLog)) {
    let site = Site::new();
    let gates = Arc::new(Gates::new());
    let device = new_device(&gates);
    let (log, [fs]) = site.serve(device.clone(), [&gates]);
    let handle = create(&fs);
    let file = open(&fs, &handle);
    before_write(&gates, &log);
    file.write_at(&CX, 0, &vec![b'd'; bytes], Stability::Unstable).unwrap();
    gates.flush.set(false);
    gates.first_sync.set(false);
    let second_has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let first = scope.spawn(|| file.sync(&CX));
        gates.first_sync.wait_for(1, LONG);
        let second = scope.spawn(|| {
            let synced = open(&fs, &handle).sync(&CX);
            second_has_ended.store(true, Ordering::Relaxed);
            synced
        });
        thread::sleep(Duration::from_millis(50));
        let is_safe = !second_has_ended.load(Ordering::Relaxed) || gates.syncs.load(Ordering::Relaxed) > 1;
        gates.first_sync.set(true);
        gates.flush.set(true);
        [first, second].into_iter().for_each(|commit| commit.join().unwrap().unwrap());
        assert!(is_safe, "the second COMMIT was answered while the first one had not flushed the data");
    });
    log.close();
}

#[test]
fn commit_waits_for_another_one_that_has_taken_the_same_data() {
    check_that_second_commit_waits(1 << 18, |_, _| ());
}

#[test]
fn commit_waits_for_another_one_that_has_taken_the_same_data_for_a_log_that_has_failed() {
    check_that_second_commit_waits(100, |gates, log| {
        gates.header_fails.store(true, Ordering::Relaxed);
        log.drain().unwrap_err();
    });
}

#[test]
fn commit_waits_for_storage_while_two_trims_run() {
    let site = Site::new();
    let gates = Arc::new(Gates::new());
    let device = new_device(&gates);
    let (log, [fs]) = site.serve(device, [&gates]);
    let handle = create(&fs);
    let file = open(&fs, &handle);
    file.write_at(&CX, 0, b"data", Stability::Unstable).unwrap();
    gates.flush.set(false);
    thread::scope(|scope| {
        let trims = [0, 1].map(|_| scope.spawn(|| log.drain()));
        // The second one may have to wait for the first.
        gates.flush.wait_for(2, Duration::from_millis(100));
        let end = log.status().records;
        file.sync(&CX).unwrap();
        let is_safe = gates.syncs.load(Ordering::Relaxed) > 0 || log.status().records > end;
        gates.flush.set(true);
        trims.into_iter().for_each(|trim| trim.join().unwrap().unwrap());
        assert!(is_safe, "COMMIT was answered, and the data are neither in storage nor in the log");
    });
    log.close();
}
