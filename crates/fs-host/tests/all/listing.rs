//! Listings: every name that stays is given exactly once, whatever comes and goes meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use vfs::{Context, Detail, Error, FileKind, FileSystem, Listing, NewNode, ReadDir, SetAttributes};
use wharf_fs_host::HandleForm;

use testing::host_export::*;

const NAMES: usize = 100_000;
const CHURN: usize = 2_000;

/// Lists in parts of this many entries, by a fresh cookie each time.
const PART: usize = 997;

#[test]
fn every_stable_name_of_100_000_is_seen_once_while_others_come_and_go() {
    for export in [Export::on_disk(), Export::in_memory()] {
        let dir = export.path();
        (0..NAMES).for_each(|n| drop(std::fs::File::create(dir.join(format!("stable-{n}"))).unwrap()));
        let fs = export.open(HandleForm::Auto);
        let is_done = AtomicBool::new(false);
        let seen = std::thread::scope(|scope| {
            scope.spawn(|| churn(&dir, &is_done));
            let seen = list_in_parts(&fs);
            is_done.store(true, Ordering::Relaxed);
            seen
        });
        let stable: Vec<_> = seen.iter().filter(|(name, _)| name.starts_with(b"stable-")).collect();
        assert_eq!(stable.len(), NAMES);
        assert!(stable.iter().all(|(_, count)| **count == 1));
    }
}

fn churn(dir: &std::path::Path, is_done: &AtomicBool) {
    let mut number = 0;
    while !is_done.load(Ordering::Relaxed) {
        std::fs::write(dir.join(format!("passing-{number}")), "").unwrap();
        if number >= CHURN {
            std::fs::remove_file(dir.join(format!("passing-{}", number - CHURN))).unwrap();
        }
        number += 1;
    }
}

fn list_in_parts(fs: &wharf_fs_host::HostFs) -> HashMap<Vec<u8>, usize> {
    let mut seen = HashMap::new();
    let mut after = 0;
    loop {
        let (part, listing) = list_part(fs, &fs.root(), after, PART);
        assert!(part.iter().all(|entry| (1..=u64::MAX - 2).contains(&entry.cookie)));
        after = part.last().map_or(after, |entry| entry.cookie);
        part.into_iter().for_each(|entry| *seen.entry(entry.name).or_default() += 1);
        if listing == Listing::Complete {
            return seen;
        }
    }
}

#[test]
fn listing_goes_on_after_a_restart_and_after_its_last_entry_was_removed() {
    for export in [Export::on_disk(), Export::in_memory()] {
        (0..1000).for_each(|n| std::fs::write(export.path().join(n.to_string()), "").unwrap());
        let (first, _) = {
            let fs = export.open(HandleForm::Auto);
            list_part(&fs, &fs.root(), 0, 500)
        };
        let last = first.last().unwrap();
        std::fs::remove_file(export.path().join(std::str::from_utf8(&last.name).unwrap())).unwrap();
        let fs = export.open(HandleForm::Auto);
        let (rest, listing) = list_part(&fs, &fs.root(), last.cookie, usize::MAX);
        assert_eq!((rest.len(), listing), (500, Listing::Complete));
        assert!(rest.iter().all(|entry| first.iter().all(|earlier| earlier.name != entry.name)));
    }
}

#[test]
fn names_that_are_not_utf8_are_listed_found_and_removed() {
    let longest = [0xff; 255];
    for form in forms() {
        let export = Export::on_disk();
        let fs = export.open(form);
        let place = at_bytes(&fs.root(), &longest).name;
        let place = vfs::Place { dir: fs.root(), name: place };
        let made = fs.create(&CX, place, vfs::CreateMode::Guarded, &SetAttributes::default()).unwrap();
        let listed = list_all(&fs, &fs.root());
        assert_eq!(listed[0].name, longest);
        assert_eq!(listed[0].entry.unwrap().handle, made.handle);
        assert_eq!(fs.lookup(&CX, place).unwrap().handle, made.handle);
        fs.remove(&CX, place).unwrap();
        assert!(list_all(&fs, &fs.root()).is_empty());
    }
}

#[test]
fn listing_without_details_has_names_and_numbers_only() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let file = touch(&fs, "a");
    let mut fileids = Vec::new();
    let list = ReadDir { dir: &fs.root(), after: 0, detail: Detail::Names };
    let listing = fs.read_dir(&CX, list, &mut |entry| {
        assert!(entry.entry.is_none());
        fileids.push(entry.fileid);
        ControlFlow::Continue(())
    });
    assert_eq!((listing.unwrap(), fileids), (Listing::Complete, vec![file.attributes.fileid]));
}

#[test]
fn cookie_that_no_directory_gives_is_refused() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let list = ReadDir { dir: &fs.root(), after: u64::MAX - 1, detail: Detail::Names };
    assert!(matches!(fs.read_dir(&CX, list, &mut |_| ControlFlow::Continue(())), Err(Error::BadCookie)));
}

#[test]
fn file_is_not_listed() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let file = touch(&fs, "a").handle;
    let list = ReadDir { dir: &file, after: 0, detail: Detail::Names };
    assert!(matches!(fs.read_dir(&CX, list, &mut |_| ControlFlow::Continue(())), Err(Error::NotDirectory)));
}

#[test]
fn listing_on_a_loop_may_end_early_but_always_moves_on() {
    let export = Export::in_memory();
    (0..20_000).for_each(|n| std::fs::write(export.path().join(n.to_string()), "").unwrap());
    let fs = export.open(HandleForm::Auto);
    let cx = Context { may_block: false, ..CX };
    let (mut after, mut count) = (0, 0);
    loop {
        let before = count;
        let list = ReadDir { dir: &fs.root(), after, detail: Detail::Entries };
        let listing = fs.read_dir(&cx, list, &mut |entry| {
            (after, count) = (entry.cookie, count + 1);
            ControlFlow::Continue(())
        });
        if listing.unwrap() == Listing::Complete {
            break;
        }
        assert!(count > before);
    }
    assert_eq!(count, 20_000);
}

#[test]
fn listing_tells_kinds_without_the_files_themselves() {
    for export in [Export::on_disk(), Export::in_memory()] {
        let fs = export.open(HandleForm::Store);
        touch(&fs, "file");
        fs.make_node(&CX, at(&fs.root(), "dir"), NewNode::Directory, &SetAttributes::default()).unwrap();
        fs.make_node(&CX, at(&fs.root(), "link"), NewNode::Symlink(b"file"), &SetAttributes::default()).unwrap();
        fs.make_node(&CX, at(&fs.root(), "pipe"), NewNode::Fifo, &SetAttributes::default()).unwrap();
        let list = ReadDir { dir: &fs.root(), after: 0, detail: Detail::Kinds };
        let mut kinds = BTreeMap::new();
        fs.read_dir(&CX, list, &mut |entry| {
            assert!(entry.entry.is_none());
            kinds.insert(entry.name.to_vec(), entry.kind.unwrap());
            ControlFlow::Continue(())
        })
        .unwrap();
        let names = kinds.keys().map(|name| name.escape_ascii().to_string()).collect::<Vec<_>>();
        assert_eq!(names, ["dir", "file", "link", "pipe"]);
        let expected = [FileKind::Directory, FileKind::Regular, FileKind::Symlink, FileKind::Fifo];
        assert_eq!(kinds.into_values().collect::<Vec<_>>(), expected);
    }
}
