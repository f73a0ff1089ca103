//! Which files a server takes for its own, and as whom it uses them.

#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use nix::unistd::{Gid, Uid, setfsgid, setfsuid};
use own_files::{Locked, OwnDir, Refusal};
use testing::{Scratch, private_dir};

const OTHER: u32 = 54_321;

fn refusal<T>(result: io::Result<T>) -> Refusal {
    let error = result.err().expect("it was not refused");
    *error.get_ref().and_then(|inner| inner.downcast_ref()).unwrap_or_else(|| panic!("{error}"))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn state(scratch: &Scratch) -> (OwnDir, std::path::PathBuf) {
    let path = scratch.path("state");
    (OwnDir::create(&path).unwrap(), path)
}

fn is_root() -> bool {
    let is_root = Uid::effective().is_root();
    if !is_root {
        println!("skipped: only the superuser can give files away");
    }
    is_root
}

#[test]
fn directory_that_others_can_change_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.path("state");
    private_dir(&path);
    for mode in [0o777, 0o1777, 0o770, 0o702] {
        set_mode(&path, mode);
        assert_eq!(refusal(OwnDir::create(&path)), Refusal::Mode { mode });
    }
    set_mode(&path, 0o755);
    OwnDir::create(&path).unwrap();
    if is_root() {
        chown(&path, Some(OTHER), None).unwrap();
        assert_eq!(refusal(OwnDir::create(&path)), Refusal::Owner { owner: OTHER, server: 0 });
    }
}

#[test]
fn directory_behind_a_link_of_the_server_is_used_and_behind_one_of_another_user_is_not() {
    let scratch = Scratch::new();
    let (_, path) = state(&scratch);
    let link = scratch.path("link");
    symlink(&path, &link).unwrap();
    OwnDir::open(&link).unwrap();
    if is_root() {
        std::os::unix::fs::lchown(&link, Some(OTHER), None).unwrap();
        assert_eq!(refusal(OwnDir::open(&link)), Refusal::Owner { owner: OTHER, server: 0 });
    }
}

#[test]
fn planted_file_is_neither_read_nor_written() {
    let scratch = Scratch::new();
    let (dir, path) = state(&scratch);
    let victim = scratch.file("victim", "precious");
    set_mode(&victim, 0o600);
    symlink(&victim, path.join("link")).unwrap();
    fs::hard_link(&victim, path.join("second-name")).unwrap();
    fs::create_dir(path.join("directory")).unwrap();
    drop(dir.file("writable").unwrap());
    set_mode(&path.join("writable"), 0o620);
    let expected =
        [("link", Refusal::Link), ("second-name", Refusal::Names), ("writable", Refusal::Mode { mode: 0o620 })];
    for (name, why) in expected {
        assert_eq!(refusal(dir.file(name)), why, "{name}");
        assert_eq!(refusal(dir.file_to_write(name)), why, "{name}");
        assert_eq!(refusal(dir.read(name, 10)), why, "{name}");
    }
    assert_eq!(refusal(dir.file_to_read("directory")), Refusal::Kind);
    if is_root() {
        drop(dir.file("foreign").unwrap());
        chown(path.join("foreign"), Some(OTHER), None).unwrap();
        assert_eq!(refusal(dir.file("foreign")), Refusal::Owner { owner: OTHER, server: 0 });
    }
    // A replacement takes the place of a link and of a draft's link, and does not write through either.
    symlink(&victim, path.join("link.new")).unwrap();
    dir.replace("link", b"new").unwrap();
    assert_eq!(
        (fs::read(&victim).unwrap(), dir.read("link", 10).unwrap().unwrap()),
        (b"precious".into(), b"new".into())
    );
}

#[test]
fn planted_pipe_keeps_nobody_waiting() {
    let scratch = Scratch::new();
    let (dir, path) = state(&scratch);
    nix::unistd::mkfifo(&path.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(refusal(dir.read("pipe", 10)), Refusal::Kind);
}

#[test]
fn files_are_used_as_the_server_though_the_thread_is_a_client() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let (_, path) = state(&scratch);
    let (user, group) = (Uid::from_raw(OTHER), Gid::from_raw(OTHER));
    setfsgid(group);
    setfsuid(user);
    File::create(path.join("as-client")).expect_err("the thread is no client");
    let dir = OwnDir::create(&path).unwrap();
    let below = OwnDir::create(&path.join("further/below")).unwrap();
    let mut file = dir.file("made").unwrap();
    file.write_all(b"text").unwrap();
    dir.replace("replaced", b"one").unwrap();
    dir.replace("replaced", b"two").unwrap();
    dir.rename("made", "renamed").unwrap();
    dir.remove("replaced").unwrap();
    let read = dir.read("renamed", 10).unwrap().unwrap();
    // Each call leaves the thread as it was.
    assert_eq!((setfsuid(Uid::from_raw(0)), setfsgid(Gid::from_raw(0))), (user, group));
    assert_eq!(read, b"text");
    for made in [path.join("renamed"), below.path().to_owned()] {
        let metadata = fs::metadata(&made).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (0, 0), "{}", made.display());
    }
}

#[test]
fn replaced_file_goes_on_behind_its_contents() {
    let scratch = Scratch::new();
    let (dir, path) = state(&scratch);
    let mut file = dir.replace("records", b"head ").unwrap();
    file.write_all(b"and more").unwrap();
    let mut whole = String::new();
    dir.file_to_read("records").unwrap().unwrap().read_to_string(&mut whole).unwrap();
    assert_eq!((whole.as_str(), path.join("records.new").exists()), ("head and more", false));
    assert_eq!(dir.read("records", 4).unwrap().unwrap(), b"head");
    assert!(dir.read("none", 4).unwrap().is_none());
}

/// A child that was forked and has not yet called execve(2) has a copy of every descriptor, as a clone of it does here.
#[test]
fn lock_ends_with_its_holder_though_a_copy_of_the_descriptor_is_open() {
    let scratch = Scratch::new();
    let (dir, path) = state(&scratch);
    let file = dir.file("log").unwrap();
    let copies = (file.try_clone().unwrap(), std::os::fd::AsFd::as_fd(&dir).try_clone_to_owned().unwrap());
    let locks = (Locked::exclusive(file).unwrap(), Locked::exclusive(dir).unwrap());
    let again = || {
        let dir = OwnDir::open(&path).unwrap();
        (Locked::exclusive(dir.file("log").unwrap()).is_ok(), Locked::exclusive(dir).is_ok())
    };
    assert_eq!(again(), (false, false));
    drop(locks);
    assert_eq!(again(), (true, true));
    drop(copies);
}
