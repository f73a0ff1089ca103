//! A server that starts while another process changes which write log its export depends on. A program of its own,
//! since opening an export takes the umask from the process.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use fs_host::{HostFs, HostOptions};
use rustix::process::Signal;
use testing::program::{Server, wharf_fails, wharf_ok};
use testing::{Scratch, wait_until};

/// The byte of a directory that a server with a write log locks.
const IN_USE: &str = "512852324966";

struct Site {
    scratch: Scratch,
    dir: PathBuf,
}

impl Site {
    /// An export whose server was killed, so that it depends on a log.
    fn new() -> Site {
        let scratch = Scratch::on_disk();
        let dir = scratch.dir("export");
        let site = Site { scratch, dir };
        let mut server = site.serve();
        let file = site.scratch.file("file", "data");
        wharf_ok(&["cp", file.to_str().unwrap(), &server.url(&site.dir)]);
        kill(&mut server);
        site
    }

    fn text(&self, name: &str) -> String {
        self.scratch.path(name).to_str().unwrap().to_owned()
    }

    fn serve(&self) -> Server {
        let (log, state) = (self.text("log"), self.text("state"));
        let options = ["--no-root-squash", "--write-log-size", "4M", "--write-log", &log, "--state-dir", &state];
        Server::start(1, &[&[self.dir.to_str().unwrap()], &options[..]].concat())
    }

    /// The export as `wharf log` has it open to change its mark, with another state directory.
    fn claim(&self) -> HostFs {
        let state_dir = Some(self.scratch.path("other-state"));
        let options = HostOptions { state_dir, sync_metadata: false, ..HostOptions::default() };
        let host = HostFs::open(&self.dir, options).unwrap();
        assert!(host.claim_log_mark().unwrap());
        host
    }

    /// Whether a server has locked the export, as /proc/locks shows it (proc(5)).
    fn is_in_use(&self) -> bool {
        let inode = fs::metadata(&self.dir).unwrap().ino().to_string();
        let is_of_server = |line: &str| {
            let [_, kind, _, _, _, file, first, last] = *line.split_whitespace().collect::<Vec<_>>() else {
                return false;
            };
            kind == "OFDLCK" && file.rsplit(':').next() == Some(&inode) && (first, last) == (IN_USE, IN_USE)
        };
        fs::read_to_string("/proc/locks").unwrap().lines().any(is_of_server)
    }

    fn assert_needs_log(&self, state: &str) {
        let serve = ["serve", self.dir.to_str().unwrap(), "--listen", "127.0.0.1:0", "--state-dir", &self.text(state)];
        let said = wharf_fails(1, &serve);
        assert!(said.contains("may be in the write log"), "{said}");
    }
}

fn kill(server: &mut Server) {
    server.signal(Signal::KILL);
    server.wait();
}

fn give_up(dir: &Path, host: &HostFs, state: &Path) -> bool {
    stable::give_up_log(dir, Some(host), state).unwrap()
}

#[test]
fn server_that_starts_while_its_export_is_given_up_marks_it_after_that() {
    let site = Site::new();
    let host = site.claim();
    thread::scope(|scope| {
        let starting = scope.spawn(|| site.serve());
        wait_until("the server waits for the end of the claim", || site.is_in_use());
        assert!(give_up(&site.dir, &host, &site.scratch.path("other-state")));
        drop(host);
        kill(&mut starting.join().unwrap());
    });
    site.assert_needs_log("state");
    site.assert_needs_log("fresh-state");
}

#[test]
fn export_that_another_process_gives_up_is_left_alone() {
    let site = Site::new();
    let host = site.claim();
    let (log, state, dir) = (site.text("log"), site.text("state"), site.dir.to_str().unwrap());
    for command in [&["log", "drain", "--discard"][..], &["log", "adopt"], &["log", "drain"], &["log", "replay"]] {
        let said = wharf_fails(1, &[command, &[&log, "--state-dir", &state]].concat());
        assert!(said.contains("or another `wharf log` does"), "{said}");
    }
    drop(host);
    let said = wharf_ok(&["log", "drain", "--discard", &log, "--state-dir", &state, "--export", dir]);
    assert_eq!(said.matches("no longer depends").count(), 1, "{said}");
}

#[test]
fn directory_that_the_log_has_under_two_names_is_given_up_and_adopted() {
    let site = Site::new();
    let other = site.scratch.path("link");
    std::os::unix::fs::symlink(&site.dir, &other).unwrap();
    let (log, state) = (site.text("log"), site.text("state"));
    for command in [&["adopt"][..], &["drain"], &["drain", "--discard"]] {
        let mut options = vec!["--no-root-squash", "--write-log", &log, "--state-dir", &state];
        options.extend([site.dir.to_str().unwrap(), other.to_str().unwrap()]);
        let mut server = Server::start(2, &options);
        for dir in [&site.dir, &other] {
            let file = site.scratch.file("file", "data");
            wharf_ok(&["cp", "--overwrite", file.to_str().unwrap(), &server.url(dir)]);
        }
        kill(&mut server);
        wharf_ok(&[&["log"], command, &[&log, "--state-dir", &state]].concat());
    }
}
