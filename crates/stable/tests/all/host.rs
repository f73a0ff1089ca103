//! A host directory that has lost changes, as a disk does in a power failure: files of the log are gone, or are as
//! before.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::site::{CX, Site, at, create, read, write};
use fs_host::{HandleForm, HostFs, HostOptions};
use stable::{FileDevice, MemoryDevice, Options, StableFs, WriteLog, WriteLogError};
use vfs::{
    Context, CreateMode, Error, FileSystem, Handle, NewNode, OpenMode, SetAttributes, SetTime, SetXattr, Stability,
    Timestamp, XattrMode, XattrName,
};

/// Kernel handles need privileges.
pub fn forms() -> Vec<HandleForm> {
    if rustix::process::geteuid().is_root() {
        vec![HandleForm::Kernel, HandleForm::Store]
    } else {
        vec![HandleForm::Store]
    }
}

#[test]
fn lost_files_are_made_again_and_reached_by_the_handles_that_clients_have() {
    for form in forms() {
        let site = Site::new(form);
        let (dir, file) = site.change(|fs| {
            let dir = fs.make_node(&CX, at(&fs.root(), "dir"), NewNode::Directory, &SetAttributes::default()).unwrap();
            let file = create(fs, &dir.handle, "file");
            write(fs, &file, b"what was acknowledged");
            (dir.handle, file)
        });
        fs::remove_dir_all(site.path("dir")).unwrap();
        let (fs, replayed, log) = site.open(true).unwrap();
        assert_eq!((replayed.made, replayed.set_aside), (2, 0), "{form:?}");
        assert_eq!(read(&fs, &file), b"what was acknowledged");
        assert_eq!(fs.lookup(&CX, at(&dir, "file")).unwrap().handle, file);
        assert_eq!(fs::read(site.path("dir/file")).unwrap(), b"what was acknowledged");
        log.close();
        drop((fs, log));
        // The handle still leads there when the log is empty.
        let (fs, replayed, log) = site.open(true).unwrap();
        assert_eq!((replayed.records, read(&fs, &file)), (0, b"what was acknowledged".to_vec()));
        log.close();
    }
}

