//! Descriptors: bounded, given back, and none kept of what is gone. One test at a time, since they count those of the
//! process.
#![allow(clippy::unwrap_used, reason = "this is test code, some of it outside of test functions")]

use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testing::host_export::*;
use vfs::{Context, Error, FileSystem, OpenMode, SetAttributes, Stability};
use wharf_fs_host::{HandleForm, HostFs, HostOptions};

static ALONE: Mutex<()> = Mutex::new(());

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn nothing_stays_open_when_the_export_is_closed() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for form in forms() {
        let before = open_descriptors();
        let export = Export::on_disk();
        let fs = export.open(form);
        for number in 0..100 {
            let file = touch(&fs, &number.to_string()).handle;
            write(&fs, &file, b"x");
            let _ = fs.create(&CX, at(&fs.root(), "0"), vfs::CreateMode::Guarded, &SetAttributes::default());
            let _ = fs.lookup(&CX, at(&file, "none"));
        }
        list_all(&fs, &fs.root());
        assert!(open_descriptors() > before + 100, "the files are at hand");
        drop(fs);
        assert_eq!(open_descriptors(), before, "{form:?}");
    }
}

#[test]
fn files_that_nobody_uses_give_their_descriptors_back_and_those_in_use_keep_them() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for form in forms() {
        let export = Export::on_disk();
        let options = HostOptions { max_nodes: Some(1000), workers: 8, ..export.options(form) };
        let fs = HostFs::open(&export.path(), options).unwrap();
        let before = open_descriptors();
        let files: Vec<_> = (0..100).map(|number| touch(&fs, &number.to_string()).handle).collect();
        let ask = |worker, file| assert!(fs.attributes(&Context { worker, ..CX }, file).is_ok());
        (0..8).for_each(|worker| files.iter().for_each(|file| ask(worker, file)));
        let at_hand = open_descriptors() - before;
        assert!(at_hand >= 200, "{form:?}: workers have the files at hand, with {at_hand} descriptors");
        for _ in 0..6 {
            ask(1, &files[7]);
            fs.maintain();
        }
        let left = open_descriptors() - before;
        assert!((1..=3).contains(&left), "{form:?}: {left} descriptors are left for a file and the root");
        files.iter().for_each(|file| ask(0, file));
    }
}

#[test]
fn file_that_the_kernel_opens_by_its_handle_takes_one_descriptor() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let export = Export::on_disk();
    let Ok(fs) = HostFs::open(&export.path(), export.options(HandleForm::Kernel)) else { return };
    std::fs::write(export.path().join("f"), b"content").unwrap();
    let file = fs.lookup(&CX, at(&fs.root(), "f")).unwrap().handle;
    for mode in [OpenMode::Read, OpenMode::Write] {
        let before = open_descriptors();
        let opened = fs.open(&CX, &file, mode).unwrap();
        assert_eq!(open_descriptors(), before + 1, "{mode:?}");
        let mut content = [0; 8];
        assert_eq!(opened.read_at(&CX, 0, &mut content).unwrap(), 7);
    }
    std::fs::remove_file(export.path().join("f")).unwrap();
    assert!(matches!(fs.open(&CX, &file, OpenMode::Read), Err(Error::Stale)));
}

#[test]
fn busy_worker_gets_the_room_of_one_that_is_idle() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let export = Export::in_memory();
    let options = HostOptions { max_nodes: Some(500), workers: 20, ..export.options(HandleForm::Auto) };
    let fs = HostFs::open(&export.path(), options).unwrap();
    let files: Vec<_> = (0..600).map(|n| touch(&fs, &format!("f{n:03}")).handle).collect();
    let ask = |worker, files: &[vfs::Handle]| {
        for file in files {
            fs.attributes(&Context { worker, ..CX }, file).unwrap();
        }
    };
    let at_hand = |is_counted: fn(&str) -> bool| {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        let names = links.filter_map(|link| std::fs::read_link(link.unwrap().path()).ok());
        names.filter(|name| is_counted(name.file_name().and_then(|name| name.to_str()).unwrap_or(""))).count()
    };
    (0..2).for_each(|_| ask(1, &files[..500]));
    assert!(at_hand(|name| ("f000".."f500").contains(&name)) > 450, "one worker may have nearly all");
    (0..20).for_each(|_| ask(2, &files[500..]));
    assert!(at_hand(|name| ("f500".."f600").contains(&name)) > 90, "and gives them up");
}

