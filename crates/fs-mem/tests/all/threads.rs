//! Several threads at once.

use std::sync::mpsc;
use std::time::Duration;

use vfs::{Context, FileKind, FileSystem, OpenMode, Stability};

use crate::shell::Shell;
use testing::Random;

const DIRS: &[&str] = &["", "a/", "b/", "a/p/", "a/q/", "b/p/", "b/q/"];
const NAMES: &[&str] = &["a", "b", "p", "q", "x", "y"];

fn step(shell: &Shell, random: &mut Random) {
    let path = |random: &mut Random| format!("{}{}", random.of(DIRS), random.of(NAMES));
    let (one, two) = (path(random), path(random));
    // Most of these fail, as the other threads are at work in the same places; what counts is the tree in the end.
    let _ = match random.below(8) {
        0 => shell.mkdir(&one).map(drop),
        1 => shell.create(&one).map(drop),
        2 => shell.link(&one, &two).map(drop),
        3 => shell.remove(&one),
        4 => shell.rmdir(&one),
        5 => shell.list_in_passing(random.of(DIRS)),
        _ => shell.rename(&one, &two),
    };
}

/// Checks the counts of everything below `path`, and says how many names and removable files there are.
fn check(shell: &Shell, path: &str) -> u64 {
    let mut names = 0;
    let mut subdirectories = 0;
    for (name, _) in shell.list(path, 0, usize::MAX).unwrap() {
        let below = format!("{path}/{name}");
        names += 1;
        if shell.stat(&below).unwrap().kind == FileKind::Directory {
            subdirectories += 1;
            let handle = shell.handle(&below).unwrap();
            let parent = shell.0.parent(&Context::ROOT, &handle).unwrap().handle;
            assert_eq!(parent, shell.handle(path).unwrap(), "{below}");
            names += check(shell, &below);
        }
    }
    assert_eq!(shell.stat(path).unwrap().links, 2 + subdirectories, "{path}");
    names
}

#[test]
fn renames_and_removals_in_all_directions_never_deadlock_and_leave_a_whole_tree() {
    const SEED: u64 = 42;
    println!("seed {SEED}");
    let (done, finished) = mpsc::channel();
    std::thread::spawn(move || {
        let shell = Shell::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let shell = &shell;
                scope.spawn(move || {
                    let mut random = Random(SEED + thread);
                    (0..20_000).for_each(|_| step(shell, &mut random));
                });
            }
        });
        let names = check(&shell, "");
        let space = shell.0.space(&Context::ROOT, &shell.0.root()).unwrap();
        done.send((names, space.total_files - space.free_files)).unwrap();
    });
    let (names, counted) = finished.recv_timeout(Duration::from_secs(60)).expect("deadlock, or a thread failed");
    assert_eq!(names + 1, counted);
}

#[test]
fn write_of_a_page_is_never_seen_half() {
    let shell = Shell::new();
    let handle = shell.create("x").unwrap();
    let file = shell.0.open(&Context::ROOT, &handle, OpenMode::Write).unwrap();
    let write = |byte| file.write_at(&Context::ROOT, 100, &[byte; 8192], Stability::File).unwrap();
    write(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..2000_u32 {
                write(round as u8);
            }
        });
        for _ in 0..2000 {
            let mut bytes = [0; 8192];
            assert_eq!(file.read_at(&Context::ROOT, 100, &mut bytes).unwrap(), 8192);
            assert!(bytes.iter().all(|&byte| byte == bytes[0]));
        }
    });
}
