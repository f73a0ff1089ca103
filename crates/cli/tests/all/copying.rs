//! `wharf cp` as a user meets it: interrupted and gone on with, told to do what makes no sense, and out of room.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use testing::Scratch;
use testing::program::{Server, interrupt, kept, snapshot, wharf, wharf_fails, wharf_ok};

/// A file of several WRITEs, which are made safe by a COMMIT.
const LARGE: usize = 5 << 20;

/// Runs the program, which has to succeed, and gives what it said.
fn said(arguments: &[&str]) -> String {
    let output = wharf(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

fn set_modified(path: &Path, nanoseconds: u32) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_234_567_890, nanoseconds);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

/// A tree of small files and a large one.
fn tree(scratch: &Scratch) -> std::path::PathBuf {
    let tree = scratch.dir("tree");
    for number in 0..5 {
        let path = tree.join(format!("small-{number}"));
        fs::write(&path, format!("content {number}")).unwrap();
        set_modified(&path, 123_456_789);
    }
    fs::write(tree.join("large"), vec![7; LARGE]).unwrap();
    set_modified(&tree.join("large"), 1);
    tree
}

#[test]
fn copy_is_complete_though_its_owner_may_not_be_set() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root's copies keep owners by themselves");
    }
    let scratch = Scratch::new();
    let tree = scratch.dir("tree");
    fs::write(tree.join("program"), "content").unwrap();
    fs::set_permissions(tree.join("program"), fs::Permissions::from_mode(0o4755)).unwrap();
    set_modified(&tree.join("program"), 123_456_789);
    let export = scratch.dir("export");
    fs::set_permissions(&export, fs::Permissions::from_mode(0o777)).unwrap();
    let server = Server::start(1, &[export.to_str().unwrap()]);
    let said = wharf_fails(1, &["cp", "-a", tree.to_str().unwrap(), &server.url(&export)]);
    assert!(said.contains("everything is copied, but the users and groups of 2 copies cannot be kept"), "{said}");
    let copy = fs::metadata(export.join("tree/program")).unwrap();
    // Root is nobody at the server. Its copy of the program must not run as nobody.
    assert_eq!((copy.mode() & 0o7777, copy.uid()), (0o755, 65534));
    assert_eq!(copy.modified().unwrap(), fs::metadata(tree.join("program")).unwrap().modified().unwrap());
    assert!(!export.join("tree/.wharf-copy").exists());
}

#[test]
fn interrupted_copy_names_what_is_incomplete_and_is_gone_on_with() {
    let scratch = Scratch::new();
    let (tree, export) = (tree(&scratch), scratch.dir("export"));
    let copy = export.join("copy");
    {
        // The large file's COMMIT never ends.
        let stuck = Server::start(1, &["--no-root-squash", "--fault", "sync:delay=600s", export.to_str().unwrap()]);
        let is_whole = |number: u32| {
            let copy = fs::metadata(copy.join(format!("small-{number}")));
            copy.is_ok_and(|copy| copy.mtime() == 1_234_567_890)
        };
        let is_written = || fs::metadata(copy.join("large")).is_ok_and(|copy| copy.len() == LARGE as u64);
        let said = interrupt(&["cp", "-r", tree.to_str().unwrap(), &stuck.url(&copy)], || {
            (0..5).all(is_whole) && is_written()
        });
        // Of a small file the server may have done what it did not tell yet.
        assert!(said.contains("interrupted; incomplete: copy/large"), "{said}");
        assert!(said.contains("5 of 6 files copied; run the same command with --resume"), "{said}");
    }
    assert_eq!(fs::metadata(copy.join("large")).unwrap().mode() & 0o777, 0o600);
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    // `copy` is a directory that is there now, which would take another copy in.
    let (all, above) = (scratch.path("copy"), server.url(&export));
    fs::rename(&tree, &all).unwrap();
    let from = all.to_str().unwrap();
    let refused = wharf_fails(1, &["cp", "-r", from, &above]);
    assert!(refused.contains("exists already; --overwrite") && refused.contains("--resume"), "{refused}");
    let told = said(&["cp", "-rv", "--resume", from, &above]);
    assert!(told.contains("copied 1 files (5 more were there)"), "{told}");
    assert!(snapshot(&all) == snapshot(&copy));
    // A file that has changed since is copied again, however long it is.
    fs::write(all.join("small-3"), "CONTENT 3").unwrap();
    let told = said(&["cp", "-rv", "--resume", from, &above]);
    assert!(told.contains("copied 1 files (5 more were there)"), "{told}");
    assert!(snapshot(&all) == snapshot(&copy));
    // The same on the way back, and between paths of the server.
    for (from, to) in [
        (server.url(&copy), scratch.path("back").display().to_string()),
        (server.url(&copy), server.url(export.join("third"))),
    ] {
        said(&["cp", "-r", &from, &to]);
    }
    fs::rename(scratch.path("back"), scratch.dir("into").join("copy")).unwrap();
    let told = said(&["cp", "-rv", "--resume", &server.url(&copy), scratch.path("into").to_str().unwrap()]);
    assert!(told.contains("copied 0 files (6 more were there)"), "{told}");
    let into = export.join("fourth");
    fs::create_dir(&into).unwrap();
    fs::rename(export.join("third"), into.join("copy")).unwrap();
    let told = said(&["cp", "-rv", "--resume", &server.url(&copy), &server.url(&into)]);
    assert!(told.contains("copied 0 files (6 more were there)"), "{told}");
}

