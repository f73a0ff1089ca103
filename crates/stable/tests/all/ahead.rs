//! Removals are recorded before they are made: neither a trim nor a failing device in between may lose one.

use std::path::Path;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use fs_host::{HostFs, HostOptions};
use stable::{Options, StableFs, WriteLog};
use testing::Scratch;
use vfs::{Context, CreateMode, Entry, FileSystem, Name, OpenMode, Place, Result, SetAttributes, Stability};

use crate::breaking::Breaking;

const CX: Context<'static> = Context::ROOT;

/// A file system whose removals wait twice for the test, and which notes removals and flushes in their order.
struct Slow {
    inner: Arc<dyn FileSystem>,
    barrier: Barrier,
    events: Mutex<Vec<&'static str>>,
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Slow {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, lookup, find, parent, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time,
        lease, read_dir, create, make_node, link, remove_dir, rename, get_xattr, set_xattr, list_xattrs, remove_xattr,
        acls, set_acls, maintain, memory, space, losses, log_marks, set_log_mark);

    fn remove(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.barrier.wait();
        self.barrier.wait();
        self.inner.remove(cx, place)?;
        self.events.lock().unwrap().push("removed");
        Ok(())
    }

    fn remove_seen(&self, cx: &Context<'_>, place: Place<'_>, _seen: &Entry) -> Result<()> {
        self.remove(cx, place)
    }

    fn sync_all(&self, cx: &Context<'_>) -> Result<()> {
        self.events.lock().unwrap().push("flushed");
        self.inner.sync_all(cx)
    }
}

struct Served {
    device: Arc<Breaking>,
    slow: Arc<Slow>,
    log: Arc<WriteLog>,
    fs: StableFs,
    _scratch: Scratch,
}

fn serve() -> Served {
    let scratch = Scratch::new();
    let (export, state) = (scratch.dir("export"), scratch.path("state"));
    let host = HostOptions { state_dir: Some(state.clone()), sync_metadata: false, ..HostOptions::default() };
    let inner = Arc::new(HostFs::open(&export, host).unwrap());
    let slow = Arc::new(Slow { inner, barrier: Barrier::new(2), events: Mutex::default() });
    let device = Breaking::new(1 << 20);
    WriteLog::create(device.clone()).unwrap();
    let log = WriteLog::open(device.clone(), Options::new(state)).unwrap();
    let (fs, _) = log.attach(Path::new("export"), slow.clone()).unwrap();
    log.start().unwrap();
    Served { device, slow, log, fs, _scratch: scratch }
}

fn place<'p>(fs: &StableFs, name: &'p str) -> Place<'p> {
    Place { dir: fs.root(), name: Name::new(name.as_bytes()).unwrap() }
}

fn create(fs: &StableFs, name: &str) -> Entry {
    fs.create(&CX, place(fs, name), CreateMode::Guarded, &SetAttributes::default()).unwrap()
}

/// Removes `a`, and calls `meanwhile` when the record is durable and the removal is not made yet.
fn remove_while(served: &Served, meanwhile: impl FnOnce()) {
    thread::scope(|scope| {
        let removal = scope.spawn(|| served.fs.remove(&CX, place(&served.fs, "a")));
        served.slow.barrier.wait();
        meanwhile();
        served.slow.barrier.wait();
        removal.join().unwrap().unwrap();
    });
}

#[test]
fn trim_keeps_the_record_of_a_removal_that_is_not_made_yet() {
    let served = serve();
    create(&served.fs, "a");
    let later = create(&served.fs, "later").handle;
    let later = served.fs.open(&CX, &later, OpenMode::Write).unwrap();
    let kept = || served.log.kept().unwrap()[0].1;
    let mut after_trim = 0;
    remove_while(&served, || {
        served.log.drain().unwrap();
        after_trim = kept();
        // What comes later does not wait for the removal. Names would, with a chance of 1 in 1024 each (`order.rs`).
        (0..100).for_each(|_| assert_eq!(later.write_at(&CX, 0, b"later", Stability::File).unwrap().count, 5));
    });
    assert_eq!((after_trim, kept()), (1, 101), "the removal's record first, and then the later ones too");
    served.log.drain().unwrap();
    assert_eq!(kept(), 0);
    served.log.close();
}

#[test]
fn removal_whose_record_was_durable_is_flushed_when_the_device_fails_before_it_is_made() {
    let served = serve();
    create(&served.fs, "a");
    remove_while(&served, || {
        served.device.set_broken(true);
        create(&served.fs, "b");
        served.slow.events.lock().unwrap().clear();
    });
    assert!(served.log.has_failed());
    assert_eq!(*served.slow.events.lock().unwrap(), ["removed", "flushed"]);
    served.log.close();
}
