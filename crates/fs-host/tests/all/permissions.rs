//! Who owns what is made, what access lists allow, and what a caller may change. All of this needs root.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use rustix::fs::XattrFlags;
use vfs::{
    Access, Attributes, CreateMode, Error, FileSystem, NewNode, OpenMode, SetAttributes, SetTime, Stability, Timestamp,
};
use wharf_fs_host::{HandleForm, HostFs};

use testing::host_export::*;

const ALICE: u32 = 41_001;
const BOB: u32 = 41_002;
const STAFF: u32 = 42_001;
const PROJECT: u32 = 42_002;

fn open_as_root(test: &str) -> Option<(Export, HostFs)> {
    if !is_root() {
        eprintln!("skipped: {test} needs root");
        return None;
    }
    let export = Export::on_disk();
    std::fs::set_permissions(export.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let fs = export.open(HandleForm::Auto);
    Some((export, fs))
}

fn owner(attributes: &Attributes) -> (u32, u32, u32) {
    (attributes.uid, attributes.gid, attributes.mode)
}

#[test]
fn what_is_made_belongs_to_its_caller_and_has_the_mode_that_was_asked_for() {
    let Some((_export, fs)) = open_as_root("ownership") else { return };
    let alice = cx_of(ALICE, STAFF, &[PROJECT]);
    let root = fs.root();
    let file = fs.create(&alice, at(&root, "file"), CreateMode::Unchecked, &mode(0o666)).unwrap();
    let dir = fs.make_node(&alice, at(&root, "dir"), NewNode::Directory, &mode(0o777)).unwrap();
    let link = fs.make_node(&alice, at(&root, "link"), NewNode::Symlink(b"x"), &SetAttributes::default()).unwrap();
    let fifo = fs.make_node(&alice, at(&root, "fifo"), NewNode::Fifo, &mode(0o622)).unwrap();
    assert_eq!(owner(&file.attributes), (ALICE, STAFF, 0o666));
    assert_eq!(owner(&dir.attributes), (ALICE, STAFF, 0o777));
    assert_eq!((link.attributes.uid, link.attributes.gid), (ALICE, STAFF));
    assert_eq!(owner(&fifo.attributes), (ALICE, STAFF, 0o622));
    let by_root = fs.create(&CX, at(&root, "by-root"), CreateMode::Guarded, &SetAttributes::default()).unwrap();
    assert_eq!(owner(&by_root.attributes), (0, 0, 0o644));
}

#[test]
fn directory_with_the_set_group_bit_gives_its_group_to_what_is_made_in_it() {
    let Some((_export, fs)) = open_as_root("set-group-id directories") else { return };
    let set = SetAttributes { gid: Some(PROJECT), ..mode(0o2777) };
    let shared = fs.make_node(&CX, at(&fs.root(), "shared"), NewNode::Directory, &set).unwrap();
    assert_eq!(owner(&shared.attributes), (0, PROJECT, 0o2777));
    let bob = cx_of(BOB, STAFF, &[]);
    let file = fs.create(&bob, at(&shared.handle, "f"), CreateMode::Guarded, &mode(0o640)).unwrap();
    let dir = fs.make_node(&bob, at(&shared.handle, "d"), NewNode::Directory, &mode(0o750)).unwrap();
    assert_eq!(owner(&file.attributes), (BOB, PROJECT, 0o640));
    assert_eq!(owner(&dir.attributes), (BOB, PROJECT, 0o2750));
}

#[test]
fn kernel_refuses_what_the_caller_may_not_change() {
    let Some((export, fs)) = open_as_root("refusals") else { return };
    let bob = cx_of(BOB, STAFF, &[]);
    std::fs::create_dir(export.path().join("private")).unwrap();
    // Opening an export clears the process's file creation mask.
    std::fs::set_permissions(export.path().join("private"), PermissionsExt::from_mode(0o755)).unwrap();
    let private = fs.lookup(&CX, at(&fs.root(), "private")).unwrap().handle;
    let set = SetAttributes::default();
    assert!(matches!(fs.create(&bob, at(&private, "f"), CreateMode::Guarded, &set), Err(Error::AccessDenied)));
    let device = NewNode::CharDevice(vfs::Device { major: 1, minor: 3 });
    assert!(matches!(fs.make_node(&bob, at(&fs.root(), "null"), device, &set), Err(Error::NotPermitted)));
    let huge = NewNode::CharDevice(vfs::Device { major: 0x1001, minor: 3 });
    assert!(matches!(fs.make_node(&CX, at(&fs.root(), "huge"), huge, &set), Err(Error::Invalid)));
    let made = fs.make_node(&CX, at(&fs.root(), "null"), device, &set).unwrap();
    assert_eq!(made.attributes.device, vfs::Device { major: 1, minor: 3 });
    assert!(matches!(fs.open(&CX, &made.handle, OpenMode::Read), Err(Error::WrongKind)));
    // The thread was Bob a moment ago: nothing of that is left.
    assert_eq!(fs.lookup(&bob, at(&fs.root(), "private")).unwrap().handle, private);
    std::fs::set_permissions(export.path(), PermissionsExt::from_mode(0o1777)).unwrap();
    assert!(matches!(fs.remove_dir(&bob, at(&fs.root(), "private")), Err(Error::NotPermitted)));
}

#[test]
fn identity_of_one_thread_is_not_that_of_another() {
    let Some((export, fs)) = open_as_root("identity per thread") else { return };
    let (fs, path) = (&fs, export.path());
    std::thread::scope(|scope| {
        for uid in [ALICE, BOB, 0] {
            let path = path.clone();
            scope.spawn(move || make_many(fs, &path, uid));
        }
    });
}

#[test]
fn thread_that_was_made_by_a_switched_one_is_nobody_until_it_is_told() {
    let Some((export, fs)) = open_as_root("identity per thread") else { return };
    std::fs::create_dir(export.path().join("private")).unwrap();
    std::fs::set_permissions(export.path().join("private"), PermissionsExt::from_mode(0o700)).unwrap();
    fs.create(&cx_of(ALICE, STAFF, &[]), at(&fs.root(), "f"), CreateMode::Guarded, &mode(0o600)).unwrap();
    let (fs, worker) = (&fs, vfs::Context { worker: 1, ..CX });
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let private = fs.lookup(&worker, at(&fs.root(), "private")).unwrap();
            assert!(matches!(fs.lookup(&worker, at(&private.handle, "none")), Err(Error::NoEntry)));
            let made = fs.create(&worker, at(&private.handle, "g"), CreateMode::Guarded, &mode(0o600)).unwrap();
            assert_eq!(owner(&made.attributes), (0, 0, 0o600));
        });
    });
}

