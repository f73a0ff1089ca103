//! Names and handles from memory are those that the directory has.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use vfs::{Context, Detail, Error, FileSystem, Handle, Listing, ReadDir};
use wharf_fs_host::{HandleForm, HostFs, HostOptions, MetadataMemory};

use testing::host_export::*;

const LOOP: Context<'static> = Context { may_block: false, ..Context::ROOT };

/// Longer than the tick of any kernel clock, mostly. Nothing fails if it is not.
const TICK: Duration = Duration::from_millis(12);

/// How long names may take to be listed from memory before a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

const ROUNDS: usize = 200;

/// After so many looks at a file, its handle is kept, mostly.
const LOOKS: usize = 100;

fn exports() -> [Export; 2] {
    [Export::on_disk(), Export::in_memory()]
}

fn names(fs: &HostFs, cx: &Context<'_>) -> vfs::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut after = 0;
    loop {
        let list = ReadDir { dir: &fs.root(), after, detail: Detail::Names };
        let listing = fs.read_dir(cx, list, &mut |entry| {
            assert!(names.insert(String::from_utf8(entry.name.to_vec()).unwrap()), "a name is listed twice");
            after = entry.cookie;
            ControlFlow::Continue(())
        })?;
        if listing == Listing::Complete {
            return Ok(names);
        }
    }
}

fn names_of_host(dir: &Path) -> BTreeSet<String> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn look_up(fs: &HostFs, worker: usize, name: &str) -> vfs::Result<Handle> {
    fs.lookup(&Context { worker, ..CX }, at(&fs.root(), name)).map(|found| found.handle)
}

#[test]
fn listing_has_every_change_that_was_made_before_it() {
    for export in exports() {
        let dir = export.path();
        let fs = export.open(HandleForm::Auto);
        (0..100).for_each(|n| fs::write(dir.join(format!("stays-{n}")), "").unwrap());
        for round in 0..ROUNDS {
            match round % 5 {
                0 => fs::write(dir.join("a"), "").unwrap(),
                1 => fs::rename(dir.join("a"), dir.join("b")).unwrap(),
                2 => fs::hard_link(dir.join("b"), dir.join("c")).unwrap(),
                3 => fs::rename(dir.join("c"), export.outside().join("c")).unwrap(),
                _ => fs::remove_file(dir.join("b")).unwrap(),
            }
            // Some listings are kept, and some are of the tick of the change.
            if round % 3 == 0 {
                thread::sleep(TICK);
            }
            for _ in 0..2 {
                assert_eq!(names(&fs, &CX).unwrap(), names_of_host(&dir), "in round {round}");
            }
        }
    }
}

#[test]
fn lookup_gives_the_handle_of_the_file_that_has_the_name_now() {
    for form in forms() {
        for export in exports() {
            let dir = export.path();
            let fs = export.open(form);
            // The inode number of a file is mostly that of the one before.
            for round in 0..ROUNDS {
                let data = round.to_string();
                fs::write(dir.join("f"), &data).unwrap();
                if round % 3 == 0 {
                    thread::sleep(TICK);
                }
                assert_names(&fs, "f", &data);
                assert_missing(&fs, "g");
                fs::rename(dir.join("f"), dir.join("g")).unwrap();
                assert_names(&fs, "g", &data);
                assert_missing(&fs, "f");
                fs::remove_file(dir.join("g")).unwrap();
                assert_missing(&fs, "g");
            }
        }
    }
}

/// For each worker, by turns.
fn assert_names(fs: &HostFs, name: &str, data: &str) {
    for worker in [0, 1, 0] {
        assert_eq!(read(fs, &look_up(fs, worker, name).unwrap()), data.as_bytes());
    }
}

fn assert_missing(fs: &HostFs, name: &str) {
    assert!(matches!(look_up(fs, 0, name), Err(Error::NoEntry)));
}

#[test]
fn names_are_listed_on_a_loop_from_memory_until_one_changes() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    (0..5000).for_each(|n| fs::write(export.path().join(n.to_string()), "").unwrap());
    let began = Instant::now();
    let listed = loop {
        assert_eq!(names(&fs, &CX).unwrap().len(), 5000);
        match names(&fs, &LOOP) {
            Ok(listed) => break listed,
            Err(error) => assert!(matches!(error, Error::WouldBlock) && began.elapsed() < PATIENCE, "{error}"),
        }
    };
    assert_eq!(listed, names_of_host(&export.path()));
    fs::write(export.path().join("new"), "").unwrap();
    assert!(matches!(names(&fs, &LOOP), Err(Error::WouldBlock)));
    assert!(names(&fs, &CX).unwrap().contains("new"));
}

#[test]
fn number_is_found_where_its_file_was_seen_last_whoever_saw_it() {
    let export = Export::in_memory();
    let (a, b) = (export.path().join("a"), export.path().join("b"));
    let fs = export.open(HandleForm::Store);
    let seen_by = |worker, name| fs.lookup(&Context { worker, ..LOOP }, at(&fs.root(), name)).unwrap().handle;
    fs::write(&a, "").unwrap();
    thread::sleep(TICK);
    let handle = seen_by(0, "a");
    (0..LOOKS).for_each(|_| assert_eq!(seen_by(0, "a"), handle));
    fs::rename(&a, &b).unwrap();
    assert_eq!(seen_by(1, "b"), handle);
    fs::rename(&b, &a).unwrap();
    assert_eq!(seen_by(0, "a"), handle);
    drop(fs);
    // A thread that may not wait searches for nothing.
    assert!(export.open(HandleForm::Store).attributes(&LOOP, &handle).is_ok());
}

#[test]
fn number_is_found_by_the_name_that_is_left() {
    let export = Export::on_disk();
    let (a, b) = (export.path().join("a"), export.path().join("b"));
    let fs = export.open(HandleForm::Store);
    fs::write(&a, "").unwrap();
    fs::hard_link(&a, &b).unwrap();
    thread::sleep(TICK);
    let handle = look_up(&fs, 0, "a").unwrap();
    (0..LOOKS).for_each(|_| assert_eq!(look_up(&fs, 0, "b").unwrap(), handle));
    fs::remove_file(&a).unwrap();
    assert_eq!(look_up(&fs, 0, "b").unwrap(), handle);
    drop(fs);
    assert!(export.open(HandleForm::Store).attributes(&LOOP, &handle).is_ok());
}

#[test]
fn names_and_handles_take_no_more_memory_than_they_may() {
    const MAX_BYTES: usize = 100_000;
    for (max_bytes, least) in [(0, 0), (MAX_BYTES, MAX_BYTES / 2)] {
        let export = Export::in_memory();
        let memory = Arc::new(MetadataMemory::new(max_bytes));
        let options = HostOptions { metadata_memory: Arc::clone(&memory), ..export.options(HandleForm::Store) };
        let fs = HostFs::open(&export.path(), options).unwrap();
        (0..3000).for_each(|n| fs::write(export.path().join(format!("name{n}")), "").unwrap());
        thread::sleep(TICK);
        for _ in 0..3 {
            let listed = list_all(&fs, &fs.root());
            assert!(listed.len() == 3000 && listed.iter().all(|entry| entry.entry.is_some()));
            assert!((least..=max_bytes).contains(&memory.used_bytes()), "{}", memory.used_bytes());
        }
        // What nobody uses is dropped.
        (0..3).for_each(|_| fs.maintain());
        assert_eq!(memory.used_bytes(), 0);
    }
}
