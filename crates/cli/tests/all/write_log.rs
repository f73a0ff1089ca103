//! `wharf serve --write-log`: what was acknowledged is there whatever becomes of the server, and mistakes are told.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use testing::disks::{DiskKind, LoopDisk};
use testing::program::{Server, wharf_fails, wharf_ok, wire};
use testing::{Immutable, Scratch};

/// A server with a write log, and what it needs at its next start.
struct Site {
    scratch: Scratch,
    export: PathBuf,
}

impl Site {
    fn new() -> Site {
        let scratch = Scratch::on_disk();
        let export = scratch.dir("export");
        Site { scratch, export }
    }

    fn log(&self) -> String {
        self.scratch.path("log").to_str().unwrap().to_owned()
    }

    fn state(&self) -> String {
        self.scratch.path("state").to_str().unwrap().to_owned()
    }

    fn serve(&self) -> Server {
        let (log, state) = (self.log(), self.state());
        let options = ["--no-root-squash", "--write-log", &log, "--write-log-size", "4M", "--state-dir", &state];
        Server::start(1, &[&[self.export.to_str().unwrap()], &options[..]].concat())
    }

    /// Copies a tree to the export through a server, which is then killed.
    fn copy_and_kill(&self, version: &str) {
        let source = self.scratch.dir(&format!("tree-{version}"));
        for number in 0..20 {
            fs::write(source.join(format!("file-{number}")), vec![b'x'; number * 1000]).unwrap();
        }
        let mut server = self.serve();
        let to = format!("{}?version={version}", server.url(&self.export));
        wharf_ok(&["cp", "-r", source.to_str().unwrap(), &to]);
        server.signal(Signal::KILL);
        server.wait();
        assert_same(&source, &self.export.join(format!("tree-{version}")));
    }
}

/// Ends a server as an operator does.
fn end(mut server: Server) {
    server.signal(Signal::TERM);
    server.wait();
}

fn assert_same(one: &Path, other: &Path) {
    for entry in fs::read_dir(one).unwrap() {
        let entry = entry.unwrap();
        let copy = other.join(entry.file_name());
        assert_eq!(fs::read(entry.path()).unwrap(), fs::read(&copy).unwrap(), "{}", copy.display());
    }
}

#[test]
fn killed_server_finds_its_changes_in_the_log_and_brings_them_to_storage() {
    let site = Site::new();
    for version in ["3", "4.2"] {
        site.copy_and_kill(version);
        let info = wharf_ok(&["log", "info", &site.log()]);
        assert!(info.contains("with records that are still needed"), "{info}");
        assert!(info.contains(&format!(" Export: {}\n", site.export.display())), "{info}");
        let server = site.serve();
        assert!(server.log().contains("flushed changes of the write log to storage"), "{}", server.log());
        drop(server);
    }
}

#[test]
fn data_that_the_disk_failed_to_take_after_a_kill_are_written_again_though_nobody_was_told() {
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    let scratch = Scratch::on_disk();
    let site = Site { export: disk.dir().join("export"), scratch };
    fs::create_dir(&site.export).unwrap();
    site.copy_and_kill("4.2");
    disk.fail_new_blocks();
    let write_back = || rustix::fs::syncfs(fs::File::open(disk.dir()).unwrap());
    assert!(write_back().is_err() && write_back().is_ok(), "another program got the error");
    disk.repair();
    let server = site.serve();
    server.wait_for_log("wrote data again that storage lost or may have lost");
    assert_same(&site.scratch.path("tree-4.2"), &disk.after_power_failure().dir().join("export/tree-4.2"));
    drop(server);
}