fn make_many(fs: &HostFs, path: &Path, uid: u32) {
    for number in 0..100 {
        let name = format!("{uid}-{number}");
        fs.create(&cx_of(uid, uid, &[]), at(&fs.root(), &name), CreateMode::Guarded, &mode(0o600)).unwrap();
        let found = std::fs::symlink_metadata(path.join(&name)).unwrap();
        assert_eq!((found.uid(), found.gid()), (uid, uid));
    }
}

#[test]
fn only_the_owner_changes_mode_owner_and_times_and_nothing_happens_otherwise() {
    let Some((_export, fs)) = open_as_root("attribute changes") else { return };
    let (alice, bob) = (cx_of(ALICE, STAFF, &[PROJECT]), cx_of(BOB, STAFF, &[]));
    let file = fs.create(&alice, at(&fs.root(), "f"), CreateMode::Guarded, &mode(0o666)).unwrap();
    let time = Some(SetTime::To(Timestamp { seconds: 1, nanoseconds: 2 }));
    let by_bob = SetAttributes { size_bytes: Some(9), mode: Some(0), ..SetAttributes::default() };
    assert!(matches!(fs.set_attributes(&bob, &file.handle, &by_bob), Err(Error::NotPermitted)));
    let by_bob = SetAttributes { size_bytes: Some(9), modified: time, ..SetAttributes::default() };
    assert!(matches!(fs.set_attributes(&bob, &file.handle, &by_bob), Err(Error::NotPermitted)));
    let give = SetAttributes { size_bytes: Some(9), uid: Some(BOB), ..SetAttributes::default() };
    assert!(matches!(fs.set_attributes(&alice, &file.handle, &give), Err(Error::NotPermitted)));
    let after = fs.attributes(&CX, &file.handle).unwrap();
    assert_eq!((owner(&after), after.size_bytes), ((ALICE, STAFF, 0o666), 0));
    let own = SetAttributes { gid: Some(PROJECT), accessed: time, modified: time, ..mode(0o640) };
    let after = fs.set_attributes(&alice, &file.handle, &SetAttributes { size_bytes: Some(9), ..own }).unwrap();
    assert_eq!((owner(&after), after.size_bytes), ((ALICE, PROJECT, 0o640), 9));
    assert_eq!((after.modified.seconds, after.modified.nanoseconds), (1, 2));
    assert_eq!(after.accessed, after.modified);
}

