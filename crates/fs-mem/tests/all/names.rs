//! Names, handles and renames.

use fs_mem::{MemFs, MemOptions};
use vfs::{Blocking, Context, CreateMode, Device, Error, FileKind, FileSystem, Handle, Name, NewNode, OpenMode, Place};

use crate::shell::{NOTHING, Shell, name};

#[test]
fn every_kind_of_file_is_made_and_told_apart() {
    let shell = Shell::new();
    let device = Device { major: 8, minor: 17 };
    let kinds = [
        (NewNode::Directory, FileKind::Directory),
        (NewNode::Symlink(b"a/b"), FileKind::Symlink),
        (NewNode::BlockDevice(device), FileKind::BlockDevice),
        (NewNode::CharDevice(device), FileKind::CharDevice),
        (NewNode::Fifo, FileKind::Fifo),
        (NewNode::Socket, FileKind::Socket),
    ];
    for (node, kind) in kinds {
        let place = Place { dir: shell.0.root(), name: name("it") };
        let entry = shell.0.make_node(&Context::ROOT, place, node, &NOTHING).unwrap();
        assert_eq!(entry.attributes.kind, kind);
        let is_device = matches!(kind, FileKind::BlockDevice | FileKind::CharDevice);
        assert_eq!(entry.attributes.device, if is_device { device } else { Device::default() });
        assert!(matches!(shell.0.make_node(&Context::ROOT, place, node, &NOTHING), Err(Error::Exists)));
        let opened = shell.0.open(&Context::ROOT, &entry.handle, OpenMode::Read);
        if kind == FileKind::Directory {
            assert!(matches!(opened.err(), Some(Error::IsDirectory)));
            shell.rmdir("it").unwrap();
        } else {
            assert!(matches!(opened.err(), Some(Error::WrongKind)));
            shell.remove("it").unwrap();
        }
    }
}

#[test]
fn name_of_255_bytes_that_are_not_utf8_is_kept() {
    let shell = Shell::new();
    let bytes = [0xfe; 255];
    let place = Place { dir: shell.0.root(), name: Name::new(&bytes).unwrap() };
    let made = shell.0.create(&Context::ROOT, place, CreateMode::Guarded, &NOTHING).unwrap();
    assert_eq!(shell.0.lookup(&Context::ROOT, place).unwrap().handle, made.handle);
}

#[test]
fn handle_follows_a_file_through_renames() {
    let shell = Shell::new();
    shell.mkdir("a").unwrap();
    shell.mkdir("b").unwrap();
    let handle = shell.create("a/x").unwrap();
    shell.rename("a/x", "a/y").unwrap();
    shell.rename("a/y", "b/z").unwrap();
    assert_eq!(shell.handle("b/z").unwrap(), handle);
    assert!(matches!(shell.handle("a/x"), Err(Error::NoEntry)));
    assert!(shell.0.attributes(&Context::ROOT, &handle).is_ok());
}

#[test]
fn handle_of_a_removed_file_is_stale_for_ever() {
    let shell = Shell::new();
    let old = shell.create("x").unwrap();
    shell.remove("x").unwrap();
    let new = shell.create("x").unwrap();
    assert_ne!(old, new);
    assert!(matches!(shell.0.attributes(&Context::ROOT, &old), Err(Error::Stale)));
    let dir = shell.mkdir("d").unwrap();
    shell.rmdir("d").unwrap();
    let place = Place { dir, name: name("x") };
    assert!(matches!(shell.0.create(&Context::ROOT, place, CreateMode::Guarded, &NOTHING), Err(Error::Stale)));
}

#[test]
fn handle_from_before_a_restart_is_stale_and_not_another_file() {
    let (before, after) = (Shell::new(), Shell::new());
    let old = before.create("x").unwrap();
    after.create("x").unwrap();
    assert!(matches!(after.0.attributes(&Context::ROOT, &old), Err(Error::Stale)));
    assert_ne!(before.0.properties().cookie_verifier, after.0.properties().cookie_verifier);
}

