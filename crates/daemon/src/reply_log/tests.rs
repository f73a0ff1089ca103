use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use nix::unistd::{Uid, setfsuid};
use own_files::Locked;

use super::format::HEAD_BYTES;
use super::*;

/// A directory that is removed with the test.
struct TestDir(PathBuf);

impl TestDir {
    fn new(name: &str) -> TestDir {
        let dir = std::env::temp_dir().join(format!("wharf-replies-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        OwnDir::create(&dir).unwrap();
        TestDir(dir)
    }

    fn open(&self) -> (FileReplyLog, Vec<Vec<u8>>) {
        // A second log stands for the next start: the lock of the first one must not count.
        let dir = Arc::new(Locked::shared(OwnDir::open(&self.0).unwrap()).unwrap());
        FileReplyLog::open(dir, Duration::from_secs(60)).unwrap()
    }

    fn records(&self) -> Vec<Vec<u8>> {
        self.open().1
    }

    fn file(&self, index: usize) -> File {
        File::options().read(true).write(true).open(self.0.join(NAMES[index])).unwrap()
    }

    /// How many blocks of 512 bytes a file has.
    fn blocks(&self, index: usize) -> u64 {
        std::os::unix::fs::MetadataExt::blocks(&self.file(index).metadata().unwrap())
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Where the second of two records with bodies of three bytes begins.
const SECOND_AT: usize = FILE_HEAD_BYTES + HEAD_BYTES + 8;

#[test]
fn record_that_was_stored_in_part_is_none_whatever_part_is_missing() {
    for missing in 0..HEAD_BYTES + 3 {
        let dir = TestDir::new(&format!("torn-{missing}"));
        let (log, _) = dir.open();
        log.keep(b"one");
        log.keep(b"two");
        drop(log);
        let mut byte = [0];
        let at = (SECOND_AT + missing) as u64;
        dir.file(0).read_exact_at(&mut byte, at).unwrap();
        // Padding, and the upper bytes of numbers, are zero anyway.
        dir.file(0).write_all_at(&[0], at).unwrap();
        let (log, records) = dir.open();
        let whole: &[&[u8]] = if byte == [0] { &[b"one", b"two"] } else { &[b"one"] };
        assert_eq!(records, whole, "without byte {missing}");
        log.keep(b"three");
        assert_eq!(dir.records(), [whole, &[b"three"]].concat());
    }
}

#[test]
fn record_whose_length_was_never_stored_is_none() {
    let dir = TestDir::new("no-length");
    let (log, _) = dir.open();
    log.keep(b"one");
    log.keep(b"two");
    log.keep(b"three");
    dir.file(0).write_all_at(&[0; 4], SECOND_AT as u64).unwrap();
    assert_eq!(dir.records(), [b"one"]);
    // The record behind the gap is not found again when the gap is filled.
    let (log, _) = dir.open();
    log.keep(b"2nd");
    assert_eq!(dir.records(), [b"one", b"2nd"]);
}

#[test]
fn damage_is_told_from_what_a_kill_leaves() {
    let dir = TestDir::new("damage");
    let (log, _) = dir.open();
    log.keep(b"one");
    log.keep(b"two");
    drop(log);
    let whole = fs::read(dir.0.join(NAMES[0])).unwrap();
    let flaw = |at: usize, bytes: &[u8]| {
        let damaged = [&whole[..at], bytes, &whole[at + bytes.len()..]].concat();
        fs::write(dir.0.join(NAMES[0]), damaged).unwrap();
        OldFile::read(&OwnDir::open(&dir.0).unwrap(), NAMES[0], 0).unwrap().flaw
    };
    assert_eq!(flaw(0, b""), None);
    assert_eq!(flaw(SECOND_AT + HEAD_BYTES, &[0; 3]), None, "the last record is torn");
    assert_eq!(flaw(FILE_HEAD_BYTES + HEAD_BYTES, b"x"), Some(format!("is damaged at byte {FILE_HEAD_BYTES}")));
    assert_eq!(flaw(FILE_HEAD_BYTES, &[0; 4]), Some(format!("is damaged at byte {FILE_HEAD_BYTES}")));
    assert_eq!(flaw(0, b"x"), Some("has no valid head".to_owned()));
}

#[test]
fn log_stays_bounded_and_keeps_the_newest() {
    let dir = TestDir::new("bounded");
    let (log, _) = dir.open();
    let count = 3 * FILE_BYTES / 1000;
    for number in 0..count {
        log.keep(&[&number.to_be_bytes()[..], &[0; 1000]].concat());
    }
    let sizes = [0, 1].map(|index| dir.file(index).metadata().unwrap().len());
    assert!(sizes.iter().all(|size| *size <= FILE_BYTES as u64), "{sizes:?}");
    let newest = [&(count - 1).to_be_bytes()[..], &[0; 1000]].concat();
    let (log, records) = dir.open();
    assert!(records.contains(&newest));
    log.keep(b"after the restart");
    let records = dir.records();
    assert!(records.contains(&newest) && records.contains(&b"after the restart".to_vec()));
}

#[test]
fn records_are_read_in_the_order_in_which_they_were_kept() {
    let dir = TestDir::new("order");
    let (log, _) = dir.open();
    // More data than two files hold: the first file is in use again, and still has old records.
    let count = 5 * FILE_BYTES / 2 / 1000;
    for number in 0..count {
        log.keep(&[&number.to_be_bytes()[..], &[0; 1000]].concat());
    }
    let records = dir.records();
    assert!(records.is_sorted() && records.len() > 1000, "{} records", records.len());
    let numbers = records.iter().map(|record| usize::from_be_bytes(*record.first_chunk().unwrap()));
    assert!(numbers.eq(count - records.len()..count));
}

#[test]
fn record_that_cannot_be_stored_drops_the_earlier_ones() {
    let dir = TestDir::new("gap");
    let (log, _) = dir.open();
    log.keep(b"one");
    let read_only = LogFile::Written(File::open(dir.0.join(NAMES[0])).unwrap());
    log.current.lock().unwrap().file = Some(read_only);
    log.keep(b"lost");
    assert!(dir.records().is_empty());
    log.keep(b"three");
    assert_eq!(dir.records(), [b"three"]);
}

#[test]
fn old_records_are_not_taken_up() {
    let dir = TestDir::new("old");
    let (log, _) = dir.open();
    log.current.lock().unwrap().append(&log.dir, seconds_since_1970() - 61, b"old").unwrap();
    log.keep(b"new");
    assert_eq!(dir.records(), [b"new"]);
}

#[test]
fn file_without_mapping_keeps_records_too() {
    let dir = TestDir::new("written");
    let (log, _) = dir.open();
    log.keep(b"one");
    log.current.lock().unwrap().file = Some(LogFile::Written(dir.file(0)));
    log.keep(b"two");
    drop(log);
    assert_eq!(dir.records(), [b"one", b"two"]);
}

/// Otherwise a full disk would kill the process.
#[test]
fn every_byte_of_a_mapped_file_has_a_block() {
    let dir = TestDir::new("blocks");
    let (log, _) = dir.open();
    let current = log.current.lock().unwrap();
    let Some(LogFile::Mapped(map)) = &current.file else { return eprintln!("SKIPPED: files here are written") };
    assert_eq!(map.len(), FILE_BYTES);
    assert!(dir.blocks(0) * 512 >= FILE_BYTES as u64, "{} blocks", dir.blocks(0));
}

#[test]
fn file_that_is_none_of_this_log_is_replaced() {
    let dir = TestDir::new("foreign");
    fs::write(dir.0.join(NAMES[0]), vec![7; 1000]).unwrap();
    let (log, records) = dir.open();
    assert!(records.is_empty());
    log.keep(b"one");
    assert_eq!(dir.records(), [b"one"]);
}

#[test]
fn log_is_written_as_the_server_though_its_thread_is_a_client() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("SKIPPED: only root can be a client");
    }
    const CLIENT: Uid = Uid::from_raw(54_321);
    let dir = TestDir::new("as-client");
    let (log, _) = dir.open();
    setfsuid(CLIENT);
    // More data than one file holds: the thread opens the other file.
    let count = 3 * FILE_BYTES / 2 / 1000;
    (0..count).for_each(|number| log.keep(&[&number.to_be_bytes()[..], &[0; 1000]].concat()));
    assert_eq!(setfsuid(Uid::from_raw(0)), CLIENT, "the thread stays who it was");
    assert!(!log.current.lock().unwrap().has_failed);
    drop(log);
    assert_eq!(dir.records().len(), count, "both files hold the newest records");
}

#[test]
fn damage_of_the_file_that_is_not_used_next_is_reported_once() {
    let dir = TestDir::new("other");
    let (log, _) = dir.open();
    // The second file is in use, and the third round begins in the first one.
    (0..5 * FILE_BYTES / 4 / 1000).for_each(|_| log.keep(&[0; 1000]));
    drop(log);
    let read = |index: usize| OldFile::read(&OwnDir::open(&dir.0).unwrap(), NAMES[index], 0).unwrap();
    assert_eq!([0, 1].map(|index| read(index).generation), [1, 2]);
    for bytes in [&[][..], &[7; 100]] {
        fs::write(dir.0.join(NAMES[0]), bytes).unwrap();
        let newest = dir.records();
        assert!(!newest.is_empty() && dir.records() == newest);
        let OldFile { generation, is_empty, flaw, .. } = read(0);
        assert_eq!((generation, is_empty, flaw), (1, false, None));
    }
}