#[test]
fn names_attributes_and_data_are_as_clients_left_them() {
    for form in forms() {
        let site = Site::new(form);
        let modified = Timestamp { seconds: 1_000_000_000, nanoseconds: 0 };
        fs::write(site.path("old"), b"old").unwrap();
        site.change(|fs| {
            let root = fs.root();
            let old = fs.lookup(&CX, at(&root, "old")).unwrap().handle;
            let xattr = XattrName::new(b"note").unwrap();
            // Where there are no extended attributes there is nothing to be lost.
            let _ = fs.set_xattr(&CX, &old, &SetXattr { name: xattr, value: b"v", mode: XattrMode::Either });
            fs.rename(&CX, at(&root, "old"), at(&root, "new")).unwrap();
            write(fs, &old, b"newer");
            let set = SetAttributes {
                mode: Some(0o640),
                size_bytes: Some(3),
                modified: Some(SetTime::To(modified)),
                ..SetAttributes::default()
            };
            fs.set_attributes(&CX, &old, &set).unwrap();
            fs.link(&CX, &old, at(&root, "second")).unwrap();
            let gone = create(fs, &root, "gone");
            fs.remove(&CX, at(&root, "gone")).unwrap();
            assert!(matches!(fs.attributes(&CX, &gone), Err(Error::Stale)));
        });
        // As if none of it had reached the disk.
        fs::rename(site.path("new"), site.path("old")).unwrap();
        fs::remove_file(site.path("second")).unwrap();
        fs::write(site.path("old"), b"old").unwrap();
        let (fs, _, log) = site.open(true).unwrap();
        let names: Vec<_> =
            fs::read_dir(site.base.path("export")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let second = fs.lookup(&CX, at(&fs.root(), "second")).unwrap();
        assert_eq!(fs.lookup(&CX, at(&fs.root(), "new")).unwrap().handle, second.handle);
        assert_eq!(read(&fs, &second.handle), b"new");
        assert_eq!((second.attributes.mode, second.attributes.modified), (0o640, modified));
        log.close();
    }
}

#[test]
fn every_file_looks_changed_after_a_replay_and_as_before_after_other_starts() {
    let site = Site::new(HandleForm::Auto);
    let (file, before) = site.change(|fs| {
        let file = create(fs, &fs.root(), "file");
        create(fs, &fs.root(), "logged");
        let seen = versions(fs, &file);
        (file, seen)
    });
    let (fs, replayed, log) = site.open(false).unwrap();
    assert!(replayed.records > 0 && versions(&fs, &file) == before, "nothing was lost");
    create(&fs, &fs.root(), "other");
    log.close();
    drop((fs, log));
    // The records are of another file: storage may have this one's times, and not its data.
    let (fs, replayed, log) = site.open(true).unwrap();
    let after = versions(&fs, &file);
    assert!(replayed.compared && after.0 != before.0 && after.1 > before.1 && after.2 != before.2);
    let opened = fs.open(&CX, &file, OpenMode::Read).unwrap().attributes(&CX).unwrap();
    assert_eq!((opened.change, opened.changed), (after.0, after.1));
    log.close();
    drop((fs, log));
    let (fs, _, log) = site.open(false).unwrap();
    assert_eq!(versions(&fs, &file), after);
    log.close();
}

/// What clients compare with their caches: change attribute, ctime, and the verifier of directory cookies.
fn versions(fs: &StableFs, file: &Handle) -> (u64, Timestamp, u64) {
    let attributes = fs.attributes(&CX, file).unwrap();
    (attributes.change, attributes.changed, fs.properties().cookie_verifier)
}

#[test]
fn what_the_machine_still_has_is_not_made_again_over_local_changes() {
    let site = Site::new(HandleForm::Auto);
    site.change(|fs| {
        let file = create(fs, &fs.root(), "file");
        write(fs, &file, b"by a client");
    });
    fs::write(site.path("file"), b"by a local process, later").unwrap();
    let (_, replayed, log) = site.open(false).unwrap();
    assert!(replayed.records > 0 && !replayed.compared);
    assert_eq!(fs::read(site.path("file")).unwrap(), b"by a local process, later");
    log.close();
}

#[test]
fn log_of_another_directory_or_with_changes_of_one_that_is_missing_is_refused() {
    let site = Site::new(HandleForm::Auto);
    site.change(|fs| create(fs, &fs.root(), "file"));
    let other = site.base.path("other");
    fs::create_dir(&other).unwrap();
    let refused = site.open_dir(&other, false).err().unwrap();
    assert!(matches!(refused, WriteLogError::OtherTree { records: 1.., .. }), "{refused}");
    let device = Arc::new(FileDevice::open(&site.base.path("log")).unwrap());
    let log = WriteLog::open(device, Options::new(site.base.path("state"))).unwrap();
    let refused = log.start().err().unwrap();
    assert!(matches!(refused, WriteLogError::Missing { records: 1.., .. }), "{refused}");
}

#[test]
fn small_unstable_data_that_are_committed_come_back_and_large_ones_are_in_storage() {
    let site = Site::new(HandleForm::Auto);
    let (small, large) = site.change(|fs| {
        let (small, large) = (create(fs, &fs.root(), "small"), create(fs, &fs.root(), "large"));
        for (file, bytes) in [(&small, 10), (&large, 1 << 20)] {
            let open = fs.open(&CX, file, OpenMode::Write).unwrap();
            open.write_at(&CX, 0, b"stable", Stability::File).unwrap();
            open.write_at(&CX, 0, &vec![b'u'; bytes], Stability::Unstable).unwrap();
            open.sync(&CX).unwrap();
        }
        (small, large)
    });
    fs::write(site.path("small"), b"").unwrap();
    let (fs, _, log) = site.open(true).unwrap();
    assert_eq!(read(&fs, &small), b"uuuuuuuuuu");
    // The older stable data are not written over the newer ones that COMMIT has brought to storage.
    assert_eq!(read(&fs, &large), [b'u'; 100]);
    log.close();
}

#[test]
fn event_loop_writes_stably_when_the_log_is_quick_and_has_room_and_nobody_changes_the_file() {
    let site = Site::new(HandleForm::Auto);
    let device = Arc::new(MemoryDevice::new(1 << 20));
    WriteLog::create(device.clone()).unwrap();
    let log = WriteLog::open(device, Options::new(site.base.path("state"))).unwrap();
    let host = HostOptions { sync_metadata: false, ..HostOptions::default() };
    let (fs, _) =
        log.attach(Path::new("export"), Arc::new(HostFs::open(&site.base.path("export"), host).unwrap())).unwrap();
    log.start().unwrap();
    let entry = fs.create(&CX, at(&fs.root(), "a"), CreateMode::Guarded, &SetAttributes::default()).unwrap();
    let file = fs.open(&CX, &entry.handle, OpenMode::Write).unwrap();
    let on_loop = Context { may_block: false, ..CX };
    let write = |cx: &Context<'_>, bytes: usize| file.write_at(cx, 0, &vec![7; bytes], Stability::File).is_ok();
    assert!(fs.changes_wait() && !write(&on_loop, 4096), "nobody knows yet how quick the device is");
    let mut tries = 0;
    // On a busy machine a write may take long now and then.
    while !write(&on_loop, 4096) || fs.changes_wait() {
        tries += 1;
        assert!(tries < 10_000 && write(&CX, 16));
        log.drain().unwrap();
    }
    assert!(!write(&on_loop, (64 << 10) + 1), "so much would take too long");
    let written = (0..1000).take_while(|_| write(&on_loop, 16 << 10)).count();
    assert!(written < 40 && fs.changes_wait(), "{written} writes; the log is half full after 32");
    log.close();
}

/// A request that came with this ticket.
fn with(ticket: &[u8]) -> Context<'_> {
    Context { ticket, ..CX }
}

