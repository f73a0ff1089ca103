//! The commands of `wharf log` that messages name work as they are pasted into a shell, wherever that is.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use testing::Scratch;
use testing::program::{Server, commands_in, executable, fails, paste, wharf_fails, wharf_ok};

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

/// Makes a log unreadable.
type Damage = fn(&File);

/// How logs get unreadable, and what is said of what is lost.
const DAMAGES: [(&str, Damage, &str); 6] = [
    ("a record", |log| log.write_all_at(&[0x5a; 64], RING_START_BYTES + 64).unwrap(), "in its damaged parts: "),
    ("both headers", |log| log.write_all_at(&[0x5a; RING_START_BYTES as usize], 0).unwrap(), "an unknown number"),
    ("the end", |log| log.set_len(512 << 10).unwrap(), "an unknown number"),
    ("all but the start", |log| log.set_len(5000).unwrap(), "an unknown number"),
    ("everything", |log| log.set_len(0).unwrap(), "an unknown number"),
    ("everything, by zeros", |log| log.write_all_at(&[0; 1 << 20], 0).unwrap(), "an unknown number"),
];

fn damage(log: &Path, damage: Damage) {
    damage(&File::options().write(true).open(log).unwrap());
}

#[test]
fn discard_of_an_unreadable_log_works_as_pasted_and_the_server_starts_with_a_new_one() {
    for (what, make, lost) in DAMAGES {
        let site = Site::killed();
        damage(&site.path(LOG), make);
        let commands = site.remedies(EXPORT, Some(LOG));
        let discard = commands.iter().find(|command| command.contains("--discard")).expect(what);
        let said = paste(discard);
        assert!(said.contains(lost) && said.contains("no longer depends on the log"), "{what}: {said}");
        assert!(site.path(&format!("{LOG}.discarded")).exists(), "{what}: {said}");
        site.starts(Some(LOG));
    }
}

#[test]
fn drain_of_an_unreadable_log_names_the_command_that_gives_it_up() {
    for (what, make, _) in DAMAGES {
        let site = Site::killed();
        damage(&site.path(LOG), make);
        for action in ["drain", "replay", "adopt"] {
            let (log, state) = (site.path(LOG), site.path(STATE));
            let command = ["log", action, log.to_str().unwrap(), "--state-dir", state.to_str().unwrap()];
            let said = wharf_fails(1, &command);
            assert!(commands_in(&said).iter().any(|command| command.contains("--discard")), "{what}: {said}");
        }
    }
}

#[test]
fn discard_leaves_an_unreadable_log_that_a_server_uses_or_that_may_be_another_servers() {
    for (what, make, _) in DAMAGES {
        let site = Site::killed();
        let (log, state) = (site.path(LOG), site.path("new state"));
        damage(&log, make);
        let before = fs::read(&log).unwrap();
        let discard = ["log", "drain", "--discard", log.to_str().unwrap(), "--state-dir", state.to_str().unwrap()];
        wharf_fails(1, &discard);
        assert!(fs::read(&log).unwrap() == before && !state.exists(), "{what}");
    }
    let site = Site::killed();
    let server = Server::spawn(2, site.serve(EXPORT, Some(LOG), STATE));
    damage(&site.path(LOG), DAMAGES[1].1);
    let (log, state) = (site.path(LOG), site.path(STATE));
    let said =
        wharf_fails(1, &["log", "drain", "--discard", log.to_str().unwrap(), "--state-dir", state.to_str().unwrap()]);
    assert!(said.contains("uses the state directory") && said.contains("stop it first") && log.exists(), "{said}");
    drop(server);
}