#[test]
fn space_of_a_removed_file_is_freed_though_several_workers_had_it_at_hand() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for form in forms() {
        let export = Export::in_memory();
        let gone = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&gone);
        let on_gone: wharf_fs_host::GoneListener = Arc::new(move |handle| heard.lock().unwrap().push(*handle));
        let fs = HostFs::open(&export.path(), HostOptions { on_gone: Some(on_gone), ..export.options(form) }).unwrap();
        let file = touch(&fs, "f").handle;
        let opened = fs.open(&CX, &file, OpenMode::Write).unwrap();
        opened.write_at(&CX, 0, &[1; 1 << 20], Stability::Unstable).unwrap();
        drop(opened);
        fs.attributes(&Context { worker: 1, ..CX }, &file).unwrap();
        assert_eq!(held_inodes(&export), 1);
        fs.remove(&CX, at(&fs.root(), "f")).unwrap();
        assert_eq!(held_inodes(&export), 0, "{form:?}");
        assert_eq!(*gone.lock().unwrap(), [file]);
        // Somebody else's removal is noticed when the server asks for it.
        let file = touch(&fs, "g").handle;
        fs.attributes(&CX, &file).unwrap();
        std::fs::remove_file(export.path().join("g")).unwrap();
        fs.maintain();
        assert_eq!(held_inodes(&export), 0, "{form:?}");
    }
}

#[test]
fn file_that_is_removed_as_it_was_seen_is_let_go_when_its_last_name_is_gone_and_not_before() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for form in forms() {
        let export = Export::in_memory();
        let fs = export.open(form);
        touch(&fs, "f");
        std::fs::hard_link(export.path().join("f"), export.path().join("g")).unwrap();
        let remove = |name| {
            let seen = fs.lookup(&CX, at(&fs.root(), name)).unwrap();
            fs.attributes(&CX, &seen.handle).unwrap();
            fs.attributes(&Context { worker: 1, ..CX }, &seen.handle).unwrap();
            fs.remove_seen(&CX, at(&fs.root(), name), &seen).unwrap();
            seen.handle
        };
        let handle = remove("f");
        assert_eq!(fs.attributes(&CX, &handle).unwrap().links, 1, "{form:?}");
        remove("g");
        assert_eq!(held_inodes(&export), 0, "{form:?}");
        assert!(matches!(fs.attributes(&CX, &handle), Err(Error::Stale)), "{form:?}");
    }
}

#[test]
fn file_that_took_the_name_of_the_one_that_was_seen_is_let_go_with_the_next_look() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for form in forms() {
        let export = Export::in_memory();
        let fs = export.open(form);
        let seen = touch(&fs, "f");
        std::fs::rename(export.path().join("f"), export.path().join("elsewhere")).unwrap();
        let other = touch(&fs, "f").handle;
        fs.attributes(&CX, &other).unwrap();
        fs.remove_seen(&CX, at(&fs.root(), "f"), &seen).unwrap();
        fs.maintain();
        assert!(matches!(fs.attributes(&CX, &other), Err(Error::Stale)), "{form:?}");
        assert!(fs.attributes(&CX, &seen.handle).is_ok(), "{form:?}");
    }
}

/// How many files of the export this process holds open, by whatever descriptor; directories are not counted.
fn held_inodes(export: &Export) -> usize {
    let mut held: Vec<_> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .filter(|path| path.starts_with(export.path()) && *path != export.path())
        .collect();
    held.dedup();
    held.len().min(1)
}

