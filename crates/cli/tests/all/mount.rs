//! `wharf mount`: what it says when it cannot, and what is there when it can.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use testing::program::mounting::{Unmount, can_mount, is_mounted};
use testing::program::{Server, wharf_fails, wharf_ok};
use testing::{Scratch, wait_until};

#[test]
fn wrong_arguments_are_named_with_what_to_do() {
    let scratch = Scratch::new();
    let dir = scratch.dir("mnt");
    let dir = dir.to_str().unwrap();
    for (arguments, message) in [
        (vec!["mount", "server", dir], "'server' names nothing on a server: write nfs://host/export or host:/export"),
        (vec!["mount", "s:/x", dir, "-o", "colour"], "unknown option 'colour'"),
        (vec!["mount", "s:/x", dir, "-o", "vers=9"], "invalid value '9' of option 'vers'"),
        (vec!["mount", "s:/x", dir, "-o", "sec=krb5p"], "only sys is possible"),
    ] {
        let said = wharf_fails(2, &arguments);
        assert!(said.contains(message), "{said}");
    }
    let said = wharf_fails(1, &["mount", "127.0.0.1:/x", "/does/not/exist"]);
    assert!(said.contains("/does/not/exist: "), "{said}");
}

#[test]
fn server_that_does_not_answer_is_told_by_the_command_that_was_called() {
    let scratch = Scratch::new();
    let dir = scratch.dir("mnt");
    // Nobody listens on this port any more.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let options = format!("port={port},mountport={port},soft");
    let said = wharf_fails(1, &["mount", "127.0.0.1:/x", dir.to_str().unwrap(), "-o", &options]);
    assert!(said.contains("nfs://127.0.0.1/x") && said.contains("refused"), "{said}");
    assert!(!is_mounted(&dir));
}

#[test]
fn directory_of_an_export_is_mounted_in_the_background_and_goes_with_umount() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (export, dir) = (scratch.dir("export"), scratch.dir("mnt"));
    fs::create_dir(export.join("below")).unwrap();
    fs::write(export.join("below/file"), "here").unwrap();
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    for version in ["2", "3", "4.0", "4.1", "4.2"] {
        let (url, place) = (server.url(export.join("below")), dir.to_str().unwrap());
        wharf_ok(&["mount", &url, place, "-o", &format!("vers={version},mountport={}", server.port())]);
        let _unmount = Unmount(&dir);
        assert!(is_mounted(&dir), "{version}");
        assert_eq!(fs::read_to_string(dir.join("file")).unwrap(), "here", "{version}");
        fs::write(dir.join("new"), version).unwrap();
        assert_eq!(fs::read_to_string(export.join("below/new")).unwrap(), version);
        assert!(Command::new("umount").arg(&dir).status().unwrap().success());
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    }
}

#[test]
fn foreground_ends_cleanly_when_it_is_told_to_and_says_so_when_somebody_uses_the_mount() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let dir = scratch.dir("mnt");
    let server = Server::start(1, &["--no-root-squash", "mem:16M"]);
    let log = fs::File::create(scratch.path("log")).unwrap();
    let mut mount = Command::new(env!("CARGO_BIN_EXE_wharf"));
    mount.args(["mount", "--foreground", "-o", &format!("mountport={}", server.port())]);
    let mut mount = mount.arg(server.url("/mem")).arg(&dir).stdin(Stdio::null()).stderr(log).spawn().unwrap();
    let _unmount = Unmount(&dir);
    wait_until("it is mounted", || is_mounted(&dir));
    let file = fs::File::create(dir.join("file")).unwrap();
    let tell = || kill_process(Pid::from_raw(mount.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    tell();
    wait_until("the log says that it is busy", || {
        fs::read_to_string(scratch.path("log")).unwrap().contains("is busy: end the programs that use it")
    });
    assert!(is_mounted(&dir));
    // A second time it goes away, and what is open can be used to its end.
    tell();
    wait_until("it is not mounted any more", || !is_mounted(&dir));
    assert!(file.metadata().is_ok());
    drop(file);
    assert!(mount.wait().unwrap().success());
}

#[test]
fn mount_whose_process_was_killed_is_told_with_what_to_do() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let dir = scratch.dir("mnt");
    let server = Server::start(1, &["--no-root-squash", "mem:16M"]);
    let options = format!("mountport={}", server.port());
    let mut mount = Command::new(env!("CARGO_BIN_EXE_wharf"));
    mount.args(["mount", "--foreground", "-o", &options]);
    let mut mount = mount.arg(server.url("/mem")).arg(&dir).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let _unmount = Unmount(&dir);
    wait_until("it is mounted", || is_mounted(&dir));
    let file = fs::File::create(dir.join("file")).unwrap();
    mount.kill().unwrap();
    mount.wait().unwrap();
    let (url, place) = (server.url("/mem"), dir.to_str().unwrap());
    let said = wharf_fails(1, &["mount", &url, place, "-o", &options]);
    assert!(said.contains("not sent yet is lost") && said.contains(&format!("umount -l {place}")), "{said}");
    assert!(Command::new("umount").arg("-l").arg(&dir).status().unwrap().success());
    assert!(file.metadata().is_err(), "it is open all the time");
    wharf_ok(&["mount", &url, place, "-o", &options]);
}

