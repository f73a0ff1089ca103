//! Replies to calls that must not happen twice, in two files of the state directory that take turns.
//!
//! A record is written and not synced: it survives the end of the process, which is when clients send their calls again at
//! once. When the file in use is full, the other one is emptied and used, so that both together hold the newest replies
//! and have a bounded size. A record is its length and the time in seconds, both big-endian, and its bytes.
//!
//! A log with a gap tells lies: without the reply to a call, others' later changes look like the call's. So when a
//! record cannot be written, all earlier ones are dropped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use server::ReplyLog;

const NAMES: [&str; 2] = ["replies-0", "replies-1"];

/// How large one of the files gets, in bytes: some ten thousand replies.
const MAX_FILE_BYTES: u64 = 4 << 20;

const HEAD_BYTES: usize = 4 + 8;

/// The log.
#[derive(Debug)]
pub(crate) struct FileReplyLog {
    dir: PathBuf,
    current: Mutex<Current>,
}

/// The file in use.
#[derive(Debug)]
struct Current {
    index: usize,
    file: File,
    written: u64,
    has_failed: bool,
}

impl FileReplyLog {
    /// Opens the log in `dir`, and reads the records that are no older than `max_age`, oldest first.
    pub(crate) fn open(dir: &Path, max_age: Duration) -> io::Result<(FileReplyLog, Vec<Vec<u8>>)> {
        let oldest = seconds_since_1970().saturating_sub(max_age.as_secs());
        let mut records = [Vec::new(), Vec::new()];
        let (mut sizes, mut changed) = ([0; 2], [UNIX_EPOCH; 2]);
        for (index, name) in NAMES.iter().enumerate() {
            let bytes = read_or_nothing(&dir.join(name))?;
            sizes[index] = whole_records(&bytes, oldest, &mut records[index]) as u64;
            changed[index] = fs::metadata(dir.join(name)).and_then(|about| about.modified()).unwrap_or(UNIX_EPOCH);
        }
        // The file that was written to last was in use; of two that were at the same moment, the one that has room.
        let last = |index: usize| (changed[index], sizes[index] < MAX_FILE_BYTES, sizes[index] > 0);
        let index = usize::from(last(1) > last(0));
        let file = open_file(dir, index)?;
        // What a torn record left behind is cut off, so that the next one is found.
        file.set_len(sizes[index])?;
        let current = Mutex::new(Current { index, file, written: sizes[index], has_failed: false });
        let [first, second] = records;
        let records = if index == 1 { [first, second].concat() } else { [second, first].concat() };
        Ok((FileReplyLog { dir: dir.to_owned(), current }, records))
    }
}

impl ReplyLog for FileReplyLog {
    fn keep(&self, record: &[u8]) {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + record.len());
        bytes.extend((record.len() as u32).to_be_bytes());
        bytes.extend(seconds_since_1970().to_be_bytes());
        bytes.extend(record);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let result = current.make_room(&self.dir).and_then(|()| current.file.write_all(&bytes));
        match result {
            Ok(()) => current.written += bytes.len() as u64,
            Err(error) => current.fail(&self.dir, &error),
        }
    }
}

impl Current {
    /// Goes over to the other file when this one is full.
    fn make_room(&mut self, dir: &Path) -> io::Result<()> {
        if self.written < MAX_FILE_BYTES {
            return Ok(());
        }
        let index = 1 - self.index;
        let file = open_file(dir, index)?;
        file.set_len(0)?;
        *self = Current { index, file, written: 0, has_failed: self.has_failed };
        Ok(())
    }

    /// Drops all records, so that there is no gap among them.
    fn fail(&mut self, dir: &Path, error: &io::Error) {
        // Emptying a file needs no space.
        let emptied = [0, 1].map(|index| open_file(dir, index).and_then(|file| file.set_len(0)).is_ok());
        self.written = 0;
        if !std::mem::replace(&mut self.has_failed, true) {
            tracing::error!(
                dir = %dir.display(), %error, ?emptied,
                "replies cannot be kept over a restart, and calls that clients send again may fail; is the disk full?"
            );
        }
    }
}

