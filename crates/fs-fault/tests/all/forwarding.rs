//! No call of a `FaultFs` loses what the file system inside has for it, and none gets around the faults.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fs_fault::{FaultFs, FaultPlan, Operation, Rules};
use fs_mem::{MemFs, MemOptions};
use vfs::{
    Attributes, Context, CreateMode, Entry, Error, FileSystem, Found, Handle, HostFile, Memory, Name, OpenFile,
    OpenMode, Place, ReadBytes, Result, SendableFile, SetAttributes, Stability, Timestamp, Written,
};

const CX: Context<'static> = Context::ROOT;
const LOOP: Context<'static> = Context { may_block: false, ..Context::ROOT };

/// A file system with overrides of the traits' fast paths, and a list of the calls that took one.
struct Rich {
    inner: MemFs,
    fast: Arc<Fast>,
}

#[derive(Default)]
struct Fast {
    calls: Mutex<Vec<String>>,
    memory: AtomicU64,
}

impl Fast {
    fn note(&self, call: impl Into<String>) {
        self.calls.lock().unwrap().push(call.into());
    }

    /// The calls since the last time.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Rich {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, lookup, parent, read_link, hold, has_local_locks, open_for_locks, lease_break_time, lease,
        read_dir, create, make_node, link, remove, remove_dir, rename, get_xattr, set_xattr, list_xattrs, remove_xattr,
        acls, set_acls, maintain, space, losses, log_marks, set_log_mark);

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        Ok(Arc::new(RichFile { inner: self.inner.open(cx, node, mode)?, fast: Arc::clone(&self.fast) }))
    }

    fn find(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Found> {
        self.fast.note("find");
        Ok(Found { entry: self.inner.lookup(cx, place)?, is_current: false })
    }

    fn remove_seen(&self, cx: &Context<'_>, place: Place<'_>, _seen: &Entry) -> Result<()> {
        self.fast.note("remove_seen");
        self.inner.remove(cx, place)
    }

    fn sync_all(&self, _cx: &Context<'_>) -> Result<()> {
        self.fast.note("sync_all");
        Ok(())
    }

    fn memory(&self) -> Option<Memory> {
        Some(Memory { number: self.fast.memory.load(Ordering::Relaxed), since: Timestamp::default() })
    }
}

struct RichFile {
    inner: Arc<dyn OpenFile>,
    fast: Arc<Fast>,
}

#[deny(clippy::missing_trait_methods)]
impl OpenFile for RichFile {
    vfs::forward!(OpenFile for self.inner:
        read_at, write_at, sync, check_written, seek, allocate, deallocate, copy_range, clone_range, lock, test_lock, unlock);

    fn read_lent(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<ReadBytes> {
        if offset_bytes > 0 {
            return self.read_at(cx, offset_bytes, into).map(ReadBytes::Copied);
        }
        self.fast.note("read_lent");
        let mut bytes = vec![0; into.len()];
        let count = self.inner.read_at(cx, 0, &mut bytes)?;
        bytes.truncate(count);
        Ok(ReadBytes::Lent(Box::new(bytes)))
    }

    fn write_parts_at(
        &self,
        cx: &Context<'_>,
        offset_bytes: u64,
        parts: &[&[u8]],
        stability: Stability,
    ) -> Result<Written> {
        self.fast.note(format!("write_parts_at {}", parts.len()));
        self.inner.write_at(cx, offset_bytes, &parts.concat(), stability)
    }

    fn attributes(&self, cx: &Context<'_>) -> Result<Attributes> {
        self.inner.attributes(cx)
    }

    fn host_file(&self) -> Option<HostFile> {
        Some(Arc::new(Null(File::open("/dev/null").unwrap())))
    }

    fn is_resident(&self, _: u64, _: usize) -> bool {
        true
    }

    fn evict(&self, range_bytes: std::ops::Range<u64>) -> bool {
        range_bytes.start == 0
    }
}

struct Null(File);

impl AsFd for Null {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl SendableFile for Null {
    fn is_resident(&self, _: u64, _: usize) -> bool {
        true
    }

    fn storage(&self) -> u64 {
        0
    }
}

struct Stage {
    fs: FaultFs<Rich>,
    plan: FaultPlan,
    fast: Arc<Fast>,
    entry: Entry,
    file: Arc<dyn OpenFile>,
}

impl Stage {
    fn new(make: fn(Arc<Rich>, FaultPlan) -> FaultFs<Rich>) -> Stage {
        let (fast, plan) = (Arc::<Fast>::default(), FaultPlan::default());
        let inner = Rich { inner: MemFs::new(MemOptions::default()), fast: Arc::clone(&fast) };
        let fs = make(Arc::new(inner), plan.clone());
        let entry = fs.create(&CX, place(&fs, "f"), CreateMode::Guarded, &SetAttributes::default()).unwrap();
        let file = fs.open(&CX, &entry.handle, OpenMode::Write).unwrap();
        Stage { fs, plan, fast, entry, file }
    }

    fn rules(&self, text: &str) {
        self.plan.replace(text.parse::<Rules>().unwrap());
    }

    fn write_parts(&self, parts: &[&[u8]]) -> Result<Written> {
        self.file.write_parts_at(&CX, 0, parts, Stability::Unstable)
    }

    fn content(&self) -> Vec<u8> {
        let mut bytes = vec![0; 100];
        let count = self.file.read_at(&CX, 0, &mut bytes).unwrap();
        bytes.truncate(count);
        bytes
    }
}

fn place<'a>(fs: &dyn FileSystem, name: &'a str) -> Place<'a> {
    Place { dir: fs.root(), name: Name::new(name.as_bytes()).unwrap() }
}