/// Changes of names by requests, one of which fails.
fn change_by_requests(fs: &StableFs) -> [Handle; 2] {
    let (root, set) = (fs.root(), SetAttributes::default());
    let made = fs.create(&with(b"create"), at(&root, "made"), CreateMode::Guarded, &set).unwrap().handle;
    let dir = fs.make_node(&with(b"mkdir"), at(&root, "dir"), NewNode::Directory, &set).unwrap().handle;
    fs.link(&with(b"link"), &made, at(&dir, "link")).unwrap();
    fs.set_attributes(&with(b"chmod"), &made, &SetAttributes { mode: Some(0o600), ..set }).unwrap();
    fs.rename(&with(b"rename"), at(&root, "made"), at(&root, "moved")).unwrap();
    fs.remove_dir(&with(b"rmdir"), at(&root, "dir")).unwrap_err();
    fs.remove(&with(b"remove"), at(&dir, "link")).unwrap();
    fs.remove(&CX, at(&root, "moved")).unwrap();
    [made, dir]
}

#[test]
fn log_tells_after_a_power_failure_which_requests_had_changed_names() {
    for form in forms() {
        let site = Site::new(form);
        let [made, dir] = site.change(change_by_requests);
        let (_, _, log) = site.open(true).unwrap();
        let known = log.take_made_changes();
        let known: Vec<_> = known.iter().map(|change| (change.ticket.as_slice(), change.file)).collect();
        let file = Some(made);
        let expected: [(&[u8], _); 5] =
            [(b"create", file), (b"mkdir", Some(dir)), (b"link", file), (b"rename", file), (b"remove", None)];
        assert_eq!(known, expected, "{form:?}");
        assert!(log.take_made_changes().is_empty());
        log.close();

        let site = Site::new(form);
        site.change(change_by_requests);
        let (_, _, log) = site.open(false).unwrap();
        assert!(log.take_made_changes().is_empty(), "{form:?}: nothing was lost");
        log.close();
    }
}

#[test]
fn nothing_is_dropped_before_what_else_is_known_of_requests_is_in_storage() {
    let site = Site::new(HandleForm::Store);
    let (fs, _, log) = site.open(false).unwrap();
    let calls = Arc::new(AtomicU32::new(0));
    let (counted, kept) = (Arc::clone(&calls), Arc::clone(&log));
    log.before_trim(move || {
        assert!(kept.status().oldest_age.is_some(), "the record is gone");
        counted.fetch_add(1, Ordering::Relaxed);
    });
    create(&fs, &fs.root(), "file");
    log.drain().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    log.close();
}

#[test]
fn closed_log_keeps_what_was_not_flushed() {
    let site = Site::new(HandleForm::Store);
    let (fs, _, log) = site.open(false).unwrap();
    create(&fs, &fs.root(), "file");
    log.close();
    assert!(matches!(log.drain(), Err(WriteLogError::Closed)));
    assert!(log.status().oldest_age.is_some(), "the record is gone, and nobody has flushed its change");
}