#[test]
fn several_sources_go_into_one_directory() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (a, b) = (scratch.file("a", "one"), scratch.file("b", "two"));
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    wharf_ok(&["mkdir", &server.url("/mem/dir"), &server.url("/mem/other")]);
    wharf_ok(&["cp", a, b, &server.url("/mem/dir")]);
    let (a_there, b_there) = (server.url("/mem/dir/a"), server.url("/mem/dir/b"));
    wharf_ok(&["cp", &a_there, &b_there, &server.url("/mem/other")]);
    let back = scratch.dir("back");
    wharf_ok(&["cp", &server.url("/mem/other/a"), &server.url("/mem/other/b"), back.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(back.join("a")).unwrap(), "one");
    assert_eq!(fs::read_to_string(back.join("b")).unwrap(), "two");
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason_before_anything_is_copied() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (a, dir) = (scratch.file("a", "one"), scratch.dir("dir"));
    let (a, dir, missing) = (a.to_str().unwrap(), dir.to_str().unwrap(), scratch.path("missing").display().to_string());
    let url = |path: &str| server.url(format!("/mem/{path}"));
    wharf_ok(&["mkdir", &url("dir")]);
    wharf_ok(&["cp", a, &url("file")]);
    for (code, arguments, parts) in [
        (1, &["cp", a, a, &url("new")][..], &[url("new").as_str(), "is not a directory"][..]),
        (1, &["cp", a, a, &url("file")], &[&url("file"), "is not a directory"]),
        (1, &["cp", &url("file"), &url("file"), &url("new")], &[&url("new"), "is not a directory"]),
        (1, &["cp", &url("file"), &url("file"), &missing], &[&missing, "is not a directory"]),
        (1, &["cp", dir, &url("new")], &[dir, "is a directory; -r"]),
        (1, &["cp", &url("dir"), &missing], &[&url("dir"), "is a directory; -r"]),
        (1, &["cp", &url("dir"), &url("new")], &[&url("dir"), "is a directory; -r"]),
        (1, &["cp", "--overwrite", &url("file"), &url("file")], &["the copy would be the file itself"]),
        (1, &["cp", "--resume", &url("file"), &url("file")], &["the copy would be the file itself"]),
        (1, &["cp", "-r", "--overwrite", dir, &url("file")], &["file: exists already and is another kind"]),
        (1, &["cp", "-r", "--overwrite", &url("dir"), a], &[a, "another kind"]),
        (1, &["cp", a, &url("missing/new")], &["missing", "no such file"]),
        (1, &["cp", &url("file"), &format!("{missing}/new")], &[&missing, "No such file"]),
        (1, &["cp", &missing, &url("new")], &[&missing, "No such file"]),
        (1, &["cp", &url("missing"), &missing], &[&url("missing"), "no such file"]),
        (1, &["cp", a, dir], &["neither", "nfs://"]),
        (1, &["cp", a, "nfs://127.0.0.1:1/x"], &["127.0.0.1:1", "check that the server runs"]),
        (2, &["cp", a], &["<DST>"]),
        (2, &["cp", "--preserve", a, &url("new")], &["unexpected argument '--preserve'"]),
        (2, &["cp", "--resume", "--overwrite", a, &url("new")], &["cannot be used with"]),
        (2, &["cp", a, "nfs://"], &["nfs://"]),
    ] {
        let said = wharf_fails(code, arguments);
        assert!(parts.iter().all(|part| said.contains(part)), "{arguments:?}: {said}");
    }
    assert_eq!(wharf_ok(&["ls", &url("")]), "dir\nfile\n");
    assert_eq!(wharf_ok(&["cat", &url("file")]), "one");
    assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
}

