//! What a power failure may undo though it was acknowledged: a start and `wharf serve --check` say the same.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use testing::Scratch;
use testing::disks::{DiskKind, LoopDisk, enter_mount_namespace, succeeds};
use testing::program::{Server, wharf_fails, wharf_ok};

/// An overlay in the mount namespace of this thread.
struct Overlay(PathBuf);

impl Overlay {
    /// Mounts one with its layers in `layers`; `None` where that is not possible.
    fn new(at: PathBuf, layers: &Path, option: &str) -> Option<Overlay> {
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| layers.join(name));
        [&lower, &upper, &work, &at].iter().for_each(|dir| fs::create_dir_all(dir).unwrap());
        let [lower, upper, work] = [lower, upper, work].map(|dir| dir.display().to_string());
        let data = CString::new(format!("lowerdir={lower},upperdir={upper},workdir={work}{option}")).unwrap();
        match mount("overlay", &at, "overlay", MountFlags::empty(), Some(data.as_c_str())) {
            Ok(()) => Some(Overlay(at)),
            Err(error) => {
                println!("skipped: cannot mount an overlay here: {error}");
                None
            }
        }
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// A tmpfs in the mount namespace of this thread.
fn tmpfs(at: PathBuf) -> Option<PathBuf> {
    fs::create_dir(&at).unwrap();
    if !enter_mount_namespace() || mount("none", &at, "tmpfs", MountFlags::empty(), None).is_err() {
        println!("skipped: cannot mount a tmpfs here");
        return None;
    }
    Some(at)
}

/// What a start and `--check` say.
fn start_and_check(arguments: &[&str]) -> [String; 2] {
    let server = Server::start(1, arguments);
    let said = server.log();
    drop(server);
    [said, wharf_ok(&[&["serve", "--check", "--listen", "127.0.0.1:0"], arguments].concat())]
}

#[test]
fn export_on_a_volatile_overlay_is_warned_of_and_a_log_there_is_refused() {
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    let Some(overlay) = Overlay::new(disk.beside("mounted"), disk.dir(), ",volatile") else { return };
    let (export, state) = (overlay.0.to_str().unwrap(), disk.beside("state"));
    let state = state.to_str().unwrap();
    for said in start_and_check(&[export, "--state-dir", state]) {
        let expected = format!(
            "the export {export} is on an overlay mounted with `volatile`, which flushes nothing: a power failure ends its data"
        );
        assert!(said.contains(&expected), "{said}");
    }
    let log = overlay.0.join("log");
    let other = disk.beside("other");
    fs::create_dir_all(&other).unwrap();
    let with_log = ["serve", other.to_str().unwrap(), "--check", "--state-dir", state, "--write-log"];
    let said = wharf_fails(1, &[&with_log[..], &[log.to_str().unwrap()]].concat());
    assert!(said.contains("is on an overlay mounted with `volatile`") && said.contains("--lose-my-data"), "{said}");
}

#[test]
fn log_on_an_overlay_of_a_tmpfs_is_refused() {
    let scratch = Scratch::on_disk();
    let Some(memory) = tmpfs(scratch.path("memory")) else { return };
    let Some(overlay) = Overlay::new(scratch.path("mounted"), &memory, "") else { return };
    let (export, state, log) = (scratch.dir("export"), scratch.path("state"), overlay.0.join("log"));
    let [export, state, log] = [&export, &state, &log].map(|path| path.to_str().unwrap());
    let arguments = ["serve", export, "--listen", "127.0.0.1:0", "--state-dir", state, "--write-log", log];
    let said = wharf_fails(1, &arguments);
    assert!(said.contains("is on an overlay whose upper layer is on tmpfs, which is in memory"), "{said}");
    assert!(!Path::new(log).exists());
    drop(overlay);
    unmount(&memory, UnmountFlags::DETACH).unwrap();
}

#[test]
fn disk_whose_cache_is_not_flushed_is_warned_of_with_a_log_and_without() {
    for kind in [DiskKind::EXT4, DiskKind::BTRFS] {
        let Some(disk) = LoopDisk::new(kind) else { return };
        assert!(succeeds(Command::new("mount").args(["-o", "remount,nobarrier"]).arg(disk.dir())));
        let export = disk.dir().join("export");
        fs::create_dir(&export).unwrap();
        let [log, inner_state, state] = [disk.dir().join("log"), disk.dir().join("state"), disk.beside("state")];
        let [export, log, inner_state, state] =
            [&export, &log, &inner_state, &state].map(|path| path.to_str().unwrap());
        let expected = |what: &str| format!("{what} is on {} mounted with `nobarrier`", kind.name);
        for said in start_and_check(&[export, "--state-dir", state]) {
            assert!(said.contains(&expected(&format!("the export {export}"))), "{said}");
        }
        let with_log = ["--write-log", log, "--write-log-size", "4M", "--state-dir", inner_state];
        for said in start_and_check(&[&[export], &with_log[..]].concat()) {
            for what in [format!("the export {export}"), format!("the write log {log}")] {
                assert!(said.contains(&expected(&what)), "{said}");
            }
            assert!(said.contains(&expected(&format!("the state directory {inner_state}"))), "{said}");
        }
    }
}

#[test]
fn export_and_state_directory_in_memory_are_warned_of_unless_that_is_accepted() {
    let scratch = Scratch::on_disk();
    let Some(memory) = tmpfs(scratch.path("memory")) else { return };
    let (export, inner) = (scratch.dir("export"), memory.join("export"));
    fs::create_dir(&inner).unwrap();
    let (state, disk_state) = (memory.join("state"), scratch.path("state"));
    let [export, inner, state, disk_state] = [&export, &inner, &state, &disk_state].map(|dir| dir.to_str().unwrap());
    let log = scratch.path("log");
    let log = ["--write-log", log.to_str().unwrap(), "--write-log-size", "4M", "--state-dir", disk_state];
    let of_export = format!("the export {inner} is on tmpfs, which is in memory: a power failure ends its data");
    for said in start_and_check(&[inner, "--state-dir", disk_state]) {
        assert!(said.contains(&of_export) && !said.contains("write log"), "{said}");
    }
    for said in start_and_check(&[&[inner], &log[..]].concat()) {
        assert!(said.contains(&format!("{of_export}, and the write log does not bring them back")), "{said}");
    }
    let of_state = format!("the state directory {state} is on tmpfs, which is in memory: after a power failure");
    for said in start_and_check(&[export, "--state-dir", state]) {
        assert!(said.contains(&of_state), "{said}");
    }
    for said in start_and_check(&[export, "--state-dir", state, "--lose-my-data"]) {
        assert!(!said.contains("power failure"), "{said}");
    }
    unmount(&memory, UnmountFlags::DETACH).unwrap();
}
