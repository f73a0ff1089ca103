//! `wharf serve --check` refuses what a start refuses because of a write log, in the same words, and neither of them
//! leaves anything behind.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use testing::Scratch;
use testing::program::{Server, wharf_fails, wharf_ok};

struct Site {
    scratch: Scratch,
}

impl Site {
    /// A server that was killed after a change.
    fn killed() -> Site {
        let site = Site { scratch: Scratch::on_disk() };
        site.scratch.dir("export");
        site.change().signal(Signal::KILL);
        site
    }

    fn text(&self, name: &str) -> String {
        self.scratch.path(name).to_str().unwrap().to_owned()
    }

    fn change(&self) -> Server {
        let (export, log, state) = (self.text("export"), self.text("log"), self.text("state"));
        let options = ["--no-root-squash", "--write-log", &log, "--write-log-size", "1M", "--state-dir", &state];
        let server = Server::start(1, &[&[export.as_str()], &options[..]].concat());
        let source = self.scratch.file("source", "acknowledged");
        wharf_ok(&[
            "cp",
            "--overwrite",
            source.to_str().unwrap(),
            &format!("{}/file", server.url(self.scratch.path("export"))),
        ]);
        server
    }

    /// Why a start is refused, which `--check` says too.
    fn refusal(&self, export: &str, log: Option<&str>, state: &str) -> String {
        let (export, state) = (self.text(export), self.text(state));
        let mut arguments = vec!["serve", &export, "--listen", "127.0.0.1:0", "--state-dir", &state];
        let log = log.map(|log| self.text(log));
        log.iter().for_each(|log| arguments.extend(["--write-log", log, "--write-log-size", "1M"]));
        let before = contents(&self.scratch.path(""));
        let said = wharf_fails(1, &arguments);
        assert!(contents(&self.scratch.path("")) == before, "the refused start changed something: {said}");
        arguments.push("--check");
        let checked = wharf_fails(1, &arguments);
        assert!(contents(&self.scratch.path("")) == before, "--check changed something: {checked}");
        assert_eq!(reason(&checked), reason(&said));
        reason(&said)
    }
}

/// What the program ended with, without its log.
fn reason(said: &str) -> String {
    said.lines().filter(|line| line.starts_with("wharf:")).collect::<Vec<_>>().join("\n")
}

/// All files and directories, and their bytes.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
            found.insert(path, Vec::new());
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

#[test]
fn start_that_the_marks_forbid_is_refused_by_the_check_too() {
    let site = Site::killed();
    assert!(site.refusal("export", None, "state").contains("may be in the write log"));
    assert!(site.refusal("export", None, "new-state").contains("may be in the write log"));
    assert!(site.refusal("export", Some("new-log"), "state").contains("may be in another write log"));
    site.scratch.dir("other");
    assert!(site.refusal("other", Some("log"), "state").contains("which is not exported now"));
    fs::rename(site.scratch.path("export"), site.scratch.path("moved")).unwrap();
    site.scratch.dir("export");
    assert!(site.refusal("export", Some("log"), "state").contains("of another directory"));
    fs::rename(site.scratch.path("log"), site.scratch.path("kept")).unwrap();
    assert!(site.refusal("export", Some("log"), "state").contains("is missing"));
}

#[test]
fn log_that_a_start_refuses_is_refused_by_the_check_too() {
    let site = Site::killed();
    let old = fs::read(site.scratch.path("log")).unwrap();
    let mut server = site.change();
    server.signal(Signal::TERM);
    server.wait();
    fs::write(site.scratch.path("log"), &old).unwrap();
    assert!(site.refusal("export", Some("log"), "state").contains("does not depend on it"));
    let cases: [(&[u8], &str); 3] = [
        (&[b'x'; 1 << 20], "is no log of Wharf's"),
        (&old[..old.len() / 2], "its end is missing"),
        (b"short", "fewer than the 40960 bytes of the smallest log; restore it from a copy"),
    ];
    for (bytes, expected) in cases {
        fs::write(site.scratch.path("log"), bytes).unwrap();
        let said = site.refusal("export", Some("log"), "state");
        assert!(said.contains(expected), "{said}");
    }
}

/// The first blocks of a disk may be lost, or the log restored from a backup with holes.
#[test]
fn log_whose_headers_are_zeros_is_refused_and_stays_so() {
    let site = Site::killed();
    fs::write(site.scratch.path("log"), vec![0; 1 << 20]).unwrap();
    assert!(site.refusal("export", Some("log"), "state").contains("is missing or has nothing but zeros"));
}

#[test]
fn place_where_no_log_can_be_is_refused_with_the_reason() {
    let site = Site::killed();
    symlink("nowhere", site.scratch.path("link")).unwrap();
    for (log, expected) in [
        ("/dev/null", "it is neither a file nor a block device"),
        (&site.text("export"), "it is neither a file nor a block device"),
        (&site.text("link"), "it is a symbolic link to nowhere, which is missing"),
    ] {
        for check in [&[][..], &["--check"]] {
            let (export, state) = (site.text("export"), site.text("state"));
            let serve = ["serve", &export, "--listen", "127.0.0.1:0", "--state-dir", &state, "--write-log", log];
            let said = wharf_fails(1, &[&serve, check].concat());
            assert!(said.contains(expected) && !said.contains("tmpfs"), "{said}");
        }
    }
}

#[test]
fn check_beside_a_running_server_says_what_it_does_not_look_at() {
    let site = Site::killed();
    let (export, log, state) = (site.text("export"), site.text("log"), site.text("state"));
    let check = ["serve", &export, "--check", "--write-log", &log, "--state-dir", &state];
    let running = site.change();
    let before = contents(&site.scratch.path("state"));
    assert!(wharf_ok(&check).contains("a server uses the state directory"));
    assert!(contents(&site.scratch.path("state")) == before);
    drop(running);
    assert!(!wharf_ok(&check).contains("a server uses the state directory"));
}