#[test]
fn finding_a_name_is_a_lookup_that_may_be_answered_from_memory() {
    let stage = Stage::new(FaultFs::new);
    let find = || stage.fs.find(&CX, place(&stage.fs, "f"));
    assert!(!find().unwrap().is_current);
    assert_eq!((stage.fast.take(), stage.plan.calls(Operation::Lookup)), (vec!["find".to_owned()], 1));
    stage.rules("lookup(f):error=stale");
    assert!(matches!(find(), Err(Error::Stale)));
}

#[test]
fn removal_of_a_seen_name_stays_one() {
    let stage = Stage::new(FaultFs::new);
    stage.rules("remove:error=denied@1");
    let remove = || stage.fs.remove_seen(&CX, place(&stage.fs, "f"), &stage.entry);
    assert!(matches!(remove(), Err(Error::AccessDenied)));
    assert!(remove().is_ok());
    assert_eq!(stage.fast.take(), ["remove_seen"]);
}

#[test]
fn lent_bytes_meet_the_rules_of_reads_and_count_as_one() {
    let stage = Stage::new(FaultFs::new);
    stage.write_parts(&[b"bytes"]).unwrap();
    let lend = |cx, offset| stage.file.read_lent(cx, offset, &mut [0; 100]);
    let ReadBytes::Lent(bytes) = lend(&LOOP, 0).unwrap() else { panic!("the bytes were copied") };
    assert_eq!((*bytes).as_ref(), b"bytes");
    assert_eq!(stage.plan.calls(Operation::Read), 1);
    stage.rules("read:delay=1ms,read:error=io@3");
    assert!(matches!(lend(&LOOP, 0), Err(Error::WouldBlock)), "the delay does not hold up a thread that may not wait");
    assert!(lend(&CX, 0).is_ok());
    assert_eq!(stage.content(), b"bytes");
    assert!(matches!(lend(&CX, 0), Err(Error::Io(_))));
    assert_eq!(stage.plan.calls(Operation::Read), 4);
}

#[test]
fn bytes_that_are_not_lent_are_copied_by_one_read_that_meets_each_rule_once() {
    let stage = Stage::new(FaultFs::new);
    stage.write_parts(&[b"bytes"]).unwrap();
    stage.rules("read:error=io@2");
    for is_read in [true, false, true] {
        let mut into = [0; 100];
        let read = stage.file.read_lent(&CX, 1, &mut into);
        assert_eq!(matches!(read, Ok(ReadBytes::Copied(4))), is_read);
        assert_eq!(&into[..4] == b"ytes", is_read);
    }
    assert_eq!(stage.plan.calls(Operation::Read), 3);
}

#[test]
fn parts_are_written_at_one_go_and_meet_the_rules_of_one_write() {
    let stage = Stage::new(FaultFs::new);
    assert_eq!(stage.write_parts(&[b"one", b"three", b"x"]).unwrap().count, 9);
    assert_eq!((stage.fast.take(), stage.plan.calls(Operation::Write)), (vec!["write_parts_at 3".to_owned()], 1));
    stage.rules("write:short=5@1,write:error=quota@2");
    assert_eq!(stage.write_parts(&[b"ONE", b"THREE", b"X"]).unwrap().count, 5);
    assert_eq!(stage.content(), b"ONETHreex");
    assert!(matches!(stage.write_parts(&[b"1", b"2"]), Err(Error::Quota)));
    assert_eq!(stage.content(), b"ONETHreex");
}

#[test]
fn crash_loses_parts_too() {
    let stage = Stage::new(FaultFs::losing);
    stage.write_parts(&[b"sa", b"fe"]).unwrap();
    stage.file.sync(&CX).unwrap();
    stage.write_parts(&[b"LO", b"ST", b"!"]).unwrap();
    assert_eq!((stage.fs.crash(), stage.content()), (1, b"safe".to_vec()));
}

#[test]
fn file_in_memory_stays_one_while_no_rule_is_for_reads() {
    let stage = Stage::new(FaultFs::new);
    let sends = || (stage.file.is_resident(0, 1), stage.file.host_file().is_some());
    assert_eq!(sends(), (true, true));
    assert_eq!((stage.file.evict(0..1), stage.file.evict(1..2)), (true, false));
    for (rules, expected) in [("read:delay=1ms", false), ("any(f):error=io", false), ("write:error=io", true)] {
        stage.rules(rules);
        assert_eq!(sends(), (expected, expected), "{rules}");
    }
}

#[test]
fn everything_is_synced_at_once_and_a_crash_loses_none_of_it() {
    let stage = Stage::new(FaultFs::losing);
    stage.write_parts(&[b"safe"]).unwrap();
    stage.rules("sync_all:error=io@1");
    assert!(matches!(stage.fs.sync_all(&CX), Err(Error::Io(_))));
    assert_eq!(stage.fast.take(), ["write_parts_at 1"]);
    stage.fs.sync_all(&CX).unwrap();
    assert_eq!(
        (stage.fast.take(), stage.fs.crash(), stage.content()),
        (vec!["sync_all".to_owned()], 0, b"safe".to_vec())
    );
}

#[test]
fn memory_is_the_inner_one_until_a_crash_loses_what_it_held() {
    let stage = Stage::new(FaultFs::losing);
    stage.fast.memory.store(7, Ordering::Relaxed);
    let number = || stage.fs.memory().map(|memory| memory.number);
    assert_eq!(number(), Some(7));
    stage.fs.crash();
    let after = number();
    assert!(after.is_some() && after != Some(7));
    assert_eq!(after, number());
}