#[test]
fn handle_that_never_was_one_is_bad() {
    let shell = Shell::new();
    assert!(matches!(shell.0.attributes(&Context::ROOT, &Handle::from_u64(1)), Err(Error::BadHandle)));
    let mut bytes = shell.0.root().as_bytes().to_vec();
    bytes[8..].copy_from_slice(&999_u64.to_be_bytes());
    let guessed = Handle::new(&bytes).unwrap();
    assert!(matches!(shell.0.attributes(&Context::ROOT, &guessed), Err(Error::BadHandle)));
}

#[test]
fn open_file_outlives_its_last_name() {
    let shell = Shell::new();
    let handle = shell.create("x").unwrap();
    shell.write("x", 0, b"still here").unwrap();
    let file = shell.0.open(&Context::ROOT, &handle, OpenMode::Read).unwrap();
    shell.remove("x").unwrap();
    let mut bytes = [0; 10];
    assert_eq!(file.read_at(&Context::ROOT, 0, &mut bytes).unwrap(), 10);
    assert_eq!(&bytes, b"still here");
    assert_eq!(file.attributes(&Context::ROOT).unwrap().links, 0);
    drop(file);
    assert!(matches!(shell.0.attributes(&Context::ROOT, &handle), Err(Error::Stale)));
}

#[test]
fn unlinked_file_gets_no_new_name() {
    let shell = Shell::new();
    let handle = shell.create("x").unwrap();
    let _file = shell.0.open(&Context::ROOT, &handle, OpenMode::Read).unwrap();
    shell.remove("x").unwrap();
    let place = Place { dir: shell.0.root(), name: name("y") };
    assert!(matches!(shell.0.link(&Context::ROOT, &handle, place), Err(Error::Stale)));
}

#[test]
fn root_is_its_own_parent_and_others_have_the_one_they_were_moved_to() {
    let shell = Shell::new();
    let a = shell.mkdir("a").unwrap();
    let b = shell.mkdir("b").unwrap();
    let parent = |handle: &Handle| shell.0.parent(&Context::ROOT, handle).unwrap().handle;
    assert_eq!(parent(&shell.0.root()), shell.0.root());
    assert_eq!(parent(&a), shell.0.root());
    shell.rename("a", "b/a").unwrap();
    assert_eq!(parent(&a), b);
    let file = shell.create("f").unwrap();
    assert!(matches!(shell.0.parent(&Context::ROOT, &file), Err(Error::NotDirectory)));
}

#[test]
fn links_count_names_and_subdirectories() {
    let shell = Shell::new();
    shell.create("x").unwrap();
    assert_eq!(shell.link("x", "y").unwrap().links, 2);
    shell.remove("x").unwrap();
    assert_eq!(shell.stat("y").unwrap().links, 1);
    shell.mkdir("d").unwrap();
    shell.mkdir("d/e").unwrap();
    assert_eq!(shell.stat("d").unwrap().links, 3);
    shell.rename("d/e", "e").unwrap();
    assert_eq!((shell.stat("d").unwrap().links, shell.stat("").unwrap().links), (2, 4));
    assert!(matches!(shell.link("d", "dd"), Err(Error::IsDirectory)));
}

#[test]
fn directory_cannot_be_moved_into_itself_or_below() {
    let shell = Shell::new();
    for path in ["a", "a/b", "a/b/c"] {
        shell.mkdir(path).unwrap();
    }
    assert!(matches!(shell.rename("a", "a/x"), Err(Error::Invalid)));
    assert!(matches!(shell.rename("a", "a/b/c/x"), Err(Error::Invalid)));
    assert!(matches!(shell.rename("a/b", "a/b/c"), Err(Error::Invalid)));
    assert!(matches!(shell.rename("a/b/c", "a"), Err(Error::NotEmpty)));
    assert!(matches!(shell.rename("a/b/c", "a/b"), Err(Error::NotEmpty)));
}

