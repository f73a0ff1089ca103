//! COMMIT while everything is brought to storage and the log is trimmed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use fs_host::{HostFs, HostOptions};
use stable::{AlignedBuffer, Device, MemoryDevice, Options, StableFs, WriteLog};
use vfs::{Context, CreateMode, FileSystem, Handle, Name, OpenFile, OpenMode, Place, Result, SetAttributes, Stability};

const CX: Context<'static> = Context::ROOT;
const LOG_BYTES: usize = 1 << 20;
const HEADERS_END: u64 = 8192;

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

/// What stops the flush of the file system, and the write of the log's header.
struct Gates {
    flush: Gate,
    header: Gate,
    /// How many files were synced one by one.
    syncs: AtomicUsize,
    /// Whether the flush ends while a file is being synced, so that the trim gets to the header.
    sync_ends_flush: bool,
}

struct Gated {
    inner: Arc<dyn FileSystem>,
    gates: Arc<Gates>,
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Gated {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, attributes, access, set_attributes,
        lookup, find, parent, read_link, has_local_locks, open_for_locks, read_dir, create, make_node, link, remove,
        remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs, remove_xattr, acls, set_acls, maintain,
        memory, space);

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        let inner = self.inner.open(cx, node, mode)?;
        Ok(Arc::new(GatedFile { inner, gates: Arc::clone(&self.gates) }))
    }

    fn sync_all(&self, cx: &Context<'_>) -> Result<()> {
        self.gates.flush.pass();
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
        read_at, read_lent, write_at, write_parts_at, seek, allocate, deallocate, copy_range, clone_range, lock,
        test_lock, unlock, attributes, host_file, is_resident);

    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        self.gates.syncs.fetch_add(1, Ordering::Relaxed);
        if self.gates.sync_ends_flush {
            self.gates.flush.set(true);
            self.gates.header.wait_for(1, LONG);
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
        }
        self.inner.write_at(offset_bytes, from)
    }
}

struct Site(PathBuf);

impl Site {
    fn new(name: &str) -> Site {
        let site = Site(std::env::temp_dir().join(format!("wharf-stable-commit-{name}-{}", std::process::id())));
        std::fs::create_dir_all(site.0.join("export")).unwrap();
        site
    }

    fn serve(&self, device: Arc<dyn Device>, gates: &Arc<Gates>) -> (Arc<WriteLog>, StableFs) {
        let state = self.0.join("state");
        let host = HostOptions { state_dir: Some(state.clone()), sync_metadata: false, ..HostOptions::default() };
        let inner = Arc::new(HostFs::open(&self.0.join("export"), host).unwrap());
        let log = WriteLog::open(device, Options { always_replay: true, ..Options::new(state) }).unwrap();
        let gated = Gated { inner, gates: Arc::clone(gates) };
        let (fs, _) = log.attach("export", Arc::new(gated)).unwrap();
        log.start().unwrap();
        (log, fs)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn served(name: &str, sync_ends_flush: bool) -> (Site, Arc<GatedDevice>, Arc<WriteLog>, StableFs) {
    let site = Site::new(name);
    let gates = Gates { flush: Gate::new(true), header: Gate::new(true), syncs: AtomicUsize::new(0), sync_ends_flush };
    let gates = Arc::new(gates);
    let device = Arc::new(GatedDevice { inner: MemoryDevice::new(LOG_BYTES), gates: Arc::clone(&gates) });
    WriteLog::create(device.clone()).unwrap();
    let (log, fs) = site.serve(device.clone(), &gates);
    (site, device, log, fs)
}

fn open(fs: &StableFs, file: &Handle) -> Arc<dyn OpenFile> {
    fs.open(&CX, file, OpenMode::Write).unwrap()
}

fn create(fs: &StableFs) -> Handle {
    let place = Place { dir: fs.root(), name: Name::new(b"file").unwrap() };
    fs.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap().handle
}

#[test]
fn older_data_of_a_log_that_is_not_trimmed_yet_are_not_written_over_committed_ones() {
    let (site, device, log, fs) = served("untrimmed", true);
    let gates = &device.gates;
    let handle = create(&fs);
    let file = open(&fs, &handle);
    file.write_at(&CX, 0, b"older", Stability::File).unwrap();
    file.write_at(&CX, 0, b"newer", Stability::Unstable).unwrap();
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
    let (log, fs) = site.serve(Arc::new(left), gates);
    let mut data = [0; 5];
    open(&fs, &handle).read_at(&CX, 0, &mut data).unwrap();
    assert_eq!(data, *b"newer");
    log.close();
}

#[test]
fn commit_waits_for_storage_while_two_trims_run() {
    let (_site, device, log, fs) = served("two-trims", false);
    let gates = &device.gates;
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
