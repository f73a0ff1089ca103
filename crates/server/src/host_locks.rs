//! Mirrors the locks of clients on the files of the host, so that they exclude local processes too.
//!
//! Opening a file and closing it takes longer than locking it, and programs lock the same file again and again. So the
//! files that were unlocked last stay open until the next tick of the timers, about a second: a removed file keeps its
//! space, and a local process gets no lease of the file, at most that long. They are few enough to be closed under the
//! state's mutex.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use arc_swap::ArcSwap;
use state::{ByteRange, FileKey, HostLocks, HostRange, HostRefusal};
use vfs::{Context, FileLock, LockFile, LockOutcome};

use crate::exports::ExportTable;

/// Access to the host's files through the file systems of the exports. A file stays open here while a client holds a
/// lock in it, and for a while after that.
///
/// If the host fails, clients still get their locks, which then exclude only other clients.
pub(crate) struct ExportedLocks {
    exports: Arc<ArcSwap<ExportTable>>,
    held: foldhash::HashMap<FileKey, Box<dyn LockFile>>,
    /// Open files without a lock.
    unlocked: foldhash::HashMap<FileKey, Box<dyn LockFile>>,
    /// How many of them stay open: when there are more, all are closed.
    max_unlocked: usize,
}

impl ExportedLocks {
    pub(crate) fn new(exports: Arc<ArcSwap<ExportTable>>, max_unlocked: usize) -> ExportedLocks {
        ExportedLocks { exports, held: Default::default(), unlocked: Default::default(), max_unlocked }
    }
}

/// Opens a file for locking, if local processes may lock it too.
fn open(exports: &ArcSwap<ExportTable>, file: &FileKey) -> Option<Box<dyn LockFile>> {
    let exports = exports.load();
    let exported = exports.showing(file)?;
    let file_system = &exported.export.file_system;
    if !file_system.has_local_locks() {
        return None;
    }
    let opened = file_system.open_for_locks(&Context::ROOT, &file.node);
    opened.map_err(|error| unseen(file, &error)).ok()
}

impl HostLocks for ExportedLocks {
    fn is_needed(&self) -> bool {
        // Held locks are released even after the last such export was removed.
        !self.held.is_empty() || self.exports.load().has_local_locks()
    }

    fn opens(&self, file: &FileKey) -> bool {
        self.exports.load().showing(file).is_some_and(|exported| exported.export.file_system.has_local_locks())
    }

    fn take(
        &mut self,
        file: &FileKey,
        wanted: HostRange,
        held: &dyn Fn() -> Vec<HostRange>,
    ) -> Result<(), HostRefusal> {
        let place = match self.held.entry(*file) {
            Entry::Occupied(mut open) => return answer(file, open.get_mut().take(lock(&wanted))),
            Entry::Vacant(place) => place,
        };
        let reopened = self.unlocked.remove(file).or_else(|| open(&self.exports, file));
        let Some(mut opened) = reopened else { return Ok(()) };
        answer(file, opened.take(lock(&wanted)))?;
        // Clients already hold these. A local process that locked such a range first keeps its lock.
        for range in held() {
            let _ = answer(file, opened.take(lock(&range)));
        }
        place.insert(opened);
        Ok(())
    }

    fn release(&mut self, file: &FileKey, ranges: &[ByteRange]) {
        let Some(open) = self.held.get_mut(file) else { return };
        let ranges: Vec<_> = ranges.iter().map(|range| range.first()..=range.last()).collect();
        if let Err(error) = open.release(&ranges) {
            tracing::warn!(file = ?file.node, %error, "local processes wait for a lock that no client has any more");
        }
    }

    fn release_all(&mut self, file: &FileKey) {
        let Some(mut open) = self.held.remove(file) else { return };
        // Closing it gives up the locks as well.
        if open.release(&[0..=u64::MAX]).is_err() {
            return;
        }
        if self.unlocked.len() >= self.max_unlocked {
            self.unlocked.clear();
        }
        self.unlocked.insert(*file, open);
    }