#[test]
fn process_that_stays_keeps_nothing_open_that_its_caller_had_open() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (dir, lock) = (scratch.dir("mnt"), scratch.path("lock"));
    let server = Server::start(1, &["--no-root-squash", "mem:16M"]);
    // As scripts do that hold a lock while they mount.
    let mut script = Command::new("sh");
    script.args(["-c", "exec 9>\"$0\" && exec \"$@\""]).arg(&lock).arg(env!("CARGO_BIN_EXE_wharf"));
    script.args(["mount", "-o", &format!("mountport={}", server.port())]).arg(server.url("/mem")).arg(&dir);
    assert!(script.status().unwrap().success());
    let _unmount = Unmount(&dir);
    assert!(is_mounted(&dir));
    assert_eq!(who_has_open(&lock), Vec::<String>::new());
}

#[test]
fn messages_of_a_mount_without_a_system_log_go_to_a_file_that_is_told() {
    if !can_mount() {
        return;
    }
    if Path::new("/dev/log").exists() {
        println!("skipped: there is a system log");
        return;
    }
    let scratch = Scratch::new();
    let (dir, logs) = (scratch.dir("mnt"), scratch.path("logs"));
    let server = Server::start(1, &["--no-root-squash", "mem:16M"]);
    let mut mount = Command::new(env!("CARGO_BIN_EXE_wharf"));
    mount.args(["mount", "-o", &format!("mountport={}", server.port()), &server.url("/mem")]).arg(&dir);
    let output = mount.env("LOGS_DIRECTORY", &logs).output().unwrap();
    let _unmount = Unmount(&dir);
    assert!(output.status.success() && is_mounted(&dir));
    let said = String::from_utf8_lossy(&output.stderr);
    let log = logs.join("wharf-mount.log");
    assert!(said.contains(&format!("messages of this mount go to {}", log.display())), "{said}");
    wait_until("the log says that it is mounted", || {
        fs::read_to_string(&log).unwrap().contains("mounted 127.0.0.1:/mem on ")
    });
    let line = fs::read_to_string(&log).unwrap();
    assert!(line.starts_with("20") && line.contains("Z wharf["), "{line}");
}

/// The descriptors of all processes that are of this file.
fn who_has_open(file: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read_dir(entry.ok()?.path().join("fd")).ok());
    let descriptors = processes.flatten().filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let of_file = descriptors.filter(|path| fs::read_link(path).is_ok_and(|target| target == file));
    of_file.map(|path| path.display().to_string()).collect()
}

/// A mount by FUSE does not flush all of its file system.
#[test]
fn write_log_in_front_of_a_mount_is_refused_with_the_reason() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::on_disk();
    let dir = scratch.dir("mnt");
    let server = Server::start(1, &["--no-root-squash", "mem:16M"]);
    let place = dir.to_str().unwrap();
    wharf_ok(&["mount", &server.url("/mem"), place, "-o", &format!("mountport={}", server.port())]);
    let _unmount = Unmount(&dir);
    let [log, state] = ["log", "state"].map(|name| scratch.path(name).to_str().unwrap().to_owned());
    let serve = ["serve", place, "--listen", "127.0.0.1:0", "--write-log", &log, "--state-dir", &state];
    for arguments in [serve.to_vec(), [&serve[..], &["--check"]].concat()] {
        let said = wharf_fails(1, &arguments);
        assert!(said.contains("it is on fuse") && said.contains("without --write-log"), "{said}");
    }
    let mut without = Server::start(1, &[place, "--state-dir", &state]);
    without.signal(Signal::TERM);
    without.wait();
}
