//! A file of the state directory that is missing or damaged: the start or the refusal names it, says what that means
//! and what to do. A first start and one without a loss say nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use testing::Scratch;
use testing::disks::{DiskKind, LoopDisk, succeeds};
use testing::program::{Server, wharf_fails, wharf_ok};

struct Site {
    scratch: Scratch,
}

impl Site {
    /// A server was started with a write log, and killed.
    fn killed() -> Site {
        let site = Site { scratch: Scratch::on_disk() };
        site.scratch.dir("export");
        assert_eq!(flaws(&site.start_and_kill()), Vec::<String>::new(), "a first start");
        site
    }

    fn arguments(&self) -> Vec<String> {
        let [export, log, state] = ["export", "log", "state"].map(|name| self.scratch.path(name).display().to_string());
        let arguments = ["serve", &export, "--write-log", &log, "--write-log-size", "1M", "--state-dir", &state];
        arguments.map(str::to_owned).to_vec()
    }

    /// What a server logs at its start.
    fn start_and_kill(&self) -> String {
        let arguments = self.arguments();
        let mut server = Server::start(1, &arguments.iter().map(String::as_str).collect::<Vec<_>>()[1..]);
        server.signal(Signal::KILL);
        server.wait();
        server.log()
    }

    fn state_file(&self, name: &str) -> PathBuf {
        self.scratch.path("state").join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.state_file(name), bytes).unwrap();
        fs::set_permissions(self.state_file(name), Permissions::from_mode(0o600)).unwrap();
    }
}

/// The lines about files of the state directory.
fn flaws(said: &str) -> Vec<String> {
    said.lines().filter(|line| line.contains("as the last server left it")).map(str::to_owned).collect()
}

#[test]
fn file_that_is_missing_is_named_with_what_that_means_by_the_start_and_by_the_check() {
    let site = Site::killed();
    for (name, loss) in [
        ("handle-key", "the file handles that clients have are stale"),
        ("client-records", "clients cannot reclaim"),
        ("replies-0", "may be executed twice"),
        ("replies-1", "may be executed twice"),
        ("write-log", "which write log they depend on"),
    ] {
        fs::remove_file(site.state_file(name)).unwrap();
        let expected = format!("{} is missing: ", site.state_file(name).display());
        let checked = wharf_ok(&[site.arguments(), vec!["--check".to_owned()]].concat());
        for said in [checked, site.start_and_kill()] {
            let [flaw] = &flaws(&said)[..] else { panic!("{name}: {said}") };
            assert!(flaw.contains(&expected) && flaw.contains(loss), "{flaw}");
        }
        assert_eq!(flaws(&site.start_and_kill()), Vec::<String>::new(), "{name} is there again");
    }
}

#[test]
fn file_that_is_damaged_and_can_be_done_without_is_named_once() {
    let site = Site::killed();
    let cases: [(&str, &[u8], &str); 4] = [
        ("replies-0", b"", "is empty: requests that clients sent"),
        ("replies-0", &[7; 300], "has no valid head: requests that clients sent"),
        ("replies-1", &[7; 300], "has no valid head: requests that clients sent"),
        ("place", &[7; 30], "is damaged: it is unknown whether"),
    ];
    for (name, bytes, wrong) in cases {
        site.write(name, bytes);
        let said = site.start_and_kill();
        let [flaw] = &flaws(&said)[..] else { panic!("{name}: {said}") };
        assert!(flaw.contains(&format!("{} {wrong}", site.state_file(name).display())), "{flaw}");
        assert_eq!(flaws(&site.start_and_kill()), Vec::<String>::new(), "{name} is whole again");
    }
}

#[test]
fn file_that_is_damaged_and_cannot_be_done_without_is_refused_until_it_is_removed() {
    let site = Site::killed();
    for (name, wrong) in [
        ("handle-key", "is damaged (it has 300 bytes"),
        ("client-records", "is damaged at byte 0: clients cannot reclaim"),
        ("write-log", "is damaged in line 1: only exports"),
    ] {
        site.write(name, &[7; 300]);
        let said = wharf_fails(1, &[site.arguments(), vec!["--listen".to_owned(), "127.0.0.1:0".to_owned()]].concat());
        let [flaw] = &flaws(&said)[..] else { panic!("{name}: {said}") };
        assert!(flaw.contains(&format!("{} {wrong}", site.state_file(name).display())), "{flaw}");
        assert!(flaw.contains("or move it elsewhere, and"), "{flaw}");
        let checked = wharf_fails(1, &[site.arguments(), vec!["--check".to_owned()]].concat());
        assert_eq!(&flaws(&checked)[..], std::slice::from_ref(flaw));
        fs::remove_file(site.state_file(name)).unwrap();
        assert_eq!(flaws(&site.start_and_kill()).len(), 1);
    }
}

#[test]
fn first_start_whose_machine_loses_power_at_once_leaves_no_file_that_looks_lost() {
    for kind in [DiskKind::EXT4, DiskKind::XFS, DiskKind::BTRFS] {
        let Some(mut disk) = LoopDisk::new(kind) else { continue };
        let scratch = Scratch::on_disk();
        let [export, log] = [scratch.dir("export"), scratch.path("log")];
        let (export, log, state) = (export.to_str().unwrap(), log.to_str().unwrap(), disk.dir().join("state"));
        let serve = || {
            let options = ["--write-log", log, "--write-log-size", "1M", "--state-dir", state.to_str().unwrap()];
            Server::start(1, &[&[export], &options[..]].concat())
        };
        let mut server = serve();
        let left = disk.copy_image();
        server.signal(Signal::KILL);
        server.wait();
        drop(server);
        disk.replace_image(left);
        let mut server = serve();
        server.signal(Signal::KILL);
        server.wait();
        assert_eq!(flaws(&server.log()), Vec::<String>::new(), "{}", kind.name);
    }
}

#[test]
fn log_and_state_that_others_can_change_are_to_be_protected_and_not_removed() {
    let site = Site::killed();
    let start = || wharf_fails(1, &[site.arguments(), vec!["--listen".to_owned(), "127.0.0.1:0".to_owned()]].concat());
    for file in [site.scratch.path("log"), site.state_file("write-log"), site.state_file("client-records")] {
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        let said = start();
        assert!(said.contains("run chmod go-w on it") && !said.contains("remove it"), "{said}");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let other = site.scratch.path("other-name");
        fs::hard_link(&file, &other).unwrap();
        let said = start();
        assert!(said.contains("remove the other name") && said.contains(file.to_str().unwrap()), "{said}");
        fs::remove_file(other).unwrap();
    }
    site.start_and_kill();
}

#[test]
fn state_directory_that_became_read_only_is_to_be_mounted_again() {
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    let site = Site { scratch: Scratch::on_disk() };
    let (export, state) = (site.scratch.dir("export"), disk.dir().join("state"));
    let arguments = [export.to_str().unwrap(), "--state-dir", state.to_str().unwrap()];
    drop(Server::start(1, &arguments));
    assert!(succeeds(Command::new("mount").args(["-o", "remount,ro"]).arg(disk.dir())));
    let start = [&["serve", "--listen", "127.0.0.1:0"], &arguments[..]].concat();
    for said in [wharf_fails(1, &start), wharf_fails(1, &[&start[..], &["--check"]].concat())] {
        assert!(said.contains("then mount the file system again for writing"), "{said}");
        assert!(!said.contains("--state-dir DIR") && !said.contains("space"), "{said}");
    }
}