#[test]
fn want_of_room_is_told_with_the_file_that_did_not_fit() {
    let scratch = Scratch::new();
    let tree = scratch.dir("tree");
    fs::write(tree.join("large"), vec![1; LARGE]).unwrap();
    for (rules, reason) in [
        ("write:error=nospace@3+", "copy/large: no space left"),
        ("write:error=quota@3+", "copy/large: disk quota exceeded"),
        ("create(large):error=nospace", "copy/large: no space left"),
        ("create(large):error=readonly", "copy/large: read-only"),
        ("set_attributes:error=quota@2+", " copy: disk quota exceeded"),
    ] {
        for version in ["3", "4.2"] {
            let server = Server::start(1, &["--no-root-squash", "--fault", rules, "mem:64M"]);
            let url = format!("{}?version={version}", server.url("/mem/copy"));
            let said = wharf_fails(1, &["cp", "-r", tree.to_str().unwrap(), &url]);
            assert!(said.contains(reason), "{rules}, {version}: {said}");
        }
    }
}

#[test]
fn file_that_does_not_fit_on_this_machine_is_named_too() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (large, back, url) = (scratch.path("large"), scratch.path("back"), server.url("/mem/large"));
    fs::write(&large, vec![1; LARGE]).unwrap();
    wharf_ok(&["cp", large.to_str().unwrap(), &url]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_wharf"), "cp", &url]);
    let output = shell.arg(&back).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(back.to_str().unwrap()) && said.contains("File too large"), "{said}");
}

