//! `wharf cp -r` that ends early, by Ctrl-C, by kill -9 or by failures, and is completed by the same command line.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use testing::program::{Server, interrupt, kept, snapshot, wharf, wharf_fails, wharf_ok};
use testing::{Scratch, wait_until};

/// A file of many WRITEs.
const LARGE: usize = 12 << 20;
/// What keeps a copy going for as long as a test takes to interrupt it.
const SLOW: [&str; 2] = ["--fault", "write:delay=300ms,read:delay=300ms"];
/// What marks a tree that is not copied whole.
const MARK: &str = ".wharf-copy";
/// The options of a client that moves a large file in small pieces.
const SMALL_PIECES: [&str; 4] = ["--rsize", "64K", "--wsize", "64K"];

/// A tree `S` with a directory that nobody may write, a sticky one, and a large file.
fn tree(scratch: &Scratch) -> PathBuf {
    let tree = scratch.dir("S");
    for (name, mode) in [("S", 0o751), ("S/closed", 0o555), ("S/open", 0o1777)] {
        let dir = scratch.path(name);
        let _ = fs::create_dir(&dir);
        fs::write(dir.join("small"), name).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
    }
    let bytes: Vec<u8> = (0..LARGE).map(|index| (index / 1000 * 7 + index % 13) as u8).collect();
    fs::write(tree.join("large"), bytes).unwrap();
    // NFSv2 has microseconds.
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_234_567_890, 123_456_000);
    for name in ["S/large", "S/closed", "S/open", "S"] {
        fs::File::open(scratch.path(name)).unwrap().set_modified(time).unwrap();
    }
    tree
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// The arguments of a copy of a tree.
fn copy<'a>(from: &'a str, to: &'a str) -> Vec<&'a str> {
    [&["cp", "-r", "-v"][..], &SMALL_PIECES, &[from, to]].concat()
}