    fn close_unlocked(&mut self, file: &FileKey) {
        self.unlocked.remove(file);
    }

    fn close_all_unlocked(&mut self) {
        self.unlocked.clear();
    }

    fn test(&mut self, file: &FileKey, wanted: HostRange) -> Result<(), HostRefusal> {
        match self.held.get(file) {
            Some(held) => answer(file, held.test(lock(&wanted))),
            None => open(&self.exports, file).map_or(Ok(()), |opened| answer(file, opened.test(lock(&wanted)))),
        }
    }
}

fn answer(file: &FileKey, outcome: vfs::Result<LockOutcome>) -> Result<(), HostRefusal> {
    match outcome {
        Ok(LockOutcome::Free) => Ok(()),
        Ok(LockOutcome::Taken(FileLock { first_bytes, last_bytes, exclusive })) => {
            let range = ByteRange::inclusive(first_bytes, last_bytes).unwrap_or(ByteRange::WHOLE);
            Err(HostRefusal { range, exclusive })
        }
        Err(error) => {
            unseen(file, &error);
            Ok(())
        }
    }
}

fn unseen(file: &FileKey, error: &vfs::Error) {
    tracing::warn!(file = ?file.node, %error, "local processes do not see a client's lock");
}

fn lock(wanted: &HostRange) -> FileLock {
    FileLock { first_bytes: wanted.range.first(), last_bytes: wanted.range.last(), exclusive: wanted.exclusive }
}

#[cfg(test)]
mod tests {
    use fs_host::HandleForm;
    use fs_mem::{MemFs, MemOptions};
    use testing::host_export::Export as Directory;
    use vfs::{CreateMode, FileSystem, Name, Place, SetAttributes};

    use super::*;
    use crate::{Export, HandleKey};

    const MAX_UNLOCKED: usize = 16;

    /// A new file of an export, its key, and the locks of that export.
    fn locks_of(file_system: Arc<dyn FileSystem>, name: &str) -> (ExportedLocks, FileKey) {
        let place = Place { dir: file_system.root(), name: Name::new(name.as_bytes()).unwrap() };
        let set = SetAttributes::default();
        let node = file_system.create(&Context::ROOT, place, CreateMode::Guarded, &set).unwrap().handle;
        let export = Export { name: "/files".to_owned(), file_system, rules: Vec::new(), fsid: None };
        let table = ExportTable::new(vec![export], HandleKey::new([7; 16])).unwrap();
        let key = table.by_path(b"/files").unwrap().0.file_key(node);
        (ExportedLocks::new(Arc::new(ArcSwap::from_pointee(table)), MAX_UNLOCKED), key)
    }

    fn range(first: u64, last: u64) -> HostRange {
        HostRange { range: ByteRange::inclusive(first, last).unwrap(), exclusive: true }
    }

    #[test]
    fn locks_of_clients_and_of_local_processes_meet() {
        let directory = Directory::on_disk();
        let host = Arc::new(directory.open(HandleForm::Auto));
        let (mut locks, file) = locks_of(host.clone(), "file");
        let mut local = host.open_for_locks(&Context::ROOT, &file.node).unwrap();
        assert!(locks.is_needed());
        locks.take(&file, range(0, 9), &Vec::new).unwrap();
        let local_lock = |first_bytes, last_bytes| FileLock { first_bytes, last_bytes, exclusive: true };
        assert_eq!(local.take(local_lock(5, 14)).unwrap(), LockOutcome::Taken(local_lock(0, 9)));
        assert_eq!(local.take(local_lock(10, 14)).unwrap(), LockOutcome::Free);
        let refusal = HostRefusal { range: ByteRange::inclusive(10, 14).unwrap(), exclusive: true };
        assert_eq!(locks.test(&file, range(0, 20)), Err(refusal));
        assert_eq!(locks.take(&file, range(0, 20), &Vec::new), Err(refusal));
        locks.release(&file, &[range(3, 9).range]);
        assert_eq!(local.test(local_lock(0, 9)).unwrap(), LockOutcome::Taken(local_lock(0, 2)));
        assert_eq!(local.test(local_lock(3, 9)).unwrap(), LockOutcome::Free);
        locks.release_all(&file);
        assert_eq!(local.test(local_lock(0, 9)).unwrap(), LockOutcome::Free);
    }

