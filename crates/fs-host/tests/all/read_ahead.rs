//! What is read ahead of files on disk, told by the counters.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::fs::Advice;
use vfs::{Context, Error, FileSystem, Name, OpenFile, OpenMode, Place};
use wharf_fs_host::{HostFs, HostOptions, ReadAhead, ReadAheadMode};

const FILE_BYTES: u64 = 8 << 20;
const READ_BYTES: u64 = 64 << 10;
const WINDOW_BYTES: u64 = 1 << 20;
/// What two reads one right behind the other bring: four times a read.
const FIRST_BYTES: u64 = 4 * READ_BYTES;

/// A directory on disk with a file that is not in memory; it is removed at the end.
struct Disk {
    dir: PathBuf,
    read_ahead: Arc<ReadAhead>,
    file_system: HostFs,
}

impl Disk {
    /// `None` where there is no disk to be had, or this process may not use the kernel's handles; it says so.
    fn new(name: &str) -> Option<Disk> {
        let dir = PathBuf::from(format!("/var/tmp/wharf-{name}-{}", std::process::id()));
        fs::create_dir_all(dir.join("export")).unwrap();
        fs::write(dir.join("export/file"), vec![1; FILE_BYTES as usize]).unwrap();
        let read_ahead = Arc::new(ReadAhead::new(WINDOW_BYTES));
        let options = HostOptions {
            state_dir: Some(dir.join("state")),
            read_ahead: ReadAheadMode::Streams(Arc::clone(&read_ahead)),
            ..HostOptions::default()
        };
        let file_system = HostFs::open(&dir.join("export"), options).unwrap();
        let disk = Disk { dir, read_ahead, file_system };
        // The kernel keeps pages that it is about to sort, or that somebody else flushes.
        for _ in 0..100 {
            disk.forget();
            if !disk.has_bytes_in_memory() {
                return Some(disk);
            }
            thread::sleep(Duration::from_millis(20));
        }
        eprintln!("skipped: the file stays in memory");
        None
    }

    fn has_bytes_in_memory(&self) -> bool {
        let file = self.open();
        (0..FILE_BYTES).step_by(READ_BYTES as usize).any(|offset| file.is_resident(offset, READ_BYTES as usize))
    }

    /// Takes the file out of memory.
    fn forget(&self) {
        let file = fs::File::open(self.dir.join("export/file")).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    }

    fn open(&self) -> Arc<dyn OpenFile> {
        let place = Place { dir: self.file_system.root(), name: Name::new(b"file").unwrap() };
        let entry = self.file_system.lookup(&Context::ROOT, place).unwrap();
        self.file_system.open(&Context::ROOT, &entry.handle, OpenMode::Read).unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Reads as a server does: first on a thread that must not wait, and then, where that is not enough, on one that may.
fn read(tried: &dyn OpenFile, waiting: &dyn OpenFile, offset: u64) {
    let mut bytes = vec![0; READ_BYTES as usize];
    let at_once = Context { may_block: false, ..Context::ROOT };
    match tried.read_at(&at_once, offset, &mut bytes) {
        Ok(count) => assert_eq!(count as u64, READ_BYTES),
        Err(Error::WouldBlock) => {
            assert_eq!(waiting.read_at(&Context::ROOT, offset, &mut bytes).unwrap() as u64, READ_BYTES);
        }
        Err(error) => panic!("{error}"),
    }
    assert!(bytes.iter().all(|byte| *byte == 1));
}

#[test]
fn second_read_in_a_row_is_read_ahead_of_once_whichever_descriptors_it_goes_by() {
    let Some(disk) = Disk::new("ahead-once") else { return };
    let (one, other, waiting) = (disk.open(), disk.open(), disk.open());
    read(&*one, &*waiting, 0);
    assert_eq!(disk.read_ahead.counts().bytes, 0);
    disk.forget();
    read(&*other, &*waiting, READ_BYTES);
    let counts = disk.read_ahead.counts();
    assert_eq!((counts.streams, counts.found, counts.bytes, counts.dropped), (1, 1, FIRST_BYTES, 0));
    drop((one, other, waiting));
    assert_eq!(disk.read_ahead.counts().streams, 0, "the file is closed");
}

#[test]
fn file_that_is_read_to_its_end_is_read_ahead_of_all_the_way() {
    let Some(disk) = Disk::new("ahead-whole") else { return };
    let (tried, waiting) = (disk.open(), disk.open());
    for offset in (0..FILE_BYTES).step_by(READ_BYTES as usize) {
        read(&*tried, &*waiting, offset);
    }
    let bytes = disk.read_ahead.counts().bytes;
    assert!((FILE_BYTES - 2 * READ_BYTES..FILE_BYTES + 2 * WINDOW_BYTES).contains(&bytes), "{bytes} bytes");
}

#[test]
fn reads_far_from_one_another_are_not_read_ahead_of() {
    let Some(disk) = Disk::new("ahead-random") else { return };
    let (tried, waiting) = (disk.open(), disk.open());
    for offset in [0, 7 << 20, 2 << 20, 5 << 20] {
        read(&*tried, &*waiting, offset);
    }
    assert_eq!(disk.read_ahead.counts().bytes, 0);
}
