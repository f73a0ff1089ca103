//! Changes that a replay cannot make: the others are made, and these are kept and reported.

use std::fs;

use fs_host::HandleForm;
use stable::{SetAside, changes_set_aside};
use testing::Immutable;
use vfs::{FileSystem, SetAttributes};

use crate::support::site::{CX, Site, at, create, read, write};

fn kept(site: &Site) -> String {
    fs::read_to_string(site.base.path("state/write-log-set-aside")).unwrap()
}

#[test]
fn changes_that_the_file_system_refuses_are_kept_and_all_others_are_made() {
    let site = Site::new(HandleForm::Auto);
    fs::create_dir(site.path("fixed")).unwrap();
    fs::write(site.path("frozen"), "older").unwrap();
    let good = site.change(|fs| {
        let root = fs.root();
        let fixed = fs.lookup(&CX, at(&root, "fixed")).unwrap().handle;
        let frozen = fs.lookup(&CX, at(&root, "frozen")).unwrap().handle;
        write(fs, &create(fs, &fixed, "file"), b"kept");
        write(fs, &frozen, b"newer");
        fs.set_attributes(&CX, &frozen, &SetAttributes { mode: Some(0o604), ..SetAttributes::default() }).unwrap();
        let good = create(fs, &root, "good");
        write(fs, &good, b"good");
        good
    });
    fs::remove_file(site.path("fixed/file")).unwrap();
    fs::remove_file(site.path("good")).unwrap();
    fs::remove_file(site.path("frozen")).ok();
    fs::write(site.path("frozen"), "older").unwrap();
    let Some(_fixed) = Immutable::make(&site.path("fixed")) else { return };
    let (fs, replayed, log) = site.open(true).unwrap();
    assert!(replayed.set_aside >= 3, "{replayed:?}");
    assert_eq!(read(&fs, &good), b"good");
    let kept = kept(&site);
    for part in [
        "file: fixed/file\nchange: make a file\nreason: operation not permitted\nremedy: let the \
         server change the file",
        "change: write 4 bytes at offset 0\nreason: its file or directory could not be made\n",
        "data in hex: 6b657074\n",
    ] {
        assert!(kept.contains(part), "{part:?} is not in {kept}");
    }
    log.close();
    drop((fs, log));
    let (_fs, replayed, log) = site.open(true).unwrap();
    assert_eq!((replayed.records, replayed.set_aside), (0, 0), "each is set aside once");
    log.close();
}

#[test]
fn data_and_attributes_of_a_file_that_cannot_be_changed_are_kept() {
    let site = Site::new(HandleForm::Auto);
    fs::write(site.path("frozen"), "older").unwrap();
    site.change(|fs| {
        let frozen = fs.lookup(&CX, at(&fs.root(), "frozen")).unwrap().handle;
        write(fs, &frozen, b"newer");
        let set = SetAttributes { mode: Some(0o604), size_bytes: Some(3), ..SetAttributes::default() };
        fs.set_attributes(&CX, &frozen, &set).unwrap();
        fs.rename(&CX, at(&fs.root(), "frozen"), at(&fs.root(), "moved")).unwrap();
    });
    fs::rename(site.path("moved"), site.path("frozen")).unwrap();
    fs::write(site.path("frozen"), "older").unwrap();
    fs::set_permissions(site.path("frozen"), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let Some(frozen) = Immutable::make(&site.path("frozen")) else { return };
    let (_fs, replayed, log) = site.open(true).unwrap();
    assert!(replayed.set_aside >= 4, "{replayed:?}");
    let kept = kept(&site);
    for part in ["change: write 5 bytes at offset 0", "data in hex: 6e65776572", "set the size to 3 bytes", "mode 0604"]
    {
        assert!(kept.contains(part), "{part:?} is not in {kept}");
    }
    drop(frozen);
    assert_eq!(fs::read(site.path("frozen")).unwrap(), b"older", "the file is where it was");
    log.close();
}

#[test]
fn file_whose_name_another_program_has_taken_is_kept_through_later_replays() {
    let site = Site::new(HandleForm::Auto);
    site.change(|fs| write(fs, &create(fs, &fs.root(), "name"), b"the client's"));
    fs::remove_file(site.path("name")).unwrap();
    fs::write(site.path("other"), "keeps the number of the lost file").unwrap();
    fs::write(site.path("name"), "another program's").unwrap();
    let (_fs, replayed, log) = site.open(true).unwrap();
    assert_eq!((replayed.set_aside, replayed.made), (1, 1), "{replayed:?}");
    log.close();
    drop((_fs, log));
    let aside = changes_set_aside(&site.base.path("state")).unwrap();
    let [SetAside { file, change, kept_as: Some(path), reason, .. }] = &aside[..] else { panic!("{aside:?}") };
    assert_eq!((&file[..], &change[..]), ("name", "give the file this name"));
    assert!(reason.starts_with("another program"), "{reason}");
    assert_eq!(fs::read_to_string(site.path(path)).unwrap(), "the client's");
    site.change(|fs| create(fs, &fs.root(), "later"));
    let (_fs, _, log) = site.open(true).unwrap();
    log.close();
    let entries = fs::read_dir(site.path("")).unwrap().map(|entry| entry.unwrap().path());
    let contents: Vec<_> = entries.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(contents.iter().any(|content| content == "the client's"), "{contents:?}");
}