#[test]
fn running_out_of_descriptors_is_survived_and_otherwise_temporary() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for form in forms() {
        let export = Export::on_disk();
        let fs = export.open(form);
        let files: Vec<_> = (0..64).map(|n| touch(&fs, &n.to_string()).handle).collect();
        // Files that were made are closed in two steps.
        (0..2).for_each(|_| fs.maintain());
        assert!(files.iter().all(|file| fs.attributes(&CX, file).is_ok()));
        let unseen = touch(&fs, "unseen").handle;
        let elsewhere = Export::on_disk();
        let file = touch(&elsewhere.open(form), "f").handle;
        let bare = elsewhere.open(form);
        let usual = getrlimit(Resource::Nofile);
        let hogs = with_descriptors_left(0);
        // The 64 files at hand make room.
        let survived = (fs.attributes(&CX, &unseen), fs.open(&CX, &unseen, OpenMode::Read).map(drop));
        let worker = Context { worker: 1, ..CX };
        let hogs = (hogs, with_descriptors_left(0));
        // This worker has nothing to give, but the other one has.
        let helped = fs.attributes(&worker, &files[0]);
        let hogs = (hogs, with_descriptors_left(0));
        // This export has nothing to give.
        let refused = bare.attributes(&CX, &file);
        drop(hogs);
        setrlimit(Resource::Nofile, usual).unwrap();
        assert!(survived.0.is_ok() && survived.1.is_ok(), "{form:?}: {survived:?}");
        assert!(helped.is_ok(), "{form:?}: {helped:?}");
        assert!(matches!(&refused, Err(error) if error.lacks_descriptors()), "{form:?}: {refused:?}");
        assert!(bare.attributes(&CX, &file).is_ok());
    }
}

#[test]
fn all_workers_together_hold_no_more_than_they_may() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let export = Export::on_disk();
    let options = HostOptions { max_nodes: Some(20), workers: 8, ..export.options(HandleForm::Auto) };
    let fs = HostFs::open(&export.path(), options).unwrap();
    let before = open_descriptors();
    let files: Vec<_> = (0..100).map(|n| touch(&fs, &n.to_string()).handle).collect();
    for (worker, file) in (0..8).cycle().zip(&files) {
        fs.attributes(&Context { worker, ..CX }, file).unwrap();
    }
    // The root is held open for listing too.
    assert!(open_descriptors() <= before + 28, "{} more", open_descriptors() - before);
}

/// Opens files until only `left` more can be opened.
fn with_descriptors_left(left: usize) -> Vec<std::fs::File> {
    let most = 4096;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: limit.maximum }).unwrap();
    let mut hogs: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
    hogs.truncate(hogs.len() - left);
    hogs
}

#[test]
fn held_file_that_is_removed_is_reached_and_its_space_is_freed_with_the_last_hold() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for form in forms() {
        let export = Export::in_memory();
        let fs = export.open(form);
        let file = touch(&fs, "f").handle;
        let (first, second) = (fs.hold(&CX, &file).unwrap(), fs.hold(&Context { worker: 1, ..CX }, &file).unwrap());
        fs.remove(&CX, at(&fs.root(), "f")).unwrap();
        fs.maintain();
        for worker in [0, 1] {
            assert_eq!(fs.attributes(&Context { worker, ..CX }, &file).unwrap().links, 0, "{form:?}");
        }
        fs.open(&CX, &file, OpenMode::Write).unwrap().write_at(&CX, 0, &[1; 9 << 20], Stability::Unstable).unwrap();
        drop(first);
        let opened = fs.open(&CX, &file, OpenMode::Read).unwrap();
        assert_eq!(opened.attributes(&CX).unwrap().size_bytes, 9 << 20, "{form:?}");
        drop((opened, second));
        // A large file is freed by a thread of its own.
        let began = std::time::Instant::now();
        while held_inodes(&export) > 0 && began.elapsed() < std::time::Duration::from_secs(60) {
            std::thread::yield_now();
        }
        assert_eq!(held_inodes(&export), 0, "{form:?}");
        assert!(matches!(fs.attributes(&CX, &file), Err(Error::Stale)), "{form:?}");
    }
}