/// Runs the copy with --resume, which has to succeed, and gives what it said.
fn resume(from: &str, to: &str) -> String {
    let output = wharf(&[&copy(from, to)[..], &["--resume"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// How many bytes a copy says that were there already.
fn resumed_bytes(said: &str) -> usize {
    let (before, _) = said.split_once(" more were there in").unwrap_or_else(|| panic!("nothing was there: {said}"));
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Whether much of the large file is copied, but not all.
fn is_half(copy: &Path) -> bool {
    fs::metadata(copy.join("large")).is_ok_and(|copy| copy.len() > 3 << 20) && copy.join("closed/small").exists()
}

/// Looks at what an interrupted copy has left: marked, and with the modes of its original.
fn check_left(tree: &Path, copy: &Path) {
    assert!(copy.join(MARK).exists());
    for name in ["", "closed", "open"].iter().filter(|name| copy.join(name).exists()) {
        assert_eq!(kept(&copy.join(name)).0, kept(&tree.join(name)).0, "{name:?}");
    }
    let partial = fs::metadata(copy.join("large")).unwrap();
    assert!((1 << 20..LARGE as u64).contains(&partial.len()), "{}", partial.len());
    assert_eq!((partial.mode() & 0o777, partial.mtime()), (0o600, 1_234_567_890));
}

/// Looks at a copy that has to be whole.
fn check_whole(tree: &Path, copy: &Path) {
    assert!(snapshot(tree) == snapshot(copy), "the copy is another one");
    for name in ["", "closed", "open", "large"] {
        assert_eq!(kept(&copy.join(name)), kept(&tree.join(name)), "{name:?}");
    }
}

#[test]
fn same_command_line_completes_the_copy_on_every_way_and_goes_on_within_files() {
    let scratch = Scratch::new();
    let (tree, export) = (tree(&scratch), scratch.dir("export"));
    let back = scratch.path("back");
    let start = |faults: &[&str]| Server::start(1, &[faults, &["--no-root-squash", &text(&export)]].concat());
    let paths = ["up", "across", "up-2", "up-4.2"].map(|name| export.join(name));
    let [up, across, up_2, up_4] = &paths;
    for (from, copy_of, is_remote, version) in [
        (&tree, up, [false, true], "3"),
        (up, &back, [true, false], "3"),
        (up, across, [true; 2], "3"),
        (&tree, up_2, [false, true], "2"),
        (&tree, up_4, [false, true], "4.2"),
    ] {
        let remote = |path: &Path, server: &Server| format!("{}?version={version}", server.url(path));
        let name = |path: &Path, is_remote, server: &Server| if is_remote { remote(path, server) } else { text(path) };
        {
            let server = start(&SLOW);
            let (from, to) = (name(from, is_remote[0], &server), name(copy_of, is_remote[1], &server));
            let said = interrupt(&copy(&from, &to), || is_half(copy_of));
            assert!(said.contains("incomplete: ") && said.contains("large; "), "{said}");
            assert!(said.contains("run the same command with --resume"), "{said}");
            check_left(&tree, copy_of);
        }
        let server = start(&[]);
        let (from, to) = (name(from, is_remote[0], &server), name(copy_of, is_remote[1], &server));
        let refused = wharf_fails(1, &copy(&from, &to));
        assert!(refused.contains("; --resume completes it"), "{refused}");
        assert!(resumed_bytes(&resume(&from, &to)) >= 1 << 20);
        check_whole(&tree, copy_of);
        // There is nothing left to do.
        assert!(resume(&from, &to).contains("copied 0 files (4 more were there)"));
        check_whole(&tree, copy_of);
    }
}

#[test]
fn partial_file_that_is_not_of_its_original_is_copied_from_the_first_difference_on() {
    let scratch = Scratch::new();
    let (tree, export) = (tree(&scratch), scratch.dir("export"));
    let copy_of = export.join("copy");
    {
        let server = Server::start(1, &["--no-root-squash", SLOW[0], SLOW[1], &text(&export)]);
        interrupt(&copy(&text(&tree), &server.url(&copy_of)), || is_half(&copy_of));
    }
    // Somebody changes a byte near the end of what is there, and the time is what it was.
    let partial = fs::File::options().write(true).open(copy_of.join("large")).unwrap();
    let metadata = partial.metadata().unwrap();
    partial.write_all_at(b"?", metadata.len() - 200_000).unwrap();
    partial.set_modified(metadata.modified().unwrap()).unwrap();
    let server = Server::start(1, &["--no-root-squash", &text(&export)]);
    let good = resumed_bytes(&resume(&text(&tree), &server.url(&copy_of)));
    let expected = metadata.len() as usize - 200_000;
    assert!((expected - (64 << 10)..=expected).contains(&good), "{good} of {expected}");
    check_whole(&tree, &copy_of);
}

#[test]
fn copy_that_was_killed_is_completed_too() {
    let scratch = Scratch::new();
    let (tree, export) = (tree(&scratch), scratch.dir("export"));
    let copy_of = export.join("copy");
    {
        let server = Server::start(1, &["--no-root-squash", SLOW[0], SLOW[1], &text(&export)]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
        let to = server.url(&copy_of);
        let mut child = command.args(copy(&text(&tree), &to)).stderr(Stdio::null()).spawn().unwrap();
        wait_until("the copy is half done", || is_half(&copy_of));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // Others have no more and no fewer rights to directories than they shall have in the end.
    for name in ["", "closed", "open"].iter().filter(|name| copy_of.join(name).exists()) {
        assert_eq!(kept(&copy_of.join(name)).0 & 0o1077, kept(&tree.join(name)).0 & 0o1077, "{name:?}");
    }
    // A hole where a write was lost.
    let partial = fs::File::options().write(true).open(copy_of.join("large")).unwrap();
    partial.write_all_at(&[0; 4096], 1 << 20).unwrap();
    let server = Server::start(1, &["--no-root-squash", &text(&export)]);
    assert_eq!(resumed_bytes(&resume(&text(&tree), &server.url(&copy_of))), 1 << 20);
    check_whole(&tree, &copy_of);
}

/// A name, the fault that holds a copy up, and how to see that it is held up.
type KilledAt = (&'static str, &'static str, fn(&Path) -> bool);

#[test]
fn copy_killed_while_its_directory_is_made_or_finished_is_completed_in_its_place() {
    let scratch = Scratch::new();
    let (from, export) = (scratch.dir("from"), scratch.dir("export"));
    fs::write(from.join("file"), "content").unwrap();
    fs::File::open(&from).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    fn is_whole(copy: &Path) -> bool {
        copy.join("file").exists() && !copy.join(MARK).exists()
    }
    let steps: [KilledAt; 3] = [
        ("made", "rename:delay=600s", |copy| copy.exists()),
        ("whole", "set_attributes:delay=600s@2", is_whole),
        ("finished", "remove:delay=600s", |copy| is_whole(copy) && fs::metadata(copy).unwrap().mtime() == 0),
    ];
    for (name, fault, is_there) in steps {
        for version in ["3", "4.2"] {
            let copy_of = export.join(format!("{name}-{version}"));
            let url = |server: &Server| format!("{}?version={version}", server.url(&copy_of));
            {
                let server = Server::start(1, &["--no-root-squash", "--fault", fault, &text(&export)]);
                let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
                let mut child = command.args(copy(&text(&from), &url(&server))).spawn().unwrap();
                wait_until("the copy is there", || is_there(&copy_of));
                child.kill().unwrap();
                child.wait().unwrap();
            }
            assert!(!copy_of.join(MARK).exists(), "{name}");
            let server = Server::start(1, &["--no-root-squash", &text(&export)]);
            let refused = wharf_fails(1, &copy(&text(&from), &url(&server)));
            assert!(refused.contains(&format!("{MARK}.{name}-{version}")), "{refused}");
            resume(&text(&from), &url(&server));
            assert!(snapshot(&from) == snapshot(&copy_of), "{name}, {version}");
        }
    }
    assert_eq!(fs::read_dir(&export).unwrap().count(), 6);
}

#[test]
fn directory_with_an_empty_mark_is_completed() {
    let scratch = Scratch::new();
    let (tree, export) = (tree(&scratch), scratch.dir("export"));
    let server = Server::start(1, &["--no-root-squash", &text(&export)]);
    let (there, here) = (export.join("copy"), scratch.path("copy"));
    for (from, copy_of, to) in [(text(&tree), &there, server.url(&there)), (server.url(&there), &here, text(&here))] {
        fs::create_dir(copy_of).unwrap();
        fs::write(copy_of.join(MARK), "").unwrap();
        let refused = wharf_fails(1, &copy(&from, &to));
        assert!(refused.contains("incomplete copy of an unknown original; --resume completes it"), "{refused}");
        resume(&from, &to);
        check_whole(&tree, copy_of);
    }
}

#[test]
fn directory_that_is_no_copy_takes_the_copy_in() {
    let scratch = Scratch::new();
    let tree = tree(&scratch);
    let other = scratch.dir("other");
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let dir = server.url("/mem/dir");
    wharf_ok(&["mkdir", &dir]);
    resume(&text(&tree), &dir);
    assert_eq!(wharf_ok(&["ls", "-a", &dir]), "S\n");
    assert!(resume(&text(&tree), &dir).contains("copied 0 files"));
    assert_eq!(wharf_ok(&["ls", "-a", &dir]), "S\n");
    // An unfinished copy of something else is neither overwritten nor filled.
    wharf_ok(&["cp", scratch.file("mark", "/elsewhere\n").to_str().unwrap(), &format!("{dir}/{MARK}")]);
    let refused = wharf_fails(1, &["cp", "-r", "--resume", other.to_str().unwrap(), &dir]);
    assert!(refused.contains("incomplete copy of /elsewhere; complete it first"), "{refused}");
    // Whoever says that it is the copy itself is right.
    wharf_ok(&["cp", "-rT", "--overwrite", other.to_str().unwrap(), &dir]);
    assert_eq!(wharf_ok(&["ls", "-a", &dir]), "S\n");
}

#[test]
fn copy_goes_on_after_a_failure_names_it_and_ends_with_1() {
    let scratch = Scratch::new();
    let tree = tree(&scratch);
    let good = scratch.file("good", "good");
    let server =
        Server::start(1, &["--no-root-squash", "--fault", "create(small):error=denied,write:error=io@5+", "mem:64M"]);
    let to = server.url("/mem/copy");
    let said = wharf_fails(1, &copy(&text(&tree), &to));
    for path in ["copy/small", "copy/closed/small", "copy/open/small"] {
        assert!(said.lines().any(|line| line.contains(&format!("{path}: permission denied"))), "{path}: {said}");
    }
    // Of the large file something is there.
    assert!(
        said.lines().any(|line| line.contains("copy/large: ") && line.ends_with("its copy is incomplete")),
        "{said}"
    );
    let last = said.lines().last().unwrap();
    assert!(last.contains("0 of 4 files copied, 4 failures; run the same command with --resume"), "{said}");
    assert_eq!(wharf_ok(&["ls", "-a", &to]), format!("{MARK}\nclosed\nlarge\nopen\n"));
    // Several sources are copied one by one.
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (missing, into) = (scratch.path("missing"), server.url("/mem"));
    let said = wharf_fails(1, &["cp", &text(&missing), &text(&good), &text(&tree), &into]);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains("missing: No such file") && said.contains("S: is a directory"), "{said}");
    assert_eq!(wharf_ok(&["cat", &server.url("/mem/good")]), "good");
}

#[test]
fn failures_without_end_are_counted_and_a_hundred_are_told() {
    let scratch = Scratch::new();
    let tree = scratch.dir("tree");
    (0..150).for_each(|number| fs::write(tree.join(format!("file-{number}")), "x").unwrap());
    let server = Server::start(1, &["--no-root-squash", "--fault", "create:error=denied@2+", "mem:64M"]);
    let said = wharf_fails(1, &["cp", "-r", tree.to_str().unwrap(), &server.url("/mem/copy")]);
    assert_eq!(said.lines().count(), 101, "{said}");
    assert!(said.contains("0 of 150 files copied, 150 failures, of which 50 are not shown"), "{said}");
}

#[test]
fn want_of_room_ends_the_copy_with_what_is_left_of_it() {
    let scratch = Scratch::new();
    let tree = tree(&scratch);
    let server = Server::start(1, &["--no-root-squash", "--fault", "write:error=nospace@20+", "mem:64M"]);
    let said = wharf_fails(1, &copy(&text(&tree), &server.url("/mem/copy")));
    assert!(said.contains("copy/large: no space left"), "{said}");
    assert!(said.contains("; incomplete: copy/large; ") && said.contains(" of 4 files copied; "), "{said}");
    assert!(said.contains("run the same command with --resume"), "{said}");
    let modes = wharf_ok(&["ls", "-l", &server.url("/mem")]);
    assert!(modes.starts_with("drwxr-x--x "), "{modes}");
}

#[test]
fn removal_goes_on_after_a_failure_names_it_and_ends_with_1() {
    let scratch = Scratch::new();
    let (tree, export) = (tree(&scratch), scratch.dir("export"));
    let server = Server::start(1, &["--no-root-squash", "--fault", "remove(small):error=denied@1", &text(&export)]);
    let to = server.url(export.join("copy"));
    wharf_ok(&copy(&text(&tree), &to));
    let said = wharf_fails(1, &["rm", "-r", &to]);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("small: permission denied (REMOVE)"), "{said}");
    // The file that stays, and the directories that it is in.
    assert!((2..=3).contains(&snapshot(&export.join("copy")).len()), "{:?}", snapshot(&export.join("copy")).len());
    let missing = server.url(export.join("missing"));
    let said = wharf_fails(1, &["rm", "-r", &missing, &to]);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("missing: no such file"), "{said}");
    assert!(!export.join("copy").exists());
}