#[test]
fn set_id_bits_go_when_somebody_else_writes_or_cuts_or_the_group_changes() {
    let Some((_export, fs)) = open_as_root("set-id bits") else { return };
    let alice = cx_of(ALICE, STAFF, &[PROJECT]);
    let changes: [&dyn Fn(&vfs::Handle); 3] = [
        &|handle| {
            let file = fs.open(&alice, handle, OpenMode::Write).unwrap();
            file.write_at(&alice, 0, b"x", Stability::File).unwrap();
        },
        &|handle| {
            let set = SetAttributes { size_bytes: Some(5), ..SetAttributes::default() };
            fs.set_attributes(&alice, handle, &set).unwrap();
        },
        &|handle| {
            let set = SetAttributes { gid: Some(PROJECT), ..SetAttributes::default() };
            fs.set_attributes(&alice, handle, &set).unwrap();
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        let name = number.to_string();
        let file = fs.create(&alice, at(&fs.root(), &name), CreateMode::Guarded, &mode(0o6777)).unwrap();
        assert_eq!(file.attributes.mode, 0o6777);
        change(&file.handle);
        assert_eq!(fs.attributes(&CX, &file.handle).unwrap().mode, 0o777, "change {number}");
    }
}

#[test]
fn owner_writes_a_file_whose_mode_forbids_it_once_the_server_allowed_that() {
    let Some((_export, fs)) = open_as_root("owner override") else { return };
    let alice = cx_of(ALICE, STAFF, &[]);
    let file = fs.create(&alice, at(&fs.root(), "f"), CreateMode::Guarded, &mode(0o444)).unwrap();
    let opened = fs.open(&alice, &file.handle, OpenMode::Write).unwrap();
    assert_eq!(opened.write_at(&alice, 0, b"abc", Stability::Data).unwrap().count, 3);
}

/// An access list as the kernel stores it: a version, then tag, permissions and id of each entry.
fn set_acl(path: &Path, entries: &[(u16, u16, u32)]) {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, allowed, id) in entries {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&allowed.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    rustix::fs::setxattr(path, c"system.posix_acl_access", &bytes, XattrFlags::empty()).unwrap();
}

const NO_ID: u32 = u32::MAX;

fn allowed(fs: &HostFs, name: &str, cx: &vfs::Context<'_>) -> Access {
    let entry = fs.lookup(&CX, at(&fs.root(), name)).unwrap();
    fs.access(cx, &entry.handle, &entry.attributes, Access::ALL).unwrap()
}

#[test]
fn access_list_decides_where_there_is_one() {
    let Some((export, fs)) = open_as_root("access lists") else { return };
    touch(&fs, "f");
    let path = export.path().join("f");
    chown(&path, Some(ALICE), Some(STAFF)).unwrap();
    // user::rw- user:BOB:rwx group::r-- group:PROJECT:-w- mask::rw- other::---
    let entries = [(1, 6, NO_ID), (2, 7, BOB), (4, 4, NO_ID), (8, 2, PROJECT), (16, 6, NO_ID), (32, 0, NO_ID)];
    set_acl(&path, &entries);
    assert_eq!(allowed(&fs, "f", &cx_of(ALICE, STAFF, &[])), Access::READ | Access::WRITE);
    assert_eq!(allowed(&fs, "f", &cx_of(BOB, 1, &[])), Access::READ | Access::WRITE, "cut by the mask");
    assert_eq!(allowed(&fs, "f", &cx_of(7, STAFF, &[])), Access::READ);
    assert_eq!(allowed(&fs, "f", &cx_of(7, 1, &[PROJECT])), Access::WRITE);
    assert_eq!(allowed(&fs, "f", &cx_of(7, STAFF, &[PROJECT])), Access::READ | Access::WRITE);
    assert_eq!(allowed(&fs, "f", &cx_of(7, 1, &[])), Access::NONE);
}

#[test]
fn changed_access_list_is_noticed() {
    let Some((export, fs)) = open_as_root("access lists") else { return };
    touch(&fs, "f");
    let path = export.path().join("f");
    let with_bob = |allowed| [(1, 6, NO_ID), (2, allowed, BOB), (4, 0, NO_ID), (16, 7, NO_ID), (32, 0, NO_ID)];
    for bits in [4, 6, 0, 7] {
        set_acl(&path, &with_bob(bits));
        assert_eq!(allowed(&fs, "f", &cx_of(BOB, 1, &[])), Access::from_mode_bits(bits.into()));
    }
    rustix::fs::removexattr(&path, c"system.posix_acl_access").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o604)).unwrap();
    assert_eq!(allowed(&fs, "f", &cx_of(BOB, 1, &[])), Access::READ);
}

