//! Attributes: times, modes, owners, change numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use fs_mem::{Clock, MemFs, MemOptions};
use vfs::{
    Caller, Context, CreateMode, Error, FileSystem, NewNode, OpenMode, SetAttributes, SetTime, Stability, Timestamp,
};

use crate::shell::{NOTHING, Shell};

fn user(uid: u32, gid: u32) -> Context<'static> {
    Context { caller: Caller { uid, gid, groups: &[] }, ..Context::ROOT }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanoseconds: 0 }
}

/// A shell whose clock shows the seconds that the number says.
fn with_clock() -> (Shell, Arc<AtomicU64>) {
    let seconds = Arc::new(AtomicU64::new(100));
    let shown = Arc::clone(&seconds);
    let clock = Clock::new(move || UNIX_EPOCH + Duration::from_secs(shown.load(Ordering::Relaxed)));
    (Shell(MemFs::new(MemOptions { clock, ..MemOptions::default() })), seconds)
}

#[test]
fn times_say_what_happened_when() {
    let (shell, seconds) = with_clock();
    shell.create("x").unwrap();
    seconds.store(200, Ordering::Relaxed);
    shell.write("x", 0, b"abc").unwrap();
    seconds.store(300, Ordering::Relaxed);
    shell.link("x", "y").unwrap();
    seconds.store(400, Ordering::Relaxed);
    shell.read("x", 0, 3).unwrap();
    let attributes = shell.stat("x").unwrap();
    assert_eq!(attributes.created, Some(at(100)));
    assert_eq!((attributes.modified, attributes.changed, attributes.accessed), (at(200), at(300), at(400)));
    assert_eq!(shell.stat("").unwrap().modified, at(300));
}

#[test]
fn second_read_after_a_change_leaves_the_access_time_alone() {
    let (shell, seconds) = with_clock();
    shell.create("x").unwrap();
    shell.write("x", 0, b"abc").unwrap();
    for second in [200, 300] {
        seconds.store(second, Ordering::Relaxed);
        shell.read("x", 0, 3).unwrap();
        assert_eq!(shell.stat("x").unwrap().accessed, at(200));
    }
}

#[test]
fn times_that_a_caller_names_are_kept_exactly() {
    let (shell, _) = with_clock();
    let handle = shell.create("x").unwrap();
    let odd = Timestamp { seconds: -5, nanoseconds: 999_999_999 };
    let set = SetAttributes { accessed: Some(SetTime::To(odd)), modified: Some(SetTime::Now), ..NOTHING };
    let attributes = shell.0.set_attributes(&Context::ROOT, &handle, &set).unwrap();
    assert_eq!((attributes.accessed, attributes.modified), (odd, at(100)));
}

#[test]
fn change_number_moves_with_every_change_and_with_nothing_else() {
    let shell = Shell::new();
    let change = |path: &str| shell.stat(path).unwrap().change;
    let mut seen = vec![change("")];
    shell.create("x").unwrap();
    seen.push(change(""));
    shell.link("x", "y").unwrap();
    seen.push(change(""));
    shell.rename("y", "z").unwrap();
    seen.push(change(""));
    shell.remove("z").unwrap();
    seen.push(change(""));
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    let before = change("x");
    shell.read("x", 0, 10).unwrap();
    shell.0.set_attributes(&Context::ROOT, &shell.handle("x").unwrap(), &NOTHING).unwrap();
    assert!(shell.create("x").is_err() && shell.remove("gone").is_err());
    assert_eq!((change("x"), change("")), (before, seen[4]));
    shell.write("x", 0, b"a").unwrap();
    assert!(change("x") > before);
}

#[test]
fn size_cannot_be_set_where_there_are_no_bytes_and_then_nothing_is_set() {
    let shell = Shell::new();
    shell.mkdir("d").unwrap();
    shell.symlink("l", b"t").unwrap();
    let set = SetAttributes { size_bytes: Some(0), mode: Some(0), ..NOTHING };
    let set_on = |path| shell.0.set_attributes(&Context::ROOT, &shell.handle(path).unwrap(), &set);
    assert!(matches!(set_on("d"), Err(Error::IsDirectory)));
    assert!(matches!(set_on("l"), Err(Error::WrongKind)));
    assert_eq!(shell.stat("d").unwrap().mode, 0o755);
}

#[test]
fn new_file_belongs_to_its_caller_or_to_whom_the_caller_names() {
    let shell = Shell::new();
    let (cx, place) = (user(10, 20), shell.place("x").unwrap());
    let made = shell.0.create(&cx, place, CreateMode::Guarded, &NOTHING).unwrap().attributes;
    assert_eq!((made.uid, made.gid, made.mode), (10, 20, 0o644));
    let set = SetAttributes { uid: Some(1), gid: Some(2), mode: Some(0o751), ..NOTHING };
    let made = shell.0.make_node(&Context::ROOT, shell.place("d").unwrap(), NewNode::Directory, &set).unwrap();
    assert_eq!((made.attributes.uid, made.attributes.gid, made.attributes.mode), (1, 2, 0o751));
}

#[test]
fn directory_with_the_set_group_id_bit_hands_down_its_group() {
    let shell = Shell::new();
    let set = SetAttributes { gid: Some(50), mode: Some(0o2775), ..NOTHING };
    shell.0.make_node(&Context::ROOT, shell.place("d").unwrap(), NewNode::Directory, &set).unwrap();
    let cx = user(10, 20);
    let sub = shell.0.make_node(&cx, shell.place("d/e").unwrap(), NewNode::Directory, &NOTHING).unwrap().attributes;
    assert_eq!((sub.gid, sub.mode), (50, 0o2755));
    let file = shell.0.create(&cx, shell.place("d/f").unwrap(), CreateMode::Guarded, &NOTHING).unwrap().attributes;
    assert_eq!((file.gid, file.mode), (50, 0o644));
}

#[test]
fn set_id_bits_do_not_survive_a_change_by_anybody_but_the_superuser() {
    let shell = Shell::new();
    let handle = shell.create("x").unwrap();
    let reset = || {
        let set = SetAttributes { mode: Some(0o6755), uid: Some(10), gid: Some(20), ..NOTHING };
        shell.0.set_attributes(&Context::ROOT, &handle, &set).unwrap();
    };
    let mode = || shell.stat("x").unwrap().mode;
    let file = shell.0.open(&Context::ROOT, &handle, OpenMode::Write).unwrap();
    reset();
    file.write_at(&Context::ROOT, 0, b"a", Stability::File).unwrap();
    assert_eq!(mode(), 0o6755);
    file.write_at(&user(10, 20), 0, b"a", Stability::File).unwrap();
    assert_eq!(mode(), 0o755);
    reset();
    let cut = SetAttributes { size_bytes: Some(0), ..NOTHING };
    shell.0.set_attributes(&user(10, 20), &handle, &cut).unwrap();
    assert_eq!(mode(), 0o755);
    reset();
    let chown = SetAttributes { gid: Some(20), ..NOTHING };
    shell.0.set_attributes(&user(10, 20), &handle, &chown).unwrap();
    assert_eq!(mode(), 0o755);
}

#[test]
fn group_is_lent_only_by_its_members() {
    let shell = Shell::new();
    let handle = shell.create("x").unwrap();
    let set = SetAttributes { mode: Some(0o2755), ..NOTHING };
    assert_eq!(shell.0.set_attributes(&user(10, 20), &handle, &set).unwrap().mode, 0o755);
    assert_eq!(shell.0.set_attributes(&user(10, 0), &handle, &set).unwrap().mode, 0o2755);
}