#[test]
fn counters_are_logged_on_demand_while_the_server_goes_on() {
    let site = Site::new();
    let server = site.serve();
    let source = site.scratch.file("file", "data");
    wharf_ok(&["cp", source.to_str().unwrap(), &server.url(&site.export)]);
    server.signal(Signal::USR1);
    server.wait_for_log("write log used_bytes=");
    let log = server.log();
    assert!(log.contains("group commit calls="), "{log}");
    let line = log.lines().find(|line| line.contains("write log used_bytes=")).unwrap();
    assert!(!line.contains("used_bytes=0 ") && line.contains("stalls=0 failed=false"), "{line}");
    wharf_ok(&["cp", source.to_str().unwrap(), &format!("{}/again", server.url(&site.export))]);
}

#[test]
fn files_that_a_disk_has_lost_are_made_again() {
    let site = Site::new();
    site.copy_and_kill("3");
    fs::remove_dir_all(site.export.join("tree-3")).unwrap();
    wharf_ok(&["log", "replay", &site.log(), "--state-dir", &site.state()]);
    assert_same(&site.scratch.path("tree-3"), &site.export.join("tree-3"));
    assert!(wharf_ok(&["log", "info", &site.log()]).contains("State: clean"));
}

#[test]
fn changes_that_cannot_be_made_are_named_and_kept_and_the_others_are_replayed() {
    let site = Site::new();
    fs::create_dir(site.export.join("fixed")).unwrap();
    let mut server = site.serve();
    let source = site.scratch.file("source", "acknowledged");
    for name in ["fixed/file", "good"] {
        wharf_ok(&["cp", source.to_str().unwrap(), &format!("{}/{name}", server.url(&site.export))]);
    }
    server.signal(Signal::KILL);
    server.wait();
    fs::remove_file(site.export.join("fixed/file")).unwrap();
    fs::remove_file(site.export.join("good")).unwrap();
    let Some(_fixed) = Immutable::make(&site.export.join("fixed")) else { return };
    let (log, state) = (site.log(), site.state());
    let replay = ["log", "replay", &log, "--state-dir", &state];
    let said = wharf_fails(1, &replay);
    assert!(said.contains("set a change of the write log aside"), "{said}");
    assert!(said.contains("wharf: the write log had "), "{said}");
    assert!(said.contains(" are set aside, and all others were brought to storage"), "{said}");
    assert_eq!(fs::read_to_string(site.export.join("good")).unwrap(), "acknowledged");
    let kept = fs::read_to_string(Path::new(&state).join("write-log-set-aside")).unwrap();
    assert!(kept.contains("reason: operation not permitted"), "{kept}");
    let listed = wharf_ok(&["log", "info", &log, "--state-dir", &state]);
    let count = kept.matches("export: ").count();
    assert!(
        count > 1 && listed.contains(&format!("  Aside: {count} changes that a replay could not make")),
        "{listed}"
    );
    for (kept_as, shown_as) in [("file: ", "   File: "), ("reason: ", " Reason: "), ("remedy: ", " Remedy: ")] {
        let values: Vec<_> = kept.lines().filter_map(|line| line.strip_prefix(kept_as)).collect();
        let shown: Vec<_> = listed.lines().filter_map(|line| line.strip_prefix(shown_as)).collect();
        assert!(values.iter().zip(&shown).all(|(value, shown)| shown.starts_with(value)), "{listed}");
        assert_eq!(values.len(), shown.len(), "{listed}");
    }
    assert!(listed.contains(" Change: write 12 bytes at offset 0\n") && listed.contains("Delete "), "{listed}");
    let json = wharf_ok(&["log", "info", &log, "--json", "--state-dir", &state]);
    assert_eq!(json.matches("\"remedy\": \"").count(), count, "{json}");
    assert!(json.contains("\"data_bytes\": 12"), "{json}");
    wharf_ok(&replay);
    drop(site.serve());
}