    #[test]
    fn host_that_hears_late_of_a_file_holds_what_was_locked_before() {
        let directory = Directory::on_disk();
        let host = Arc::new(directory.open(HandleForm::Auto));
        let (mut locks, file) = locks_of(host.clone(), "file");
        let local = host.open_for_locks(&Context::ROOT, &file.node).unwrap();
        locks.take(&file, range(20, 29), &|| vec![range(0, 9)]).unwrap();
        let lock = FileLock { first_bytes: 5, last_bytes: 5, exclusive: false };
        let before = FileLock { first_bytes: 0, last_bytes: 9, exclusive: true };
        assert_eq!(local.test(lock).unwrap(), LockOutcome::Taken(before));
    }

    #[test]
    fn file_stays_open_for_the_next_lock_until_it_is_closed_and_is_free_meanwhile() {
        let directory = Directory::on_disk();
        let host = Arc::new(directory.open(HandleForm::Auto));
        let (mut locks, file) = locks_of(host.clone(), "file");
        let mut local = host.open_for_locks(&Context::ROOT, &file.node).unwrap();
        let whole = FileLock { first_bytes: 0, last_bytes: u64::MAX, exclusive: true };
        for _ in 0..3 {
            locks.take(&file, range(0, 9), &Vec::new).unwrap();
            assert!(locks.unlocked.is_empty(), "the open file is used again");
            assert!(matches!(local.test(whole).unwrap(), LockOutcome::Taken(_)));
            locks.release_all(&file);
            assert_eq!((local.test(whole).unwrap(), locks.unlocked.len()), (LockOutcome::Free, 1));
        }
        assert_eq!(local.take(whole).unwrap(), LockOutcome::Free);
        assert!(locks.take(&file, range(0, 9), &Vec::new).is_err());
        local.release(&[0..=u64::MAX]).unwrap();
        locks.take(&file, range(0, 9), &Vec::new).unwrap();
        locks.release_all(&file);
        locks.close_unlocked(&FileKey { export: file.export + 1, ..file });
        assert_eq!(locks.unlocked.len(), 1, "that was another file");
        locks.close_unlocked(&file);
        assert!(locks.unlocked.is_empty());
    }

    #[test]
    fn few_files_stay_open_and_the_one_unlocked_last_is_among_them() {
        let directory = Directory::on_disk();
        let host = Arc::new(directory.open(HandleForm::Auto));
        let (mut locks, first) = locks_of(host.clone(), "file");
        let keys: Vec<_> = (0..3 * MAX_UNLOCKED)
            .map(|number| {
                let name = format!("file{number}");
                let place = Place { dir: host.root(), name: Name::new(name.as_bytes()).unwrap() };
                let made = host.create(&Context::ROOT, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
                FileKey { node: made.handle, ..first }
            })
            .collect();
        for key in &keys {
            locks.take(key, range(0, 9), &Vec::new).unwrap();
            locks.release_all(key);
            assert!(locks.unlocked.len() <= MAX_UNLOCKED && locks.unlocked.contains_key(key));
        }
        assert_eq!(locks.unlocked.len(), MAX_UNLOCKED);
        locks.close_all_unlocked();
        assert!(locks.unlocked.is_empty());
    }

    #[test]
    fn files_in_memory_are_locked_for_clients_alone() {
        let (mut locks, file) = locks_of(Arc::new(MemFs::new(MemOptions::default())), "file");
        assert!(!locks.is_needed());
        locks.take(&file, range(0, 9), &Vec::new).unwrap();
        assert_eq!(locks.test(&file, range(0, 20)), Ok(()));
        assert!(locks.held.is_empty());
    }
}
