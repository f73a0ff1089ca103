//! Locks through the client as a file system, against the real server.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod real;
mod remote;

use remote::{Remote, VERSIONS};
use vfs::{Context, CreateMode, FileLock, FileSystem, LockOutcome, LockOwner, Name, OpenMode, Place, SetAttributes};

const CX: Context<'static> = Context::ROOT;
const MINE: LockOwner = LockOwner(1);
const YOURS: LockOwner = LockOwner(2);

fn range(first_bytes: u64, last_bytes: u64, exclusive: bool) -> FileLock {
    FileLock { first_bytes, last_bytes, exclusive }
}

#[test]
fn owners_keep_each_other_out_of_what_they_lock_and_not_themselves() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        assert!(files.properties().locks);
        let place = Place { dir: files.root(), name: Name::new(b"file").unwrap() };
        let entry = files.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
        // Both owners have the file by one open file, as descriptors of one mount may.
        let open = files.open(&CX, &entry.handle, OpenMode::Write).unwrap();
        let lock = |owner, lock| open.lock(&CX, owner, lock).unwrap();
        let is_taken = |outcome| matches!(outcome, LockOutcome::Taken(_));
        assert_eq!(lock(MINE, range(0, 99, true)), LockOutcome::Free);
        let taken = lock(YOURS, range(50, u64::MAX, true));
        assert_eq!(taken, LockOutcome::Taken(range(0, 99, true)), "{version}");
        assert!(is_taken(open.test_lock(&CX, YOURS, range(0, 0, false)).unwrap()));
        assert_eq!(open.test_lock(&CX, MINE, range(0, 0, true)).unwrap(), LockOutcome::Free);
        assert_eq!(lock(YOURS, range(100, u64::MAX, false)), LockOutcome::Free);
        assert!(is_taken(lock(MINE, range(0, 100, true))));
        assert_eq!(lock(MINE, range(0, 99, false)), LockOutcome::Free);
        assert_eq!(lock(YOURS, range(0, u64::MAX, false)), LockOutcome::Free);
        open.unlock(&CX, YOURS, 10..=19).unwrap();
        assert_eq!(lock(MINE, range(10, 19, true)), LockOutcome::Free);
        assert!(is_taken(lock(MINE, range(10, 20, true))));
        open.unlock(&CX, YOURS, 0..=u64::MAX).unwrap();
        assert_eq!(lock(MINE, range(0, u64::MAX, true)), LockOutcome::Free, "{version}");
    }
}