#[test]
fn drained_log_is_not_needed_any_more_and_discarding_names_what_is_lost() {
    let site = Site::new();
    site.copy_and_kill("3");
    wharf_ok(&["log", "drain", &site.log(), "--state-dir", &site.state()]);
    assert!(wharf_ok(&["log", "info", &site.log()]).contains("State: clean"));
    site.copy_and_kill("4.1");
    let said = wharf_ok(&["log", "drain", "--discard", &site.log(), "--state-dir", &site.state()]);
    assert!(said.contains(&format!(" changes of {}\n", site.export.display())), "{said}");
    assert_eq!(wharf_ok(&["log", "drain", "--discard", &site.log(), "--state-dir", &site.state()]), "");
}

#[test]
fn log_with_changes_of_a_directory_that_is_not_served_is_refused() {
    let site = Site::new();
    site.copy_and_kill("3");
    let other = site.scratch.dir("other");
    let (log, state) = (site.log(), site.state());
    let serve = |dir: &str| {
        wharf_fails(1, &["serve", dir, "--listen", "127.0.0.1:0", "--write-log", &log, "--state-dir", &state])
    };
    let said = serve(other.to_str().unwrap());
    assert!(said.contains(&format!("changes of {}, which is not exported now", site.export.display())), "{said}");
    fs::rename(&site.export, site.scratch.path("moved")).unwrap();
    fs::create_dir(&site.export).unwrap();
    let said = serve(site.export.to_str().unwrap());
    assert!(said.contains("of another directory that was exported as"), "{said}");
}

#[test]
fn server_starts_neither_without_the_log_that_it_needs_nor_with_an_old_copy_of_it() {
    let site = Site::new();
    site.copy_and_kill("3");
    let (log, state, export) = (site.log(), site.state(), site.export.to_str().unwrap().to_owned());
    let common = ["serve", &export, "--listen", "127.0.0.1:0", "--state-dir", &state];
    let said = wharf_fails(1, &common);
    assert!(said.contains(&format!("serve it with --write-log {log}, or")), "{said}");

    let (copy, kept) = (fs::read(&log).unwrap(), site.scratch.path("kept"));
    fs::rename(&log, &kept).unwrap();
    let with_log = [&common[..], &["--write-log", &log, "--write-log-size", "4M"]].concat();
    let said = wharf_fails(1, &with_log);
    assert!(said.contains(&format!("the write log {log} is missing")), "{said}");
    assert!(!Path::new(&log).exists(), "a log was made in its place");
    fs::rename(&kept, &log).unwrap();

    // A clean end: the log is not needed any more, and a copy of it is old.
    end(site.serve());
    fs::write(&log, copy).unwrap();
    let said = wharf_fails(1, &with_log);
    assert!(said.contains("which does not depend on it"), "{said}");
    let said = wharf_ok(&["log", "adopt", &log, "--state-dir", &state]);
    assert!(said.contains(&format!(" changes of {export}\n")), "{said}");
    let server = site.serve();
    assert!(server.log().contains("replayed the write log"), "{}", server.log());
    end(server);
    drop(Server::start(1, &[&export, "--state-dir", &state]));
}

#[test]
fn lost_log_is_given_up_and_the_export_is_served_again() {
    let site = Site::new();
    site.copy_and_kill("4.2");
    let (log, state, export) = (site.log(), site.state(), site.export.to_str().unwrap().to_owned());
    fs::remove_file(&log).unwrap();
    let said = wharf_ok(&["log", "drain", "--discard", &log, "--state-dir", &state]);
    assert_eq!(said, format!("{export} no longer depends on the log\n"));
    drop(Server::start(1, &[&export, "--state-dir", &state]));
    let said = wharf_fails(1, &["log", "drain", "--discard", &log, "--state-dir", &state]);
    assert!(said.contains(&format!("there is no write log {log}, and no export depends on it")), "{said}");
    let nowhere = site.scratch.path("nowhere");
    wharf_fails(1, &["log", "drain", "--discard", &log, "--state-dir", nowhere.to_str().unwrap()]);
    assert!(!nowhere.exists(), "a state directory was made");
}

