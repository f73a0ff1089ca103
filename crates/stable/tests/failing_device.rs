//! A log whose device fails: nothing is lost, and the log is never used again.
#![allow(clippy::unwrap_used, reason = "this is test code, some of it outside of test functions")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fs_host::{HostFs, HostOptions};
use stable::{Device, MemoryDevice, Options, StableFs, WriteLog};
use vfs::{Context, CreateMode, FileSystem, Name, Place, SetAttributes};

const CX: Context<'static> = Context::ROOT;

/// A device that takes no writes any more once it is told to.
struct Breaking {
    inner: MemoryDevice,
    is_broken: AtomicBool,
}

impl Device for Breaking {
    fn path(&self) -> &Path {
        Path::new("breaking")
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
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(io::Error::other("the device is broken"));
        }
        self.inner.write_at(offset_bytes, from)
    }
}

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn create(fs: &StableFs, name: &str) {
    let place = Place { dir: fs.root(), name: Name::new(name.as_bytes()).unwrap() };
    fs.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
}

#[test]
fn changes_go_on_without_the_log_and_its_records_are_never_made_again() {
    let scratch = Scratch(std::env::temp_dir().join(format!("wharf-stable-breaking-{}", std::process::id())));
    let (export, state) = (scratch.0.join("export"), scratch.0.join("state"));
    fs::create_dir_all(&export).unwrap();
    let device = Arc::new(Breaking { inner: MemoryDevice::new(1 << 20), is_broken: AtomicBool::new(false) });
    WriteLog::create(device.clone()).unwrap();
    let open = || {
        let log =
            WriteLog::open(device.clone(), Options { always_replay: true, ..Options::new(state.clone()) }).unwrap();
        let host = HostOptions { state_dir: Some(state.clone()), sync_metadata: false, ..HostOptions::default() };
        let (fs, replayed) = log.attach("export", Arc::new(HostFs::open(&export, host).unwrap())).unwrap();
        log.start().unwrap();
        (fs, replayed, log)
    };
    let (fs, _, log) = open();
    create(&fs, "logged");
    device.is_broken.store(true, Ordering::Relaxed);
    create(&fs, "while-it-breaks");
    assert!(log.has_failed());
    create(&fs, "without-the-log");
    fs.remove(&CX, Place { dir: fs.root(), name: Name::new(b"logged").unwrap() }).unwrap();
    log.drain().unwrap();
    log.close();
    drop((fs, log));
    // The device works again, and still has the record of what was removed since.
    device.is_broken.store(false, Ordering::Relaxed);
    let (_fs, replayed, log) = open();
    assert_eq!(replayed.records, 0);
    let mut names: Vec<_> = fs::read_dir(&export).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["while-it-breaks", "without-the-log"]);
    log.close();
}
