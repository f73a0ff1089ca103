//! Errors of writing back that somebody else is told of first: COMMIT reports them all the same.

use std::fs::File;
use std::path::{Path, PathBuf};

use testing::disks::{DiskKind, LoopDisk};
use testing::host_export::{CX, Export, at, mode, touch};
use testing::wait_until;
use vfs::{FileSystem, Handle, OpenFile, OpenMode, SetXattr, Stability, XattrMode, XattrName};
use wharf_fs_host::{HandleForm, HostFs, HostOptions};

/// More than ext4 has allocated for the file.
const BYTES: &[u8] = &[7; 64 << 10];

/// An export on a disk that fails when it is told to, with an empty file.
struct Failing {
    fs: HostFs,
    file: Handle,
    /// The last field: nothing may be open when it is unmounted.
    disk: LoopDisk,
}

impl Failing {
    fn new(max_nodes: usize) -> Option<Failing> {
        Failing::on(DiskKind::EXT4, max_nodes)
    }

    fn on(kind: DiskKind, max_nodes: usize) -> Option<Failing> {
        let disk = LoopDisk::new(kind)?;
        let options = HostOptions {
            state_dir: Some(disk.beside("state")),
            workers: 2,
            max_nodes: Some(max_nodes),
            ..HostOptions::default()
        };
        let fs = HostFs::open(disk.dir(), options).unwrap();
        let file = touch(&fs, "file").handle;
        disk.fail_new_blocks();
        Some(Failing { fs, file, disk })
    }

    fn path(&self) -> PathBuf {
        self.disk.dir().join("file")
    }

    fn open(&self) -> std::sync::Arc<dyn OpenFile> {
        self.fs.open(&CX, &self.file, OpenMode::Write).unwrap()
    }

    /// Writes without COMMIT.
    fn write(&self, open: &dyn OpenFile) {
        assert_eq!(open.write_at(&CX, 0, BYTES, Stability::Unstable).unwrap().count, BYTES.len());
    }

    /// Writes, and commits by another open file. Returns whether the data are stable: COMMIT succeeds, and the write
    /// verifier is the one before the write, which the reply to it has.
    fn writes_and_commits(&self) -> bool {
        let verifier = self.fs.losses();
        self.write(&*self.open());
        self.open().sync(&CX).is_ok() && self.fs.losses() == verifier
    }

    /// Has the kernel write everything back, as it does by itself after a while.
    fn write_back(&self) {
        // That reports the error of the file system, and not that of the file.
        let _ = rustix::fs::syncfs(File::open(self.disk.dir()).unwrap());
    }
}

/// A COMMIT fails that follows `steal`, which takes the error of data that were written and whose file was closed.
fn is_reported_behind(steal: impl FnOnce(&Failing)) {
    let Some(failing) = Failing::new(1000) else { return };
    let losses = failing.fs.losses();
    failing.write(&*failing.open());
    failing.write_back();
    steal(&failing);
    failing.disk.repair();
    assert!(failing.open().sync(&CX).is_err(), "COMMIT reports data as stable that are lost");
    assert!(failing.fs.losses() > losses, "the write verifier stays");
}

#[test]
fn commit_fails_when_a_change_of_attributes_got_the_error() {
    is_reported_behind(|failing| {
        let losses = failing.fs.losses();
        assert!(failing.fs.set_attributes(&CX, &failing.file, &mode(0o600)).is_err());
        assert!(failing.fs.losses() > losses, "the write verifier stays");
    });
}

#[test]
fn commit_fails_when_a_change_of_an_extended_attribute_got_the_error() {
    is_reported_behind(|failing| {
        let set = SetXattr { name: XattrName::new(b"key").unwrap(), value: b"value", mode: XattrMode::Either };
        assert!(failing.fs.set_xattr(&CX, &failing.file, &set).is_err());
    });
}

#[test]
fn commit_fails_when_a_local_process_got_the_error() {
    is_reported_behind(|failing| assert!(File::open(failing.path()).unwrap().sync_all().is_err()));
}

#[test]
fn commit_fails_when_a_stable_write_got_the_error() {
    is_reported_behind(|failing| assert!(failing.open().write_at(&CX, 1 << 20, BYTES, Stability::File).is_err()));
}

#[test]
fn commit_by_another_open_file_than_the_one_that_wrote_fails() {
    let Some(failing) = Failing::new(1000) else { return };
    let writer = failing.open();
    failing.write(&*writer);
    failing.write_back();
    assert!(File::open(failing.path()).unwrap().sync_all().is_err());
    failing.disk.repair();
    assert!(failing.open().sync(&CX).is_err());
    drop(writer);
}