#[test]
fn start_with_the_state_directory_of_another_server_leaves_the_log_as_it_is() {
    let site = Site::new();
    site.copy_and_kill("3");
    let (log, state, export) = (site.log(), site.state(), site.export.to_str().unwrap().to_owned());
    let before = fs::read(&log).unwrap();
    let server = Server::start(1, &[site.scratch.dir("other").to_str().unwrap(), "--state-dir", &state]);
    let start = ["serve", &export, "--listen", "127.0.0.1:0", "--write-log", &log, "--state-dir", &state];
    let said = wharf_fails(1, &start);
    assert!(said.contains(&format!("uses the state directory {state}")), "{said}");
    assert!(fs::read(&log).unwrap() == before, "the log was replayed: {said}");
    drop(server);
}

#[test]
fn missing_log_is_not_given_up_while_its_server_runs() {
    let site = Site::new();
    let mut server = site.serve();
    let (log, state, export) = (site.log(), site.state(), site.export.to_str().unwrap().to_owned());
    fs::rename(&log, site.scratch.path("away")).unwrap();
    for named in [&[][..], &["--export", &export]] {
        let said = wharf_fails(1, &[&["log", "drain", "--discard", &log, "--state-dir", &state], named].concat());
        assert!(said.contains(&format!("uses the state directory {state}")), "{said}");
    }
    server.signal(Signal::KILL);
    server.wait();
    let said = wharf_fails(1, &["serve", &export, "--listen", "127.0.0.1:0", "--state-dir", &state]);
    assert!(said.contains("may be in the write log"), "the export was released: {said}");
}

#[test]
fn command_in_a_message_can_be_given_to_a_shell_whatever_the_names_are() {
    let scratch = Scratch::on_disk();
    let (state, log) = (scratch.path("state"), scratch.path("lo'g; touch made\n\u{1b}[2J $(touch made)"));
    let (state, log) = (state.to_str().unwrap(), log.to_str().unwrap());
    let export = scratch.dir("an export's `touch made`");
    let export = export.to_str().unwrap();
    let mut server = Server::start(1, &[export, "--write-log", log, "--write-log-size", "4M", "--state-dir", state]);
    server.signal(Signal::KILL);
    server.wait();
    let serve = ["serve", export, "--listen", "127.0.0.1:0", "--state-dir", state];
    let said = wharf_fails(1, &serve);
    assert!(!said.trim_end().contains(char::is_control), "{said:?}");
    let command = said.split("give them up with `").nth(1).unwrap().trim_end().strip_suffix('`').unwrap();
    let script = format!("wharf() {{ \"$0\" \"$@\"; }}; {command}");
    let mut bash = Command::new("bash");
    bash.args(["-c", &script, env!("CARGO_BIN_EXE_wharf")]).current_dir(scratch.dir("work"));
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    assert!(!scratch.path("work").join("made").exists(), "{script}");
    wharf_ok(&["serve", export, "--check", "--state-dir", state]);
    drop(Server::start(1, &[export, "--state-dir", state]));
}

#[test]
fn log_that_may_be_lost_is_discarded_with_the_state_directory_of_its_server() {
    let site = Site::new();
    let (log, state, export) = (site.log(), site.state(), site.export.to_str().unwrap().to_owned());
    let options = ["--no-root-squash", "--write-log", &log, "--write-log-size", "4M", "--lose-my-data"];
    let mut server = Server::start(1, &[&options[..], &[&export, "--state-dir", &state]].concat());
    let source = site.scratch.file("file", "data");
    wharf_ok(&["cp", source.to_str().unwrap(), &server.url(&site.export)]);
    server.signal(Signal::KILL);
    server.wait();
    assert!(wharf_ok(&["log", "info", &log]).contains("with records that are still needed"));
    wharf_ok(&["log", "drain", "--discard", &log, "--state-dir", &state]);
    assert!(wharf_ok(&["log", "info", &log]).contains("State: clean"));
}

