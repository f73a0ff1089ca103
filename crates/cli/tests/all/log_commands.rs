//! The commands of `wharf log` that messages name work as they are pasted into a shell, wherever that is.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use testing::Scratch;
use testing::program::{Server, commands_in, executable, fails, paste, shell, wharf_fails, wharf_ok};

const EXPORT: &str = "the export's";
const LOG: &str = "$a log";
const STATE: &str = "its state";
/// Where a ring begins.
const RING_START_BYTES: u64 = 2 * 4096;

/// A server whose paths need quotes, and are relative.
struct Site {
    scratch: Scratch,
}

impl Site {
    /// A server that was killed after some changes.
    fn killed() -> Site {
        let site = Site { scratch: Scratch::on_disk() };
        site.scratch.dir(EXPORT);
        site.scratch.dir("other");
        site.change_and_kill();
        site
    }

    fn serve(&self, export: &str, log: Option<&str>, state: &str) -> Command {
        let mut command = Command::new(executable());
        command.current_dir(self.path("")).args(["serve", "--listen", "127.0.0.1:0", "--listen", "[::1]:0"]);
        command.args([export, "--no-root-squash", "--state-dir", state]);
        if let Some(log) = log {
            command.args(["--write-log", log, "--write-log-size", "1M", "--write-log-max-age", "60s"]);
        }
        command
    }

    fn change_and_kill(&self) {
        let mut server = Server::spawn(2, self.serve(EXPORT, Some(LOG), STATE));
        for name in ["one", "two", "three"] {
            let file = self.scratch.file(name, "acknowledged");
            wharf_ok(&["cp", "--overwrite", file.to_str().unwrap(), &server.url(self.path(EXPORT))]);
        }
        server.signal(Signal::KILL);
        server.wait();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    /// The commands in the refusal of a start.
    fn remedies(&self, export: &str, log: Option<&str>) -> Vec<String> {
        commands_in(&fails(1, self.serve(export, log, STATE)))
    }

    fn starts(&self, log: Option<&str>) {
        drop(Server::spawn(2, self.serve(EXPORT, log, STATE)));
        assert_eq!(fs::read(self.path(EXPORT).join("three")).unwrap(), b"acknowledged");
    }
}

#[test]
fn drain_of_a_refused_start_works_as_pasted() {
    let site = Site::killed();
    let [drain, _] = &site.remedies(EXPORT, None)[..] else { panic!("two commands") };
    assert!(paste(drain).contains("were brought to storage"));
    site.starts(None);
}

#[test]
fn discard_of_a_refused_start_works_as_pasted() {
    let site = Site::killed();
    let [_, discard] = &site.remedies(EXPORT, None)[..] else { panic!("two commands") };
    assert!(paste(discard).contains("no longer depends on the log"));
    site.starts(None);
}

#[test]
fn replay_of_an_export_that_is_not_served_works_as_pasted() {
    let site = Site::killed();
    let [replay, _] = &site.remedies("other", Some(LOG))[..] else { panic!("two commands") };
    assert!(paste(replay).contains("were brought to storage"));
    drop(Server::spawn(2, site.serve("other", Some(LOG), STATE)));
}

#[test]
fn discard_of_a_missing_log_works_as_pasted() {
    let site = Site::killed();
    fs::remove_file(site.path(LOG)).unwrap();
    let [discard] = &site.remedies(EXPORT, Some(LOG))[..] else { panic!("one command") };
    assert!(paste(discard).contains("no longer depends on the log"));
    site.starts(Some(LOG));
}

#[test]
fn discard_of_a_damaged_log_works_as_pasted() {
    let site = Site::killed();
    let log = fs::File::options().write(true).open(site.path(LOG)).unwrap();
    log.write_all_at(&[0x5a; 64], RING_START_BYTES + 64).unwrap();
    let [check, discard] = &site.remedies(EXPORT, Some(LOG))[..] else { panic!("two commands") };
    let checked = fails(1, shell(check));
    assert!(checked.contains("is damaged from byte"), "{checked}");
    fs::remove_file(site.path(LOG)).unwrap();
    assert!(paste(discard).contains("no longer depends on the log"));
    site.starts(Some(LOG));
}

#[test]
fn adoption_for_another_state_directory_works_as_pasted() {
    let site = Site::killed();
    let drain = ["log", "drain", LOG, "--state-dir", "new state"];
    let command = || {
        let mut command = Command::new(executable());
        command.current_dir(site.path("")).args(drain);
        command
    };
    let [adopt] = &commands_in(&fails(1, command()))[..] else { panic!("one command") };
    assert!(paste(adopt).contains("the next start replays"));
    assert!(command().status().unwrap().success());
}

#[test]
fn discard_for_another_state_directory_works_as_pasted() {
    let site = Site::killed();
    let (log, state) = (site.path(LOG), site.path("new state"));
    let drain = ["log", "drain", "--discard", log.to_str().unwrap(), "--state-dir", state.to_str().unwrap()];
    let [discard] = &commands_in(&wharf_fails(1, &drain))[..] else { panic!("one command") };
    assert!(paste(discard).contains("dropped"));
}

#[test]
fn adoption_of_an_old_copy_works_as_pasted() {
    let site = Site::killed();
    let old = fs::read(site.path(LOG)).unwrap();
    let mut server = Server::spawn(2, site.serve(EXPORT, Some(LOG), STATE));
    server.signal(Signal::TERM);
    server.wait();
    fs::write(site.path(LOG), old).unwrap();
    let [_, adopt] = &site.remedies(EXPORT, Some(LOG))[..] else { panic!("two commands") };
    assert!(paste(adopt).contains("the next start replays"));
    site.starts(Some(LOG));
}