#[test]
fn lost_data_of_a_file_that_is_not_kept_changes_the_write_verifier() {
    // No closed file is kept.
    let Some(failing) = Failing::new(1) else { return };
    let losses = failing.fs.losses();
    failing.write(&*failing.open());
    wait_until("the loss is noted", || failing.fs.losses() > losses);
}

#[test]
fn end_of_an_export_with_uncommitted_data_changes_the_write_verifier() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let file = touch(&fs, "file").handle;
    fs.open(&CX, &file, OpenMode::Write).unwrap().write_at(&CX, 0, BYTES, Stability::Unstable).unwrap();
    let losses = fs.losses();
    drop(fs);
    assert!(export.open(HandleForm::Auto).losses() > losses || is_in_memory(&export.path()));
}

#[test]
fn closed_file_with_uncommitted_data_is_open_for_reading_until_it_is_committed_or_gone() {
    let export = Export::on_disk();
    if is_in_memory(&export.path()) {
        return eprintln!("skipped: files for tests are in memory here");
    }
    let fs = export.open(HandleForm::Auto);
    let files = ["committed", "gone"].map(|name| {
        let handle = touch(&fs, name).handle;
        fs.open(&CX, &handle, OpenMode::Write).unwrap().write_at(&CX, 0, BYTES, Stability::Unstable).unwrap();
        assert_eq!(access_modes(&export.path().join(name)), [0], "{name}");
        handle
    });
    fs.open(&CX, &files[0], OpenMode::Write).unwrap().sync(&CX).unwrap();
    assert_eq!(access_modes(&export.path().join("committed")), [0; 0]);
    fs.remove(&CX, at(&fs.root(), "gone")).unwrap();
    assert_eq!(access_modes(&export.path().join("gone (deleted)")), [0; 0]);
}

/// Data that were lost are on the disk when a client has written them again, to the same pages of memory. Before that
/// the server may `learn` of the loss.
fn are_stored_when_written_again(kind: DiskKind, max_nodes: usize, learn: impl FnOnce(&Failing)) {
    let Some(failing) = Failing::on(kind, max_nodes) else { return };
    failing.write(&*failing.open());
    failing.write_back();
    learn(&failing);
    failing.disk.repair();
    assert!((0..3).any(|_| failing.writes_and_commits()), "{}: the disk works again", kind.name);
    let left = failing.disk.after_power_failure();
    assert!(std::fs::read(left.dir().join("file")).unwrap() == BYTES, "{}: stable data are lost", kind.name);
}

#[test]
fn data_are_stored_when_they_are_written_again_after_a_failed_commit() {
    for kind in [DiskKind::EXT4, DiskKind::EXT4_FAST_COMMIT, DiskKind::EXT2, DiskKind::XFS, DiskKind::BTRFS] {
        are_stored_when_written_again(kind, 1000, |failing| assert!(failing.open().sync(&CX).is_err()));
    }
}

#[test]
fn data_are_stored_when_they_are_written_again_after_a_failed_stable_write() {
    are_stored_when_written_again(DiskKind::EXT4, 1000, |failing| {
        assert!(failing.open().write_at(&CX, 0, BYTES, Stability::File).is_err());
    });
}

#[test]
fn data_are_stored_when_they_are_written_again_after_a_failed_change_of_attributes() {
    are_stored_when_written_again(DiskKind::EXT4, 1000, |failing| {
        assert!(failing.fs.set_attributes(&CX, &failing.file, &mode(0o600)).is_err());
    });
}

#[test]
fn data_are_stored_when_they_are_written_again_after_a_file_was_not_kept() {
    // No closed file is kept.
    are_stored_when_written_again(DiskKind::EXT4, 1, |failing| {
        wait_until("the loss is noted", || failing.fs.losses() > 0);
    });
}

#[test]
fn data_are_stored_when_they_are_written_again_before_the_server_learns_of_the_loss() {
    are_stored_when_written_again(DiskKind::EXT4, 1000, |_| ());
}

fn is_in_memory(path: &Path) -> bool {
    rustix::fs::statfs(path).unwrap().f_type as u32 == 0x0102_1994
}

/// How this process has a file open: 0 is for reading. Descriptors that only name it do not count.
fn access_modes(path: &Path) -> Vec<u32> {
    const O_PATH: u32 = 0o10_000_000;
    let fds = std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap());
    let of_file = fds.filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == path));
    let flags = of_file.filter_map(|entry| {
        let info = std::fs::read_to_string(Path::new("/proc/self/fdinfo").join(entry.file_name())).ok()?;
        u32::from_str_radix(info.lines().find_map(|line| line.strip_prefix("flags:"))?.trim(), 8).ok()
    });
    flags.filter(|flags| flags & O_PATH == 0).map(|flags| flags & 3).collect()
}