#[test]
fn commands_for_a_missing_log_make_nothing() {
    let site = Site { scratch: Scratch::on_disk() };
    let (log, state) = (site.path(LOG), site.path(STATE));
    for action in [&["drain"][..], &["replay"], &["adopt"], &["info"], &["check"], &["drain", "--discard"]] {
        let state_dir = if action == ["check"] { vec![] } else { vec!["--state-dir", state.to_str().unwrap()] };
        wharf_fails(1, &[&["log"], action, &[log.to_str().unwrap()], &state_dir].concat());
        assert!(!state.exists() && !log.exists(), "{action:?}");
    }
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

#[test]
fn drain_works_as_pasted_when_a_start_with_another_state_directory_is_refused() {
    let site = Site::killed();
    let [drain, _] = &commands_in(&fails(1, site.serve(EXPORT, None, "new state")))[..] else { panic!("two commands") };
    assert!(paste(drain).contains("were brought to storage"));
    drop(Server::spawn(2, site.serve(EXPORT, None, "new state")));
}

#[test]
fn changes_set_aside_are_at_an_absolute_path_for_a_relative_state_directory() {
    let site = Site::killed();
    fs::remove_file(site.path(EXPORT).join("one")).unwrap();
    fs::write(site.path("local"), "a program's").unwrap();
    fs::rename(site.path("local"), site.path(EXPORT).join("one")).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(executable()).current_dir(site.path("")).args(arguments).output().unwrap();
        [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat()
    };
    let said = run(&["log", "replay", LOG, "--state-dir", STATE]);
    let kept_in = site.path(STATE).join("write-log-set-aside");
    assert!(said.contains(&format!("kept_in='{}'", kept_in.display())), "{said}");
    let shown: serde_json::Value =
        serde_json::from_str(&run(&["log", "info", "--json", LOG, "--state-dir", STATE])).unwrap();
    assert_eq!(shown["set_aside"]["path"], kept_in.to_str().unwrap());
    let kept_as = shown["set_aside"]["changes"][0]["kept_as"].as_str().unwrap();
    assert_eq!(fs::read(site.path(EXPORT).join(kept_as)).unwrap(), b"acknowledged");
}

#[test]
fn discard_of_a_log_without_changes_names_the_exports_that_the_lost_state_directory_knew() {
    let site = Site { scratch: Scratch::on_disk() };
    site.scratch.dir(EXPORT);
    let mut server = Server::spawn(2, site.serve(EXPORT, Some(LOG), STATE));
    server.signal(Signal::KILL);
    server.wait();
    fs::remove_dir_all(site.path(STATE)).unwrap();
    let (log, state) = (site.path(LOG), site.path(STATE));
    let discard = ["log", "drain", "--discard", log.to_str().unwrap(), "--state-dir", state.to_str().unwrap()];
    let [release] = &commands_in(&wharf_ok(&discard))[..] else { panic!("one command") };
    assert!(paste(release).contains("no longer depends on a log"));
    drop(Server::spawn(2, site.serve(EXPORT, None, STATE)));
}

/// Serves a directory with the log and this state directory, and ends the server with a signal.
fn serve_once(site: &Site, export: &str, state: &str, end: Signal) {
    let mut server = Server::spawn(2, site.serve(export, Some(LOG), state));
    let file = site.scratch.file("file", state);
    wharf_ok(&["cp", "--overwrite", file.to_str().unwrap(), &server.url(site.path(export))]);
    server.signal(end);
    server.wait();
}

#[test]
fn server_whose_log_another_one_has_used_since_names_that_ones_drain() {
    let site = Site { scratch: Scratch::on_disk() };
    site.scratch.dir(EXPORT);
    serve_once(&site, EXPORT, STATE, Signal::TERM);
    serve_once(&site, EXPORT, "second", Signal::KILL);
    let old = fs::read(site.path(LOG)).unwrap();
    for state in [STATE, "mistyped"] {
        let said = fails(1, site.serve(EXPORT, Some(LOG), state));
        let second = site.path("second").display().to_string();
        assert!(said.contains("was used last by a server with another state directory"), "{said}");
        let [drain, adopt, discard] = &commands_in(&said)[..] else { panic!("three commands: {said}") };
        assert!(drain.contains(&second) && !adopt.contains(&second) && !discard.contains(&second), "{said}");
        let (log, state) = (site.path(LOG), site.path(state));
        let said = wharf_fails(1, &["log", "drain", log.to_str().unwrap(), "--state-dir", state.to_str().unwrap()]);
        assert!(said.contains(&format!("name that of its server with --state-dir {second}")), "{said}");
    }
    let [drain, ..] = &commands_in(&fails(1, site.serve(EXPORT, Some(LOG), STATE)))[..] else { panic!("commands") };
    assert!(paste(drain).contains("brought to storage"));
    serve_once(&site, EXPORT, STATE, Signal::TERM);
    // An old copy with changes of the second server.
    fs::write(site.path(LOG), old).unwrap();
    fails(1, site.serve(EXPORT, Some(LOG), STATE));
}

#[test]
fn changes_of_another_server_in_this_ones_log_are_dropped_only_if_their_directory_is_named() {
    let site = Site { scratch: Scratch::on_disk() };
    site.scratch.dir(EXPORT);
    site.scratch.dir("other");
    serve_once(&site, "other", STATE, Signal::TERM);
    serve_once(&site, EXPORT, "second", Signal::KILL);
    let said = fails(1, site.serve("other", Some(LOG), STATE));
    let (log, state) = (site.path(LOG), site.path(STATE));
    let unnamed = ["log", "drain", "--discard", log.to_str().unwrap(), "--state-dir", state.to_str().unwrap()];
    assert!(wharf_fails(1, &unnamed).contains("is not of the server"));
    let [_, discard] = &commands_in(&said)[..] else { panic!("two commands: {said}") };
    assert!(discard.contains("--export") && paste(discard).contains("dropped"), "{said}");
    drop(Server::spawn(2, site.serve("other", Some(LOG), STATE)));
}

#[test]
fn refused_start_without_a_log_names_the_state_directory_that_used_it_last() {
    let site = Site { scratch: Scratch::on_disk() };
    site.scratch.dir(EXPORT);
    serve_once(&site, EXPORT, STATE, Signal::TERM);
    serve_once(&site, EXPORT, "second", Signal::KILL);
    let [drain, _] = &site.remedies(EXPORT, None)[..] else { panic!("two commands") };
    assert!(drain.contains("second") && paste(drain).contains("brought to storage"), "{drain}");
}
