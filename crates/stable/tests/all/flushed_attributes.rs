//! Attributes and times of the log that are older than what storage has: a replay sets none of them again. Others are
//! those that clients saw.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use fs_host::HandleForm;
use rustix::fs::{XattrFlags, setxattr};
use stable::StableFs;
use vfs::{
    Caller, Context, FileSystem, Handle, OpenMode, SetAttributes, SetTime, SetXattr, Stability, Timestamp, XattrMode,
    XattrName,
};

use crate::support::site::{CX, Site, at, create, read, write};

const USER: Context<'static> = Context { caller: Caller { uid: 1000, gid: 1000, groups: &[] }, ..Context::ROOT };
const EARLY: Timestamp = Timestamp { seconds: 1_000_000_000, nanoseconds: 0 };

/// How a user's data get to storage.
type Replace = fn(&StableFs, &Handle);

const WAYS: [(&str, Replace); 5] = [
    ("COMMIT of much", |fs, file| write_as(&USER, fs, file, (200_000, Stability::Unstable), Some(&USER))),
    ("COMMIT of little", |fs, file| write_as(&USER, fs, file, (2000, Stability::Unstable), Some(&CX))),
    ("a large stable write", |fs, file| write_as(&USER, fs, file, (200_000, Stability::File), None)),
    ("a small stable write", |fs, file| write_as(&USER, fs, file, (2000, Stability::Data), None)),
    ("the kernel", |fs, file| {
        write_as(&USER, fs, file, (200_000, Stability::Unstable), None);
        rustix::fs::syncfs(fs::File::open(std::env::temp_dir()).unwrap()).unwrap();
    }),
];

fn write_as(
    cx: &Context<'_>,
    fs: &StableFs,
    file: &Handle,
    (bytes, stability): (usize, Stability),
    commit: Option<&Context<'_>>,
) {
    let open = fs.open(cx, file, OpenMode::Write).unwrap();
    open.write_at(cx, 0, &vec![b'u'; bytes], stability).unwrap();
    commit.iter().for_each(|cx| open.sync(cx).unwrap());
}

fn set(fs: &StableFs, file: &Handle, set: SetAttributes) {
    fs.set_attributes(&CX, file, &set).unwrap();
}

/// Only root gives rights to others, and only root can act as a user.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: only root can act as another user");
    }
    is_root
}

#[test]
fn content_of_another_user_never_gets_set_id_bits_back() {
    if !is_root() {
        return;
    }
    for (way, replace) in WAYS {
        for is_new in [true, false] {
            let site = Site::new(HandleForm::Auto);
            fs::write(site.path("old"), "root's").unwrap();
            let (file, seen) = site.change(|fs| {
                let old = || fs.lookup(&CX, at(&fs.root(), "old")).unwrap().handle;
                let file = if is_new { create(fs, &fs.root(), "new") } else { old() };
                set(fs, &file, SetAttributes { mode: Some(0o4777), ..SetAttributes::default() });
                let modified = Some(SetTime::To(EARLY));
                set(fs, &file, SetAttributes { modified, ..SetAttributes::default() });
                replace(fs, &file);
                (file, fs.attributes(&CX, &file).unwrap())
            });
            assert_eq!(seen.mode, 0o777, "the kernel clears the bit");
            let (fs, _, log) = site.open(true).unwrap();
            let now = fs.attributes(&CX, &file).unwrap();
            assert_eq!(now.mode, 0o777, "{way}, new: {is_new}");
            if way != "the kernel" {
                assert_eq!(now.modified, seen.modified, "{way}, new: {is_new}");
            }
            log.close();
        }
    }
}

