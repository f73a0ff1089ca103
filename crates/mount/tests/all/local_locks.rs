//! Locks that are not passed to the file system (`nolock`): they hold on this mount, and do to caches what others do.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use fs_mem::{MemFs, MemOptions};
use mount::{Options, Validity};
use rustix::fs::{FlockOperation, fcntl_lock, flock};
use vfs::{Context, FileSystem, Name, OpenMode, Place, Stability};

use crate::support::{LONG, Site};

/// A mount without locks of the file system, on which what the kernel caches stays valid for long.
fn stage() -> Option<(Arc<MemFs>, Site)> {
    let fs = Arc::new(MemFs::new(MemOptions::default()));
    let validity = Validity { attributes: LONG, names: LONG, absences: LONG };
    let options = Options { validity, passes_locks: false, passes_flocks: false, ..Options::default() };
    let site = Site::new(Arc::clone(&fs) as Arc<_>, options)?;
    Some((fs, site))
}

fn open(site: &Site) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(site.path("f")).unwrap()
}

/// Another client's write.
fn write_behind(fs: &MemFs, data: &[u8]) {
    let place = Place { dir: fs.root(), name: Name::new(b"f").unwrap() };
    let handle = fs.lookup(&Context::ROOT, place).unwrap().handle;
    let file = fs.open(&Context::ROOT, &handle, OpenMode::Write).unwrap();
    file.write_at(&Context::ROOT, 0, data, Stability::File).unwrap();
}

fn text(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; 100];
    let count = file.read_at(&mut bytes, 0).unwrap();
    bytes.truncate(count);
    bytes
}

#[test]
fn local_lock_shows_the_data_and_the_length_that_others_wrote_before() {
    let Some((fs, site)) = stage() else { return };
    let file = open(&site);
    file.write_all_at(b"first", 0).unwrap();
    let locks = [fcntl_lock::<&File>, flock::<&File>];
    for (lock, data) in locks.into_iter().zip([&b"other"[..], b"other and longer"]) {
        let before = text(&file);
        write_behind(&fs, data);
        assert_eq!(text(&file), before, "nothing asks for it yet");
        lock(&file, FlockOperation::LockShared).unwrap();
        assert_eq!(text(&file), data);
        assert_eq!(file.metadata().unwrap().len(), data.len() as u64);
        lock(&file, FlockOperation::Unlock).unwrap();
    }
}

#[test]
fn local_locks_of_two_owners_exclude_each_other_until_the_last_close() {
    let Some((_fs, site)) = stage() else { return };
    let (one, other) = (open(&site), open(&site));
    flock(&one, FlockOperation::LockExclusive).unwrap();
    assert!(flock(&other, FlockOperation::NonBlockingLockShared).is_err());
    drop(one);
    // Waits: the kernel closes a file behind the back of whoever closed it last.
    flock(&other, FlockOperation::LockExclusive).unwrap();
    flock(&other, FlockOperation::Unlock).unwrap();
    flock(open(&site), FlockOperation::NonBlockingLockExclusive).unwrap();
}