#[test]
fn file_of_another_user_gets_a_further_name_where_the_caller_may_add_names() {
    let Some((_export, fs)) = open_as_root("links to files of others") else { return };
    let bob = cx_of(BOB, STAFF, &[]);
    let root = fs.root();
    // What fs.protected_hardlinks keeps from users of this machine: files that they may not both read and write.
    let private = fs.create(&CX, at(&root, "private"), CreateMode::Guarded, &mode(0o600)).unwrap();
    let set_id = fs.create(&CX, at(&root, "set-id"), CreateMode::Guarded, &mode(0o4755)).unwrap();
    for (name, file) in [("p", &private), ("s", &set_id)] {
        assert_eq!(fs.link(&bob, &file.handle, at(&root, name)).unwrap().links, 2);
    }
    assert!(matches!(fs.link(&bob, &private.handle, at(&root, "p")), Err(Error::Exists)));
    let closed = fs.make_node(&CX, at(&root, "closed"), NewNode::Directory, &mode(0o755)).unwrap();
    let refused = fs.link(&bob, &private.handle, at(&closed.handle, "p"));
    assert!(matches!(refused, Err(Error::AccessDenied | Error::NotPermitted)), "{refused:?}");
    assert_eq!(fs.attributes(&CX, &private.handle).unwrap().links, 2);
}

const NOW: Option<SetTime> = Some(SetTime::Now);
const LONG_AGO: Timestamp = Timestamp { seconds: 1, nanoseconds: 2 };

/// A file of Alice's with ten bytes and old times.
fn old_file(fs: &HostFs, name: &str, bits: u32) -> vfs::Handle {
    let alice = cx_of(ALICE, STAFF, &[]);
    let file = fs.create(&alice, at(&fs.root(), name), CreateMode::Guarded, &mode(bits)).unwrap().handle;
    let old = Some(SetTime::To(LONG_AGO));
    let set = SetAttributes { size_bytes: Some(10), accessed: old, modified: old, ..SetAttributes::default() };
    fs.set_attributes(&alice, &file, &set).unwrap();
    file
}