#[test]
fn target_that_is_exported_read_only_is_refused_and_copied_from() {
    let scratch = Scratch::new();
    let (export, back) = (scratch.dir("export"), scratch.path("back"));
    fs::write(export.join("file"), "content").unwrap();
    let server = Server::start(1, &["--read-only", export.to_str().unwrap()]);
    let url = server.url(export.join("file"));
    for version in ["3", "4.2"] {
        let said =
            wharf_fails(1, &["cp", scratch.file("a", "a").to_str().unwrap(), &format!("{url}-new?version={version}")]);
        assert!(said.contains("file-new") && said.contains("read-only"), "{version}: {said}");
    }
    wharf_ok(&["cp", &url, back.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(back).unwrap(), "content");
}

#[test]
fn modes_times_links_and_special_files_are_kept_and_owners_where_that_is_asked_for() {
    let scratch = Scratch::new();
    let (tree, export) = (tree(&scratch), scratch.dir("export"));
    let names = ["small-0", "small-1", "linked", "pointer", "fifo", "below", ""];
    fs::hard_link(tree.join("small-0"), tree.join("linked")).unwrap();
    std::os::unix::fs::symlink("nowhere", tree.join("pointer")).unwrap();
    assert!(Command::new("mkfifo").args(["-m", "640"]).arg(tree.join("fifo")).status().unwrap().success());
    fs::create_dir(tree.join("below")).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::lchown(tree.join("pointer"), Some(1234), Some(5678)).unwrap();
        std::os::unix::fs::chown(tree.join("small-1"), Some(1234), Some(5678)).unwrap();
    }
    fs::set_permissions(tree.join("small-1"), fs::Permissions::from_mode(0o4751)).unwrap();
    fs::set_permissions(tree.join("below"), fs::Permissions::from_mode(0o1551)).unwrap();
    set_modified(&tree.join("below"), 987_654_321);
    set_modified(&tree, 5);
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let owners: &[&str] = if is_root { &["--owners"] } else { &[] };
    for version in ["3", "4.0", "4.2"] {
        let url = |name: &str| format!("{}?version={version}", server.url(export.join(format!("{name}-{version}"))));
        let back = scratch.path(&format!("back-{version}"));
        for (from, to) in [
            (tree.display().to_string(), url("up")),
            (url("up"), url("across")),
            (url("across"), back.display().to_string()),
        ] {
            wharf_ok(&[&["cp", "-r"], owners, &[&from, &to]].concat());
        }
        for name in names {
            assert_eq!(kept(&back.join(name)), kept(&tree.join(name)), "{version}: {name:?}");
        }
        assert!(fs::symlink_metadata(back.join("fifo")).unwrap().file_type().is_fifo());
        assert_eq!(fs::read_link(back.join("pointer")).unwrap(), Path::new("nowhere"));
        assert_eq!(
            fs::metadata(back.join("linked")).unwrap().ino(),
            fs::metadata(back.join("small-0")).unwrap().ino(),
            "{version}"
        );
    }
}

/// Whether the attribute could be set, which not every file system has.
fn set_attribute(path: &Path, value: &[u8]) -> bool {
    rustix::fs::setxattr(path, "user.colour", value, rustix::fs::XattrFlags::empty()).is_ok()
}

fn attribute(path: &Path) -> Option<Vec<u8>> {
    let mut value = vec![0; 64];
    let length = rustix::fs::getxattr(path, "user.colour", &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

#[test]
fn extended_attributes_are_kept_on_every_way_where_that_is_asked_for() {
    let scratch = Scratch::new();
    let (tree, export) = (tree(&scratch), scratch.dir("export"));
    if !set_attribute(&tree, b"red") {
        println!("skipped: {} keeps no extended attributes", tree.display());
        return;
    }
    // A file whose owner may not write it has them as well.
    set_attribute(&tree.join("small-0"), b"blue");
    fs::set_permissions(tree.join("small-0"), fs::Permissions::from_mode(0o444)).unwrap();
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let url = |name: &str| server.url(export.join(name));
    let back = scratch.path("back");
    for (from, to) in [
        (tree.display().to_string(), url("up")),
        (url("up"), url("across")),
        (url("across"), back.display().to_string()),
    ] {
        wharf_ok(&["cp", "-r", "--xattrs", &from, &to]);
    }
    for copy in [export.join("up"), export.join("across"), back] {
        assert_eq!(attribute(&copy).as_deref(), Some(&b"red"[..]), "{}", copy.display());
        assert_eq!(attribute(&copy.join("small-0")).as_deref(), Some(&b"blue"[..]), "{}", copy.display());
        assert_eq!(attribute(&copy.join("small-1")), None, "{}", copy.display());
    }
    let older = format!("{}?version=3", url("older"));
    let refused = wharf_fails(1, &["cp", "-r", "--xattrs", tree.to_str().unwrap(), &older]);
    assert!(refused.contains("NFS version 3") && refused.contains("--xattrs requires NFSv4.2"), "{refused}");
    assert!(!export.join("older").exists());
    wharf_ok(&["cp", "-r", tree.to_str().unwrap(), &older]);
    assert_eq!(attribute(&export.join("older")), None);
}
