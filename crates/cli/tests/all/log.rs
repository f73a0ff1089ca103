//! `wharf log` on logs that are whole, in use, damaged, or none.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use stable::{FileDevice, Log};

use testing::Scratch;
use testing::disks::{DiskKind, LoopDisk, succeeds};
use testing::program::{executable, fails, wharf, wharf_fails, wharf_ok};

const BLOCK: u64 = 4096;

/// Makes a log with four batches of three records.
fn fill(path: &Path) -> Log {
    let log = Log::create(Arc::new(FileDevice::create(path, 1 << 20).unwrap()), b"exports: /srv\n").unwrap();
    for batch in 0..4_u8 {
        for _ in 0..3 {
            log.append(&[&[batch; 2000]]).unwrap();
        }
        log.wait(log.end()).unwrap();
    }
    log
}

fn damage(path: &Path, block: u64) {
    fs::File::options().write(true).open(path).unwrap().write_all_at(&[0x5a; 512], block * BLOCK + 512).unwrap();
}

#[test]
fn log_is_shown_with_the_records_that_are_needed() {
    let scratch = Scratch::new();
    let path = scratch.path("write.log");
    let log = fill(&path);
    let first = log.records().next().unwrap().unwrap().0;
    log.trim(first).unwrap();
    drop(log);
    let path = path.to_str().unwrap();
    let shown = wharf_ok(&["log", "info", path]);
    for line in [
        &format!("    Log: {path}\n"),
        "   Size: 1024KiB, used: 32.0KiB\n",
        "Records: 11 of 21.5KiB in 4 batches\n",
        " ago\n",
        "  State: whole, with records that are still needed\n",
    ] {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
    let shown = wharf_ok(&["log", "info", "--json", path]);
    for field in ["\"records\": 11", "\"record_bytes\": 22000", "\"clean\": false", "\"exports\": []"] {
        assert!(shown.contains(field), "{field} is not in {shown}");
    }
    assert_eq!(wharf_ok(&["log", "check", path]), format!("{path}: 11 records in 4 batches, all of them whole\n"));
}

#[test]
fn log_without_records_is_clean() {
    let scratch = Scratch::new();
    let path = scratch.path("write.log");
    let log = fill(&path);
    log.trim(log.end()).unwrap();
    drop(log);
    let path = path.to_str().unwrap();
    let state = scratch.path("state");
    let info = ["log", "info", path, "--state-dir", state.to_str().unwrap()];
    let shown = wharf_ok(&info);
    assert!(shown.contains("  State: clean: no record is needed\n"), "{shown}");
    let missing =
        format!("there is no state directory {}; name that of the log's server with --state", state.display());
    assert!(shown.contains(&format!("  Aside: unknown: {missing}")), "{shown}");
    assert!(wharf_ok(&[&info[..], &["--json"]].concat()).contains("\"changes\": null"));
    testing::private_dir(&state);
    let shown = wharf_ok(&info);
    assert!(shown.ends_with(&format!("  Aside: no changes in {}/write-log-set-aside\n", state.display())), "{shown}");
    assert!(wharf_ok(&["log", "check", "--json", path]).contains("\"clean\": true"));
}

#[test]
fn check_names_each_damaged_part() {
    let scratch = Scratch::new();
    let path = scratch.path("write.log");
    drop(fill(&path));
    // Each batch takes two blocks behind the two headers.
    damage(&path, 2);
    assert!(wharf_ok(&["log", "info", path.to_str().unwrap()]).contains("State: damaged in 1 place: "));
    damage(&path, 6);
    let path = path.to_str().unwrap();
    let said = wharf_fails(1, &["log", "check", path]);
    let expected = [(2, 4), (6, 8)]
        .map(|(from, to)| format!("wharf: log {path} is damaged from byte {} to byte {}: ", from * BLOCK, to * BLOCK));
    assert_eq!(said.lines().count(), 2);
    assert!(said.lines().zip(&expected).all(|(line, expected)| line.starts_with(expected)), "{said}");
    let output = wharf(&["log", "check", "--json", path]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(shown.contains("\"from_bytes\": 24576") && shown.contains("\"records\": 6"), "{shown}");
    assert!(wharf_ok(&["log", "info", path]).contains("State: damaged in 2 places"));
}

#[test]
fn interrupted_write_is_no_damage() {
    let scratch = Scratch::new();
    let path = scratch.path("write.log");
    drop(fill(&path));
    damage(&path, 8);
    let path = path.to_str().unwrap();
    assert!(wharf_ok(&["log", "check", path]).contains("9 records in 3 batches"));
    assert!(wharf_ok(&["log", "info", path]).contains("the device has lost or changed it"));
}

#[test]
fn log_on_a_file_system_that_an_error_made_read_only_is_examined() {
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    let path = disk.dir().join("write.log");
    drop(fill(&path));
    assert!(succeeds(Command::new("mount").args(["-o", "remount,abort"]).arg(disk.dir())));
    assert!(fs::File::open(&path).unwrap().sync_all().is_err(), "the file system still takes changes");
    let path = path.to_str().unwrap();
    assert!(wharf_ok(&["log", "check", path]).contains("records in"));
    assert!(wharf_ok(&["log", "info", path]).contains("Records:"));
}

#[test]
fn log_of_another_user_is_refused_with_whose_it_is() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only the superuser can give files to others");
        return;
    }
    let scratch = Scratch::new();
    let path = scratch.path("write.log");
    drop(fill(&path));
    std::os::unix::fs::chown(&path, Some(1000), None).unwrap();
    for command in ["info", "check", "drain"] {
        let said = wharf_fails(1, &["log", command, path.to_str().unwrap()]);
        assert!(said.contains("belongs to user 1000, and this process is user 0: run it as user 1000"), "{said}");
    }
}

#[test]
fn what_is_no_log_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    let blank = scratch.path("blank");
    drop(FileDevice::create(&blank, 1 << 20).unwrap());
    let text = scratch.file("text", &"no log\n".repeat(10_000));
    let used = scratch.path("used");
    let _log = fill(&used);
    for (path, reason) in [
        (&blank, "is blank: it has zeros where a log begins".to_owned()),
        (&text, "is no log of Wharf's".to_owned()),
        (&used, format!("is in use by process {}; stop it first", std::process::id())),
        (&scratch.path("none"), "cannot open: No such file".to_owned()),
        (&scratch.dir("folder"), "it is neither a file nor a block device".to_owned()),
    ] {
        for command in ["info", "check"] {
            let said = wharf_fails(1, &["log", command, path.to_str().unwrap()]);
            assert!(said.contains(&reason) && said.contains(path.to_str().unwrap()), "{said}");
        }
    }
}

#[test]
fn user_without_a_default_state_directory_is_told_how_to_name_one() {
    let scratch = Scratch::new();
    let path = scratch.path("write.log");
    drop(fill(&path));
    let mut info = Command::new(executable());
    info.args(["log", "info", path.to_str().unwrap()]).env_clear().env("STATE_DIRECTORY", "");
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(scratch.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&path, Some(1000), None).unwrap();
        info.uid(1000);
    }
    let said = fails(1, info);
    assert!(
        said.contains("neither STATE_DIRECTORY nor XDG_STATE_HOME nor HOME is set: name it with --state-dir"),
        "{said}"
    );
}