#[test]
fn who_may_write_truncates_and_sets_each_time_to_now() {
    let Some((_export, fs)) = open_as_root("changes by a writer") else { return };
    let bob = cx_of(BOB, STAFF, &[]);
    let times = SetAttributes { size_bytes: None, ..SetAttributes::default() };
    for (number, set) in [
        SetAttributes { size_bytes: Some(0), modified: NOW, ..times },
        SetAttributes { size_bytes: Some(0), accessed: NOW, modified: NOW, ..times },
        SetAttributes { accessed: NOW, modified: NOW, ..times },
        SetAttributes { modified: NOW, ..times },
        SetAttributes { accessed: NOW, ..times },
    ]
    .into_iter()
    .enumerate()
    {
        let file = old_file(&fs, &format!("writable-{number}"), 0o666);
        let after = fs.set_attributes(&bob, &file, &set).unwrap_or_else(|error| panic!("{set:?}: {error}"));
        assert_eq!(after.size_bytes, set.size_bytes.unwrap_or(10));
        assert_eq!(
            (after.accessed != LONG_AGO, after.modified != LONG_AGO),
            (set.accessed == NOW, set.modified == NOW)
        );
        assert_eq!(owner(&after), (ALICE, STAFF, 0o666));
        let file = old_file(&fs, &format!("readable-{number}"), 0o644);
        let set = SetAttributes { size_bytes: None, ..set };
        assert!(set.modified.is_none() && set.accessed.is_none() || fs.set_attributes(&bob, &file, &set).is_err());
        let after = fs.attributes(&CX, &file).unwrap();
        assert_eq!((after.size_bytes, after.accessed, after.modified), (10, LONG_AGO, LONG_AGO));
    }
}

#[test]
fn change_that_fails_leaves_everything_as_it_was() {
    let Some((export, fs)) = open_as_root("changes that fail") else { return };
    // ext4 has no files of this size.
    let is_limited = std::fs::File::create(export.path().join("probe")).unwrap().set_len(1 << 60).is_err();
    let file = old_file(&fs, "file", 0o755);
    fs.set_attributes(&CX, &file, &mode(0o4755)).unwrap();
    let link = fs.make_node(&CX, at(&fs.root(), "link"), NewNode::Symlink(b"x"), &SetAttributes::default()).unwrap();
    let given = SetAttributes { uid: Some(BOB), gid: Some(PROJECT), modified: NOW, ..mode(0o600) };
    assert!(matches!(fs.set_attributes(&CX, &link.handle, &given), Err(Error::NotSupported)));
    assert_eq!(owner(&fs.attributes(&CX, &link.handle).unwrap()), (0, 0, 0o777));
    if !is_limited {
        return eprintln!("skipped in part: {} takes files of any size", export.path().display());
    }
    let too_big = SetAttributes { size_bytes: Some(1 << 60), ..given };
    assert!(matches!(fs.set_attributes(&CX, &file, &too_big), Err(Error::FileTooBig)));
    let after = fs.attributes(&CX, &file).unwrap();
    assert_eq!((owner(&after), after.size_bytes, after.modified), ((ALICE, STAFF, 0o4755), 10, LONG_AGO));
}

#[test]
fn server_without_privileges_refuses_before_it_truncates() {
    let Some((export, fs)) = open_as_root("a server without privileges") else { return };
    let file = export.path().join("file");
    fs.create(&CX, at(&fs.root(), "file"), CreateMode::Guarded, &mode(0o666)).unwrap();
    std::fs::write(&file, b"some bytes").unwrap();
    testing::private_dir(&export.state());
    chown(export.state(), Some(BOB), Some(STAFF)).unwrap();
    std::fs::set_permissions(export.outside(), PermissionsExt::from_mode(0o755)).unwrap();
    let options = export.options(HandleForm::Store);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Only this thread becomes Bob, and the file system that it opens is that of a server of his.
            let (uid, gid) = (rustix::process::Uid::from_raw(BOB), rustix::process::Gid::from_raw(STAFF));
            rustix::thread::set_thread_groups(&[]).unwrap();
            rustix::thread::set_thread_gid(gid).unwrap();
            rustix::thread::set_thread_uid(uid).unwrap();
            let fs = HostFs::open(&export.path(), options).unwrap();
            let file = fs.lookup(&CX, at(&fs.root(), "file")).unwrap().handle;
            let cut = SetAttributes { size_bytes: Some(0), ..mode(0o600) };
            assert!(matches!(fs.set_attributes(&CX, &file, &cut), Err(Error::NotPermitted)));
            let after = fs.attributes(&CX, &file).unwrap();
            assert_eq!((owner(&after), after.size_bytes), ((0, 0, 0o666), 10));
            let touch = SetAttributes { modified: NOW, ..SetAttributes::default() };
            fs.set_attributes(&CX, &file, &touch).unwrap();
            fs.set_attributes(&CX, &file, &SetAttributes { size_bytes: Some(0), ..touch }).unwrap();
        });
    });
}
