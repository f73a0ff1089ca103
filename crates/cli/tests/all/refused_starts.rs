//! A start that is refused leaves files and marks as they were, `--check` refuses the same, and an end that leaves
//! changes in the write log fails.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{MountFlags, mount};
use rustix::process::Signal;

use testing::Scratch;
use testing::disks::{DiskKind, LoopDisk, enter_mount_namespace, succeeds};
use testing::program::{Server, wharf_fails, wharf_ok};

/// The arguments of a server with a write log.
struct Arguments([String; 7]);

impl Arguments {
    fn new(export: &Path, log: &Path, state: &Path) -> Arguments {
        let [export, log, state] = [export, log, state].map(|path| path.to_str().unwrap());
        Arguments([export, "--write-log", log, "--write-log-size", "4M", "--state-dir", state].map(str::to_owned))
    }

    fn with(&self, more: &[&str]) -> Vec<String> {
        self.0.iter().cloned().chain(more.iter().map(|argument| (*argument).to_owned())).collect()
    }

    fn start(&self) -> Server {
        let all = self.with(&["--no-root-squash", "--write-log-max-age", "60s"]);
        Server::start(1, &all.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// What a start says that is refused.
    fn refusal(&self, more: &[&str]) -> String {
        wharf_fails(1, &[vec!["serve".to_owned()], self.with(more)].concat())
    }
}

/// Makes a file of this many bytes through a server.
fn make(server: &Server, scratch: &Scratch, to: PathBuf, bytes: usize) {
    let from = scratch.path("source");
    fs::write(&from, vec![b'x'; bytes]).unwrap();
    wharf_ok(&["cp", from.to_str().unwrap(), &server.url(to)]);
}

/// Takes all room of a file system.
fn fill(filler: &Path) {
    for bytes in [1 << 20, 4096, 1] {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(filler).unwrap();
        while file.write_all(&vec![1; bytes]).is_ok() {}
    }
}

fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "lost+found").collect()
}

#[test]
fn start_with_a_port_in_use_makes_nothing_and_marks_no_export() {
    let scratch = Scratch::on_disk();
    let [export, log, state] = ["export", "log", "state"].map(|name| scratch.path(name));
    fs::create_dir(&export).unwrap();
    let arguments = Arguments::new(&export, &log, &state);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = arguments.refusal(&["--listen", &address]);
    assert!(said.contains(&address), "{said}");
    assert!(!log.exists() && !state.exists(), "{said}");
    // Nothing depends on a log.
    drop(Server::start(1, &[export.to_str().unwrap(), "--state-dir", state.to_str().unwrap()]));
}

#[test]
fn start_with_a_full_state_disk_leaves_neither_a_log_nor_an_export_that_needs_it() {
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    let scratch = Scratch::on_disk();
    let (export, log, state) = (scratch.dir("export"), scratch.path("log"), disk.dir().join("state"));
    fs::create_dir(&state).unwrap();
    let filler = disk.dir().join("filler");
    fill(&filler);
    let arguments = Arguments::new(&export, &log, &state);
    let said = arguments.refusal(&["--listen", "127.0.0.1:0"]);
    assert!(said.contains("No space left on device") && said.contains("make room"), "{said}");
    assert!(!log.exists(), "{said}");
    fs::remove_file(filler).unwrap();
    drop(Server::start(1, &[export.to_str().unwrap(), "--state-dir", state.to_str().unwrap()]));
    drop(arguments.start());
}

#[test]
fn export_that_is_mounted_read_only_with_changes_in_the_log_is_refused_by_the_check_too() {
    if !enter_mount_namespace() {
        return;
    }
    let scratch = Scratch::on_disk();
    let (export, log, state) = (scratch.dir("export"), scratch.path("log"), scratch.path("state"));
    let arguments = Arguments::new(&export, &log, &state);
    let mut server = arguments.start();
    make(&server, &scratch, export.join("file"), 1000);
    server.signal(Signal::KILL);
    server.wait();
    mount(&export, &export, "", MountFlags::BIND, None).unwrap();
    assert!(succeeds(Command::new("mount").args(["-o", "remount,bind,ro"]).arg(&export)));
    for more in [&["--listen", "127.0.0.1:0"][..], &["--listen", "127.0.0.1:0", "--check"]] {
        let said = arguments.refusal(more);
        assert!(
            said.contains("which is mounted read-only") && said.contains("mount it for writing"),
            "{more:?}: {said}"
        );
    }
    assert!(succeeds(Command::new("umount").arg(&export)));
    drop(arguments.start());
}

#[test]
fn server_that_ends_with_changes_in_the_log_alone_fails_and_says_that_the_next_start_needs_it() {
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    let scratch = Scratch::on_disk();
    let (export, log, state) = (disk.dir().join("export"), scratch.path("log"), scratch.path("state"));
    fs::create_dir(&export).unwrap();
    let mut server = Arguments::new(&export, &log, &state).start();
    make(&server, &scratch, export.join("file"), 60_000);
    disk.fail_new_blocks();
    server.signal(Signal::TERM);
    let status = server.wait();
    let said = server.log();
    assert_eq!(status, Some(1), "{said}");
    let expected = format!("the write log {} is not empty, and the next start needs it: ", log.display());
    assert!(said.contains(&expected), "{said}");
    assert_eq!(names(&scratch.path("")).iter().filter(|name| *name == "log").count(), 1);
    disk.repair();
}

#[test]
fn replay_without_room_names_the_file() {
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    let scratch = Scratch::on_disk();
    let (export, log, state) = (disk.dir().join("export"), scratch.path("log"), scratch.path("state"));
    fs::create_dir(&export).unwrap();
    let arguments = Arguments::new(&export, &log, &state);
    let mut server = arguments.start();
    make(&server, &scratch, export.join("file"), 60_000);
    server.signal(Signal::KILL);
    server.wait();
    fs::remove_file(export.join("file")).unwrap();
    fill(&disk.dir().join("filler"));
    let replay = ["log", "replay", log.to_str().unwrap(), "--state-dir", state.to_str().unwrap()];
    let said = wharf_fails(1, &replay);
    assert!(said.contains(": file: write ") && said.contains("make room on the file system"), "{said}");
    fs::remove_file(disk.dir().join("filler")).unwrap();
    wharf_ok(&replay);
    assert_eq!(fs::read(export.join("file")).unwrap(), [b'x'; 60_000]);
}