#[test]
fn log_is_emptied_with_the_state_directory_of_its_server_alone() {
    let site = Site::new();
    site.copy_and_kill("3");
    let (log, state) = (site.log(), site.state());
    let other = site.scratch.path("other-state").to_str().unwrap().to_owned();
    for action in ["replay", "drain"] {
        let said = wharf_fails(1, &["log", action, &log, "--state-dir", &other]);
        assert!(said.contains(&format!("name that of its server with --state-dir {state};")), "{said}");
    }
    let said = wharf_fails(1, &["log", "drain", "--discard", &log, "--state-dir", &other]);
    let of_export = format!("has changes of {}, and is not of the server", site.export.display());
    assert!(said.contains(&of_export) && !said.contains("dropped"), "{said}");
    assert!(wharf_ok(&["log", "info", &log]).contains("with records that are still needed"));
    let wrong = ["--export", site.export.to_str().unwrap(), "--export", "/does/not/exist"];
    wharf_fails(1, &[&["log", "drain", "--discard", &log, "--state-dir", &other], &wrong[..]].concat());
    assert!(wharf_ok(&["log", "info", &log]).contains("with records that are still needed"));
    let running = Server::start(1, &["mem:1M", "--state-dir", &state]);
    let said = wharf_fails(1, &["log", "drain", &log, "--state-dir", &state]);
    assert!(said.contains(&format!("uses the state directory {state}")), "{said}");
    drop(running);
    wharf_ok(&["log", "drain", &log, "--state-dir", &state]);
}

#[test]
fn export_that_only_knows_itself_what_it_needs_can_be_freed() {
    let site = Site::new();
    site.copy_and_kill("3");
    let (log, export) = (site.log(), site.export.to_str().unwrap().to_owned());
    let other_state = site.scratch.path("other-state").to_str().unwrap().to_owned();
    let serve = ["serve", &export, "--listen", "127.0.0.1:0", "--state-dir", &other_state];
    let said = wharf_fails(1, &serve);
    assert!(said.contains("may be in the write log"), "{said}");
    // A start that is refused because of another log leaves none of its own.
    let new = site.scratch.path("new-log");
    let with_new = ["--write-log", new.to_str().unwrap(), "--write-log-size", "1M", "--lose-my-data"];
    let said = wharf_fails(1, &[&serve[..], &with_new].concat());
    assert!(said.contains("may be in another write log alone") && !new.exists(), "{said}");
    let free = ["log", "drain", "--discard", &log, "--export", &export, "--state-dir", &other_state];
    let said = wharf_ok(&free);
    assert!(said.contains(" changes of ") && said.contains("no longer depends on a log"), "{said}");
    drop(Server::start(1, &[&export, "--state-dir", &other_state]));
}

#[test]
fn log_that_makes_no_sense_is_refused_and_nothing_is_made() {
    let site = Site::new();
    let (export, state) = (site.export.to_str().unwrap(), site.state());
    let serve = |arguments: &[&str]| {
        let common = ["serve", export, "--listen", "127.0.0.1:0", "--state-dir", &state];
        wharf_fails(1, &[&common, arguments].concat())
    };
    let inside = site.export.join("log");
    let said = serve(&["--write-log", inside.to_str().unwrap()]);
    assert!(said.contains("is inside the export") && !inside.exists(), "{said}");
    let said = serve(&["--write-log", "memory"]);
    assert!(said.contains("--lose-my-data"), "{said}");
    if fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
        let in_memory = format!("/dev/shm/wharf-log-{}", std::process::id());
        let said = serve(&["--write-log", &in_memory]);
        assert!(said.contains("is on tmpfs, which is in memory") && said.contains("--lose-my-data"), "{said}");
        assert!(!Path::new(&in_memory).exists());
        let log = site.log();
        let with_log = ["serve", export, "--listen", "127.0.0.1:0", "--write-log", &log];
        let said = wharf_fails(1, &[&with_log[..], &["--state-dir", &in_memory]].concat());
        assert!(said.contains(&format!("the state directory {in_memory} is on tmpfs")), "{said}");
        assert!(!Path::new(&site.log()).exists());
        wharf_ok(&[&with_log[..], &["--state-dir", &in_memory, "--check", "--lose-my-data"]].concat());
        wharf_ok(&["serve", export, "--check", "--state-dir", &state, "--write-log", &in_memory, "--lose-my-data"]);
    }
    let text = site.scratch.file("text", &"no log".repeat(1 << 16));
    let said = serve(&["--write-log", text.to_str().unwrap()]);
    assert!(said.contains("is no log of Wharf's"), "{said}");
    let server = site.serve();
    let said = serve(&["--write-log", &site.log()]);
    assert!(said.contains("is in use by process"), "{said}");
    drop(server);
}