#[test]
fn set_id_bits_that_only_the_disk_has_are_cleared_by_a_users_data_and_kept_by_roots_whoever_commits_them() {
    if !is_root() {
        return;
    }
    for (writer, committer, after) in [(&USER, &CX, 0o777), (&CX, &USER, 0o4777)] {
        let site = Site::new(HandleForm::Auto);
        let put = |content: &str| {
            // The thread has acted as the user.
            let _server = own_files::AsServer::new();
            fs::write(site.path("file"), content).unwrap();
            fs::set_permissions(site.path("file"), Permissions::from_mode(0o4777)).unwrap();
        };
        put("older");
        let file = site.change(|fs| {
            let file = fs.lookup(&CX, at(&fs.root(), "file")).unwrap().handle;
            write_as(writer, fs, &file, (5, Stability::Unstable), Some(committer));
            file
        });
        put("older");
        let (fs, _, log) = site.open(true).unwrap();
        assert_eq!(read(&fs, &file), b"uuuuu");
        assert_eq!(fs.attributes(&CX, &file).unwrap().mode, after);
        log.close();
    }
}

#[test]
fn attributes_that_were_changed_behind_a_flush_of_the_file_stay() {
    let site = Site::new(HandleForm::Auto);
    let note = XattrName::new(b"note").unwrap();
    let (file, has_xattrs) = site.change(|fs| {
        let file = create(fs, &fs.root(), "file");
        let has_xattrs =
            fs.set_xattr(&CX, &file, &SetXattr { name: note, value: b"log", mode: XattrMode::Either }).is_ok();
        set(fs, &file, SetAttributes { mode: Some(0o640), ..SetAttributes::default() });
        write_as(&CX, fs, &file, (200_000, Stability::Unstable), Some(&CX));
        (file, has_xattrs)
    });
    fs::set_permissions(site.path("file"), Permissions::from_mode(0o600)).unwrap();
    if has_xattrs {
        setxattr(site.path("file"), "user.note", b"local", XattrFlags::empty()).unwrap();
    }
    let (fs, _, log) = site.open(true).unwrap();
    assert_eq!(fs.attributes(&CX, &file).unwrap().mode, 0o600);
    if has_xattrs {
        assert_eq!(fs.get_xattr(&CX, &file, note).unwrap().unwrap(), b"local");
    }
    log.close();
}

#[test]
fn times_after_a_replay_are_those_that_clients_saw() {
    let site = Site::new(HandleForm::Auto);
    fs::write(site.path("old"), "older").unwrap();
    fs::create_dir(site.path("old-dir")).unwrap();
    let make_old = |path: &Path| {
        let file = fs::File::open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
    };
    let seen = site.change(|fs| {
        let root = fs.root();
        let old = fs.lookup(&CX, at(&root, "old")).unwrap().handle;
        let old_dir = fs.lookup(&CX, at(&root, "old-dir")).unwrap().handle;
        let new = create(fs, &root, "new");
        write(fs, &old, b"newer");
        write(fs, &new, b"new");
        write_as(&CX, fs, &new, (5, Stability::Unstable), Some(&CX));
        create(fs, &old_dir, "file");
        [old, old_dir, new, root].map(|file| (file, fs.attributes(&CX, &file).unwrap().modified))
    });
    fs::remove_file(site.path("new")).unwrap();
    fs::remove_file(site.path("old-dir/file")).unwrap();
    fs::write(site.path("old"), "older").unwrap();
    for name in ["old", "old-dir", ""] {
        make_old(&site.path(name));
    }
    let (fs, _, log) = site.open(true).unwrap();
    for (number, (file, modified)) in seen.into_iter().enumerate() {
        assert_eq!(fs.attributes(&CX, &file).unwrap().modified, modified, "{number}");
    }
    log.close();
}

#[test]
fn directory_that_a_replay_leaves_alone_keeps_its_time() {
    let site = Site::new(HandleForm::Auto);
    let seen = site.change(|fs| {
        create(fs, &fs.root(), "file");
        create(fs, &fs.root(), "other");
        fs.remove(&CX, at(&fs.root(), "other")).unwrap();
        fs.attributes(&CX, &fs.root()).unwrap().modified
    });
    let (fs, _, log) = site.open(true).unwrap();
    assert_eq!(fs.attributes(&CX, &fs.root()).unwrap().modified, seen);
    log.close();
}