#[test]
fn rename_replaces_only_what_is_of_its_kind_and_empty() {
    let shell = Shell::new();
    shell.mkdir("full").unwrap();
    shell.create("full/x").unwrap();
    shell.mkdir("empty").unwrap();
    shell.mkdir("d").unwrap();
    shell.create("f").unwrap();
    let file = shell.create("g").unwrap();
    assert!(matches!(shell.rename("f", "empty"), Err(Error::IsDirectory)));
    assert!(matches!(shell.rename("d", "f"), Err(Error::NotDirectory)));
    assert!(matches!(shell.rename("d", "full"), Err(Error::NotEmpty)));
    shell.rename("d", "empty").unwrap();
    shell.rename("g", "f").unwrap();
    assert_eq!(shell.handle("f").unwrap(), file);
    assert_eq!(shell.stat("").unwrap().links, 4);
    assert!(matches!(shell.rename("gone", "f"), Err(Error::NoEntry)));
}

#[test]
fn rename_between_two_names_of_one_file_does_nothing() {
    let shell = Shell::new();
    shell.create("x").unwrap();
    shell.link("x", "y").unwrap();
    let before = shell.stat("").unwrap();
    shell.rename("x", "y").unwrap();
    shell.rename("x", "x").unwrap();
    assert_eq!(shell.stat("").unwrap(), before);
    assert_eq!(shell.stat("x").unwrap().links, 2);
}

#[test]
fn exclusive_create_sent_again_finds_its_own_file_and_another_one_is_refused() {
    let shell = Shell::new();
    let place = Place { dir: shell.0.root(), name: name("x") };
    let create = |verifier| shell.0.create(&Context::ROOT, place, CreateMode::Exclusive(verifier), &NOTHING);
    let made = create([1; 8]).unwrap();
    assert_eq!(create([1; 8]).unwrap().handle, made.handle);
    assert!(matches!(create([2; 8]), Err(Error::Exists)));
    shell.create("y").unwrap();
    let place = Place { name: name("y"), ..place };
    let again = shell.0.create(&Context::ROOT, place, CreateMode::Exclusive([0; 8]), &NOTHING);
    assert!(matches!(again, Err(Error::Exists)));
}

#[test]
fn unchecked_create_cuts_the_file_that_is_there_and_leaves_the_rest_of_it_alone() {
    let shell = Shell::new();
    let handle = shell.create("x").unwrap();
    shell.write("x", 0, b"0123456789").unwrap();
    let place = shell.place("x").unwrap();
    let create = |set| shell.0.create(&Context::ROOT, place, CreateMode::Unchecked, &set).unwrap();
    assert_eq!(create(NOTHING).attributes.size_bytes, 10);
    let entry = create(vfs::SetAttributes { size_bytes: Some(4), mode: Some(0o600), ..NOTHING });
    assert_eq!((entry.handle, entry.attributes.size_bytes, entry.attributes.mode), (handle, 4, 0o644));
    shell.mkdir("d").unwrap();
    let over = shell.0.create(&Context::ROOT, shell.place("d").unwrap(), CreateMode::Unchecked, &NOTHING);
    assert!(matches!(over, Err(Error::IsDirectory)));
}

#[test]
fn tree_of_a_hundred_thousand_levels_is_freed_without_a_stack_as_deep() {
    let shell = Shell::new();
    let mut dir = shell.0.root();
    for _ in 0..100_000 {
        let place = Place { dir, name: name("d") };
        dir = shell.0.make_node(&Context::ROOT, place, NewNode::Directory, &NOTHING).unwrap().handle;
    }
    drop(shell);
}

#[test]
fn symlink_gives_its_target_and_nothing_else_has_one() {
    let shell = Shell::new();
    let link = shell.symlink("l", b"../somewhere").unwrap();
    assert_eq!(shell.0.read_link(&Context::ROOT, &link).unwrap(), b"../somewhere");
    assert_eq!(shell.stat("l").unwrap().size_bytes, 12);
    assert!(matches!(shell.0.read_link(&Context::ROOT, &shell.0.root()), Err(Error::WrongKind)));
    assert!(matches!(shell.symlink("m", &[b'x'; 4096]), Err(Error::NameTooLong)));
}

#[test]
fn memory_never_blocks() {
    assert_eq!(MemFs::new(MemOptions::default()).blocking(), Blocking::Never);
}