#[test]
fn log_in_memory_warns_and_each_start_has_another_write_verifier() {
    let site = Site::new();
    let file = site.scratch.file("file", "data");
    let verifiers = ["first", "second"].map(|name| {
        let (export, state) = (site.export.to_str().unwrap(), site.state());
        let log = ["--write-log", "memory", "--lose-my-data", "--write-log-size", "4M", "--state-dir", &state];
        let mut server = Server::start(1, &[&[export, "--no-root-squash"], &log[..]].concat());
        assert!(server.log().contains("the write log is in memory: acknowledged changes are lost"), "{}", server.log());
        wharf_ok(&["cp", file.to_str().unwrap(), &server.url(site.export.join(name))]);
        let copy = site.export.join(name);
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o666)).unwrap();
        let verifier = commit(&server, &copy);
        assert_eq!(commit(&server, &copy), verifier, "clients would send everything again");
        server.signal(Signal::TERM);
        assert_eq!(server.wait(), Some(0));
        verifier
    });
    assert_ne!(verifiers[0], verifiers[1]);
    assert_eq!(fs::read(site.export.join("first")).unwrap(), b"data");
}

/// The write verifier in the reply to a COMMIT of a file (RFC 1813 §3.3.21).
fn commit(server: &Server, file: &Path) -> [u8; 8] {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let arguments = [wire::opaque(&server.handle_of(file)), wire::words(&[0, 0, 0])].concat();
    stream.write_all(&wire::record(&wire::call(1, wire::COMMIT, &arguments))).unwrap();
    let (_, reply) = wire::reply(&mut stream).unwrap();
    let (status, rest) = wire::status(&reply);
    assert_eq!(status, 0);
    *rest.last_chunk().unwrap()
}

#[test]
fn new_log_without_room_is_refused_before_anything_is_made() {
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    let (place, site) = (disk.dir().join("log"), Site::new());
    let (log, state) = (place.to_str().unwrap(), site.state());
    let start = ["serve", site.export.to_str().unwrap(), "--listen", "127.0.0.1:0", "--state-dir", &state];
    let start = [&start[..], &["--write-log", log]].concat();
    let refusals = || [wharf_fails(1, &start), wharf_fails(1, &[&start[..], &["--check"]].concat())];
    for said in refusals() {
        let expected = format!("there is no room for a write log of 268435456 bytes at {log}: if the server had a log");
        assert!(said.contains(&expected) && said.contains("a smaller --write-log-size"), "{said}");
    }
    let made = fs::read_dir(disk.dir()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(made.filter(|name| name != "lost+found").count(), 0);
    assert!(!Path::new(&state).exists());
    // The export needs the log at its old place, which is what matters.
    site.copy_and_kill("3");
    for said in refusals() {
        assert!(
            said.contains(&format!(
                "may be in another write log alone, or in a newer copy of this one, which was {}",
                site.log()
            )),
            "{said}"
        );
    }
}
