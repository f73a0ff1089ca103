//! Which log an export depends on is noticed whatever path leads to its files, and whoever writes into its directory.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::XattrFlags;
use rustix::process::Signal;

use testing::Scratch;
use testing::program::{Server, wharf_fails, wharf_ok};

const MARK: &str = "user.wharf.write-log";
const TRUSTED_MARK: &str = "trusted.wharf.write-log";

/// A directory with another one in it, two logs and two state directories.
struct Site {
    scratch: Scratch,
    outer: PathBuf,
    inner: PathBuf,
}

impl Site {
    fn new() -> Site {
        let scratch = Scratch::on_disk();
        let outer = scratch.dir("outer");
        let inner = outer.join("inner");
        fs::create_dir(&inner).unwrap();
        Site { scratch, outer, inner }
    }

    fn text(&self, name: &str) -> String {
        self.scratch.path(name).to_str().unwrap().to_owned()
    }

    fn arguments(&self, dir: &Path, log: Option<&str>, state: &str) -> Vec<String> {
        let mut arguments = vec![dir.to_str().unwrap().to_owned(), "--state-dir".to_owned(), self.text(state)];
        let options = ["--no-root-squash", "--write-log-size", "4M", "--write-log-max-age", "60s"].map(str::to_owned);
        if let Some(log) = log {
            arguments.extend(["--write-log".to_owned(), self.text(log)].into_iter().chain(options));
        }
        arguments
    }