fn open_file(dir: &Path, index: usize) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(dir.join(NAMES[index]))
}

fn read_or_nothing(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        result => result,
    }
}

/// Takes the whole records out of a file, and says how many bytes they are; what comes behind them is torn.
fn whole_records(bytes: &[u8], oldest: u64, records: &mut Vec<Vec<u8>>) -> usize {
    let mut rest = bytes;
    while let Some((head, behind)) = rest.split_first_chunk::<HEAD_BYTES>() {
        let [a, b, c, d, time @ ..] = *head;
        let Some((record, next)) = behind.split_at_checked(u32::from_be_bytes([a, b, c, d]) as usize) else { break };
        if u64::from_be_bytes(time) >= oldest {
            records.push(record.to_vec());
        }
        rest = next;
    }
    bytes.len() - rest.len()
}

fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("wharf-replies-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    const AGE: Duration = Duration::from_secs(60);

    #[test]
    fn records_are_there_after_a_restart_and_a_torn_one_is_cut_off() {
        let dir = dir("torn");
        let (log, _) = FileReplyLog::open(&dir, AGE).unwrap();
        log.keep(b"one");
        log.keep(b"two");
        let path = dir.join(NAMES[0]);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let (log, records) = FileReplyLog::open(&dir, AGE).unwrap();
        assert_eq!(records, [b"one"]);
        log.keep(b"three");
        assert_eq!(FileReplyLog::open(&dir, AGE).unwrap().1, [&b"one"[..], b"three"]);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn log_stays_bounded_and_keeps_the_newest() {
        let dir = dir("bounded");
        let (log, _) = FileReplyLog::open(&dir, AGE).unwrap();
        let count = 3 * MAX_FILE_BYTES / 1000;
        for number in 0..count {
            log.keep(&[&number.to_be_bytes()[..], &[0; 1000]].concat());
        }
        let sizes = NAMES.map(|name| fs::metadata(dir.join(name)).unwrap().len());
        assert!(sizes.iter().all(|size| *size <= MAX_FILE_BYTES + 2000), "{sizes:?}");
        let newest = [&(count - 1).to_be_bytes()[..], &[0; 1000]].concat();
        let (log, records) = FileReplyLog::open(&dir, AGE).unwrap();
        assert!(records.contains(&newest));
        log.keep(b"after the restart");
        let records = FileReplyLog::open(&dir, AGE).unwrap().1;
        assert!(records.contains(&newest) && records.contains(&b"after the restart".to_vec()));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn records_are_read_in_the_order_in_which_they_were_kept() {
        let dir = dir("order");
        let (log, _) = FileReplyLog::open(&dir, AGE).unwrap();
        // Three times over the size: the first file is in use again.
        let count = 5 * MAX_FILE_BYTES / 2 / 1000;
        for number in 0..count {
            log.keep(&[&number.to_be_bytes()[..], &[0; 1000]].concat());
        }
        let records = FileReplyLog::open(&dir, AGE).unwrap().1;
        assert!(records.is_sorted() && records.len() > 1000, "{} records", records.len());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn record_that_cannot_be_written_drops_the_earlier_ones() {
        let dir = dir("gap");
        let (log, _) = FileReplyLog::open(&dir, AGE).unwrap();
        log.keep(b"one");
        let read_only = File::open(dir.join(NAMES[0])).unwrap();
        let writable = std::mem::replace(&mut log.current.lock().unwrap().file, read_only);
        log.keep(b"lost");
        log.current.lock().unwrap().file = writable;
        log.keep(b"three");
        let records = FileReplyLog::open(&dir, AGE).unwrap().1;
        assert_eq!(records, [b"three"]);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn old_records_are_not_taken_up() {
        let dir = dir("old");
        let mut bytes = 3u32.to_be_bytes().to_vec();
        bytes.extend((seconds_since_1970() - 61).to_be_bytes());
        bytes.extend(b"old");
        fs::write(dir.join(NAMES[0]), bytes).unwrap();
        assert_eq!(FileReplyLog::open(&dir, AGE).unwrap().1, Vec::<Vec<u8>>::new());
        fs::remove_dir_all(dir).unwrap();
    }
}