    fn serve(&self, dir: &Path, log: Option<&str>, state: &str) -> Server {
        let arguments = self.arguments(dir, log, state);
        Server::start(1, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Makes a file by way of a server with a log, which is then killed.
    fn change_and_kill(&self, dir: &Path) {
        let mut server = self.serve(dir, Some("log"), "state");
        let source = self.scratch.file("file", "data");
        wharf_ok(&["cp", source.to_str().unwrap(), &server.url(dir)]);
        kill(&mut server);
    }

    /// Why a server does not start.
    fn refusal(&self, dir: &Path, log: Option<&str>, state: &str) -> String {
        let serve = ["serve", "--listen", "127.0.0.1:0"].map(str::to_owned);
        let arguments = [&serve[..], &self.arguments(dir, log, state)].concat();
        let said = wharf_fails(1, &arguments);
        assert!(said.contains("acknowledged changes of"), "{said}");
        said
    }

    /// Runs `wharf log drain --discard`.
    fn discard(&self, log: &str, export: &Path, state: &str) -> Vec<String> {
        let words = ["log", "drain", "--discard", &self.text(log), "--state-dir", &self.text(state), "--export"];
        words.map(str::to_owned).into_iter().chain([export.to_str().unwrap().to_owned()]).collect()
    }
}

fn kill(server: &mut Server) {
    server.signal(Signal::KILL);
    server.wait();
}

fn end(mut server: Server) {
    server.signal(Signal::TERM);
    server.wait();
}

fn attribute(dir: &Path, name: &str) -> Option<String> {
    let mut value = vec![0; 4096];
    let length = rustix::fs::getxattr(dir, name, &mut value).ok()?;
    Some(String::from_utf8(value[..length].to_vec()).unwrap())
}

fn set_attribute(dir: &Path, name: &str, value: &str) {
    rustix::fs::setxattr(dir, name, value.as_bytes(), XattrFlags::empty()).unwrap();
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: only root has attributes of the system");
    }
    is_root
}

#[test]
fn directory_that_overlaps_with_one_that_needs_a_log_is_served_with_that_log_only() {
    for is_inner_first in [true, false] {
        let site = Site::new();
        let (first, second) = if is_inner_first { (&site.inner, &site.outer) } else { (&site.outer, &site.inner) };
        site.change_and_kill(first);
        for log in [None, Some("other-log")] {
            let said = site.refusal(second, log, "state");
            assert!(said.contains(first.to_str().unwrap()), "{said}");
            let command = "wharf log drain --discard";
            assert!(said.contains(command), "{said}");
            assert!(!site.scratch.path("other-log").exists() || log.is_some());
        }
        // The export itself goes on, and then nothing depends on the log.
        end(site.serve(first, Some("log"), "state"));
        end(site.serve(second, None, "state"));
    }
}

#[test]
fn directory_above_says_itself_that_it_needs_a_log() {
    let site = Site::new();
    site.change_and_kill(&site.outer);
    let said = site.refusal(&site.inner, None, "other-state");
    assert!(said.contains(site.outer.to_str().unwrap()), "{said}");
    wharf_ok(&site.discard("log", &site.outer, "other-state"));
    end(site.serve(&site.inner, None, "other-state"));
}

#[test]
fn directory_that_overlaps_is_refused_by_a_reload() {
    let site = Site::new();
    site.change_and_kill(&site.inner);
    let (config, other) = (site.scratch.path("wharf.toml"), site.scratch.dir("other"));
    let exports = |dirs: &[&Path]| {
        let lines = dirs.iter().map(|dir| format!("[[export]]\npath = \"{}\"\n", dir.display()));
        fs::write(&config, lines.collect::<String>()).unwrap();
    };
    exports(&[&other]);
    let server = Server::start(1, &["--config", config.to_str().unwrap(), "--state-dir", &site.text("state")]);
    exports(&[&other, &site.outer]);
    server.signal(Signal::HUP);
    server.wait_for_log("may be in the write log");
}

#[test]
fn bind_mount_of_a_directory_needs_its_log() {
    let site = Site::new();
    let place = site.scratch.dir("place");
    site.change_and_kill(&site.inner);
    let mount = Command::new("mount").arg("--bind").args([&site.inner, &place]).status();
    if !mount.is_ok_and(|status| status.success()) {
        println!("skipped: this process may not mount");
        return;
    }
    let said = site.refusal(&place, None, "state");
    let by_itself = site.refusal(&place, None, "other-state");
    assert!(Command::new("umount").arg(&place).status().unwrap().success());
    assert!(said.contains("wharf log drain"), "{said}");
    assert!(by_itself.contains("wharf log drain"), "{by_itself}");
}

#[test]
fn log_is_adopted_only_if_no_overlapping_directory_needs_another_one() {
    let site = Site::new();
    site.change_and_kill(&site.inner);
    let (log, state) = (site.text("log"), site.text("state"));
    fs::rename(&log, site.scratch.path("kept")).unwrap();
    wharf_ok(&["log", "drain", "--discard", &log, "--state-dir", &state]);
    site.change_and_kill(&site.outer);
    let said = wharf_fails(1, &["log", "adopt", &site.text("kept"), "--state-dir", &state]);
    assert!(said.contains(site.outer.to_str().unwrap()), "{said}");
    end(site.serve(&site.outer, Some("log"), "state"));
    wharf_ok(&["log", "adopt", &site.text("kept"), "--state-dir", &state]);
}

#[test]
fn owner_of_a_directory_neither_stops_a_start_nor_lets_one_pass() {
    if !is_root() {
        return;
    }
    let site = Site::new();
    chown(&site.inner, Some(1000), Some(1000)).unwrap();
    site.change_and_kill(&site.inner);
    let mark = attribute(&site.inner, TRUSTED_MARK).expect("the server keeps its mark where users cannot change it");
    assert_eq!(attribute(&site.inner, MARK), None);
    let words: Vec<&str> = mark.split(' ').collect();
    // The owner says that the log is not needed: it is.
    set_attribute(&site.inner, MARK, &["released", words[1], "99999", words[3], words[4], words[5]].join(" "));
    let said = site.refusal(&site.inner, None, "state");
    assert!(said.contains("wharf log drain"), "{said}");
    // The owner says that a later copy of the log is needed, or another one: none is.
    let later = ["needed", words[1], "99999999", words[3], words[4], words[5]].join(" ");
    let other = ["needed", "0123", "1", words[3], words[4], words[5]].join(" ");
    for forged in [&later, &other] {
        set_attribute(&site.inner, MARK, forged);
        kill(&mut site.serve(&site.inner, Some("log"), "state"));
        set_attribute(&site.inner, MARK, forged);
        end(site.serve(&site.inner, Some("log"), "state"));
        set_attribute(&site.inner, MARK, forged);
        end(site.serve(&site.inner, None, "state"));
        end(site.serve(&site.inner, None, "other-state"));
    }
    // The server's own mark from before counts where nobody else could write it.
    chown(&site.inner, Some(0), Some(0)).unwrap();
    let said = site.refusal(&site.inner, None, "other-state");
    let told = format!("only its extended attribute {MARK} says so");
    assert!(said.contains(&told) && said.contains("wharf log drain --discard"), "{said}");
    fs::set_permissions(&site.inner, fs::Permissions::from_mode(0o777)).unwrap();
    end(site.serve(&site.inner, None, "other-state"));
}

#[test]
fn export_of_a_running_server_is_not_given_up_with_another_state_directory() {
    let site = Site::new();
    let mut server = site.serve(&site.inner, Some("log"), "state");
    fs::rename(site.scratch.path("log"), site.scratch.path("away")).unwrap();
    let discard = site.discard("log", &site.inner, "other-state");
    let said = wharf_fails(1, &discard);
    assert!(said.contains(&format!("a running server uses {}", site.inner.display())), "{said}");
    kill(&mut server);
    let said = site.refusal(&site.inner, None, "state");
    assert!(said.contains("wharf log drain"), "{said}");
    assert!(wharf_ok(&discard).contains("no longer depends on a log"));
}
