//! A server that was killed, on a disk that then fails to take some of its data: the memory of the machine shows the
//! data as long as their pages are there, and the kernel reports the failure once, perhaps to another process.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use fs_host::{HandleForm, HostFs, HostOptions};
use rustix::mount::{MountFlags, mount_remount};
use stable::{Options, Replayed, StableFs, WriteLog, WriteLogError};
use testing::Scratch;
use testing::disks::{DiskKind, LoopDisk};
use vfs::{FileSystem, OpenFile, OpenMode, Stability};

use crate::breaking::Breaking;
use crate::support::site::{CX, at, create, write};

/// More than ext4 has allocated for a file.
const BYTES: usize = 32 << 10;
const EXPORTS: [&str; 2] = ["first", "second"];

/// Two exports on a disk, each with an empty file, and a log elsewhere.
struct Site {
    base: Scratch,
    device: Arc<Breaking>,
    disk: LoopDisk,
}

/// What a start finds.
struct Started {
    replayed: Vec<Replayed>,
    log: Arc<WriteLog>,
    exports: Vec<StableFs>,
}

impl Site {
    fn new(kind: DiskKind) -> Option<Site> {
        let disk = LoopDisk::new(kind)?;
        EXPORTS.iter().for_each(|name| fs::create_dir(disk.dir().join(name)).unwrap());
        let device = Breaking::new(4 << 20);
        WriteLog::create(device.clone()).unwrap();
        Some(Site { base: Scratch::new(), device, disk })
    }

    fn path(&self, export: &str) -> PathBuf {
        self.disk.dir().join(export).join("file")
    }

    fn start(&self) -> Result<Started, WriteLogError> {
        let state_dir = self.base.path("state");
        let log = WriteLog::open(self.device.clone(), Options::new(state_dir.clone())).unwrap();
        let export = |name: &str| {
            let options = HostOptions {
                handle_form: HandleForm::Auto,
                state_dir: Some(state_dir.clone()),
                sync_metadata: false,
                is_behind_log: true,
                ..HostOptions::default()
            };
            (name.into(), Arc::new(HostFs::open(&self.disk.dir().join(name), options).unwrap()) as Arc<dyn FileSystem>)
        };
        let attached = log.attach_all(EXPORTS.map(export).into())?;
        log.start()?;
        let (exports, replayed) = attached.into_iter().unzip();
        Ok(Started { replayed, log, exports })
    }

    /// Writes a file in each export, and ends as after `kill -9`.
    fn write_and_kill(&self) {
        let started = self.start().unwrap();
        started.write();
        started.end();
    }

    /// The same on a disk that takes none of the data. It fails before they are written, for another process may have
    /// them written back at any time.
    fn write_in_vain_and_kill(&self) {
        let started = self.start().unwrap();
        self.disk.fail_new_blocks();
        started.write();
        started.end();
    }

    /// Writes everything back and consumes the error, as `sync -f` of another process does. Returns whether there was
    /// one.
    fn write_back(&self) -> bool {
        rustix::fs::syncfs(File::open(self.disk.dir()).unwrap()).is_err()
    }

    /// Writes back what the files have, and nobody is told of an error that has to be, as when the kernel does it by
    /// itself.
    fn write_back_silently(&self) {
        EXPORTS.iter().for_each(|export| self.write_back_file_silently(export));
    }

    /// A direct read first writes the pages of its range.
    fn write_back_file_silently(&self, export: &str) {
        const ALIGNED: usize = 4096;
        let mut buffer = vec![0; BYTES + ALIGNED];
        let start = buffer.as_ptr().align_offset(ALIGNED);
        let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(self.path(export)).unwrap();
        assert!(file.read_at(&mut buffer[start..start + BYTES], 0).is_err(), "the disk took the data");
    }

    /// Writes a file in each export and ends as after `kill -9`; the data of both are lost, and the kernel will not
    /// report it again.
    fn lose_unseen(&self) {
        self.write_in_vain_and_kill();
        assert!(self.write_back(), "the disk took the data");
        assert!(!self.write_back());
        self.disk.repair();
    }

    /// Mounts the disk with other flags, also right after a file was closed. A program that another test starts has
    /// copies of this process's descriptors between its fork and its exec.
    fn remount(&self, flags: MountFlags) {
        while let Err(error) = mount_remount(self.disk.dir(), flags, c"") {
            assert_eq!(error, rustix::io::Errno::BUSY);
            std::thread::yield_now();
        }
    }

    fn evict(&self, export: &str) {
        let file = File::open(self.path(export)).unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }

    /// What the disk has of the files.
    fn stored(&self) -> Vec<Vec<u8>> {
        let disk = self.disk.after_power_failure();
        EXPORTS.iter().map(|export| fs::read(disk.dir().join(export).join("file")).unwrap()).collect()
    }

    /// Has a client write the first file again and commit it, and everything flushed.
    fn write_again(&self, started: &Started) {
        let open = started.open_first();
        open.write_at(&CX, 0, &data(), Stability::Unstable).unwrap();
        open.sync(&CX).unwrap();
        drop(open);
        started.log.drain().unwrap();
    }

    fn kept(&self) -> String {
        fs::read_to_string(self.base.path("state/write-log-set-aside")).unwrap_or_default()
    }
}

impl Started {
    fn write(&self) {
        for fs in &self.exports {
            write(fs, &create(fs, &fs.root(), "file"), &data());
        }
    }

    /// Opens the file of the first export.
    fn open_first(&self) -> Arc<dyn OpenFile> {
        let fs = &self.exports[0];
        let file = fs.lookup(&CX, at(&fs.root(), "file")).unwrap().handle;
        fs.open(&CX, &file, OpenMode::Write).unwrap()
    }

    /// Ends without flushing, as after `kill -9`.
    fn end(self) {
        self.log.close();
    }

    fn sum(&self, count: impl Fn(&Replayed) -> u64) -> u64 {
        self.replayed.iter().map(count).sum()
    }
}

fn data() -> Vec<u8> {
    (0..BYTES).map(|at| (at % 251) as u8 + 1).collect()
}

#[test]
fn data_are_written_again_when_another_process_got_the_error_of_their_loss() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    site.lose_unseen();
    let started = site.start().unwrap();
    assert_eq!(started.sum(|replayed| replayed.data_bytes), 2 * BYTES as u64);
    assert_eq!(started.sum(|replayed| replayed.set_aside), 0);
    assert!(site.stored().iter().all(|stored| *stored == data()), "the start trusts memory that the disk lacks");
    started.end();
}

#[test]
fn data_are_written_again_when_their_pages_were_evicted_after_the_loss() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    site.lose_unseen();
    let modified = fs::metadata(site.path("first")).unwrap().modified().unwrap();
    EXPORTS.iter().for_each(|export| site.evict(export));
    assert!(fs::read(site.path("first")).unwrap() == vec![0; BYTES], "the data are still in memory");
    let started = site.start().unwrap();
    assert!(fs::read(site.path("first")).unwrap() == data());
    assert!(site.stored().iter().all(|stored| *stored == data()));
    assert_eq!(fs::metadata(site.path("first")).unwrap().modified().unwrap(), modified);
    started.end();
}

#[test]
fn start_repairs_a_loss_that_it_is_told_of_itself() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    site.write_in_vain_and_kill();
    site.write_back_silently();
    site.disk.repair();
    let started = site.start().unwrap();
    assert!(site.stored().iter().all(|stored| *stored == data()));
    started.end();
}

#[test]
fn start_is_refused_while_the_disk_fails_and_keeps_the_log() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    site.write_in_vain_and_kill();
    assert!(site.write_back());
    for _ in 0..3 {
        assert!(matches!(site.start(), Err(WriteLogError::Storage { .. } | WriteLogError::Replay { .. })));
    }
    site.disk.repair();
    let started = site.start().unwrap();
    assert!(site.stored().iter().all(|stored| *stored == data()));
    started.end();
}

#[test]
fn one_start_after_the_repair_suffices_though_the_kernel_has_another_failure_to_report() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    let started = site.start().unwrap();
    site.disk.fail_new_blocks();
    started.write();
    assert!(started.log.drain().is_err(), "the disk took the data");
    started.end();
    fs::write(site.path("first").with_file_name("other"), data()).unwrap();
    rustix::fs::sync();
    site.disk.repair();
    let started = site.start().unwrap();
    assert!(started.replayed.iter().all(|replayed| replayed.compared));
    assert!(site.stored().iter().all(|stored| *stored == data()));
    started.end();
}

#[test]
fn start_is_refused_when_the_file_system_takes_no_changes_any_more_and_the_next_one_replays_names_too() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    site.write_and_kill();
    // As ext4 does when it cannot write its journal.
    site.remount(MountFlags::RDONLY);
    assert!(matches!(site.start(), Err(WriteLogError::ReadOnly { .. })));
    site.remount(MountFlags::empty());
    EXPORTS.iter().for_each(|export| fs::remove_file(site.path(export)).unwrap());
    let started = site.start().unwrap();
    assert!(started.replayed.iter().all(|replayed| replayed.compared && replayed.made == 1));
    assert!(site.stored().iter().all(|stored| *stored == data()));
    started.end();
}

#[test]
fn file_that_was_changed_after_the_kill_stays_and_what_it_lacks_is_set_aside() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    site.write_in_vain_and_kill();
    assert!(site.write_back());
    site.disk.repair();
    EXPORTS.iter().for_each(|export| site.evict(export));
    fs::write(site.path("second"), "by a local process").unwrap();
    let mut first = File::options().write(true).open(site.path("first")).unwrap();
    first.seek(SeekFrom::End(0)).unwrap();
    first.write_all(b"more").unwrap();
    let started = site.start().unwrap();
    assert_eq!(started.sum(|replayed| replayed.data_bytes), 0);
    assert_eq!(started.sum(|replayed| replayed.set_aside), 2);
    assert_eq!(fs::read(site.path("second")).unwrap(), b"by a local process");
    assert!(fs::read(site.path("first")).unwrap() == [vec![0; BYTES], b"more".to_vec()].concat());
    let kept = site.kept();
    assert!(kept.contains("export: second\nfile: file\nchange: write 32768 bytes at offset 0\n"), "{kept}");
    assert!(kept.contains("the file was changed"), "{kept}");
    let hex: String = data().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(kept.matches(&format!("data in hex: {hex}\n")).count(), 2);
    started.end();
}

#[test]
fn bytes_that_a_program_wrote_between_two_records_are_kept_when_those_of_the_log_replace_them() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    let started = site.start().unwrap();
    for fs in &started.exports {
        let file = create(fs, &fs.root(), "file");
        write(fs, &file, &data());
    }
    let mut first = File::options().write(true).open(site.path("first")).unwrap();
    first.seek(SeekFrom::Start(100)).unwrap();
    first.write_all(b"by a program").unwrap();
    for fs in &started.exports {
        let file = fs.lookup(&CX, at(&fs.root(), "file")).unwrap().handle;
        let open = fs.open(&CX, &file, OpenMode::Write).unwrap();
        open.write_at(&CX, BYTES as u64, b"more", Stability::File).unwrap();
    }
    started.end();
    let started = site.start().unwrap();
    assert_eq!(started.sum(|replayed| replayed.set_aside), 1);
    assert!(site.stored().iter().all(|stored| *stored == [data(), b"more".to_vec()].concat()));
    let hex: String = b"by a program".iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(site.kept().contains("data of the log replaced these bytes") && site.kept().contains(&hex));
    started.end();
}

#[test]
fn data_that_memory_still_shows_are_written_again_into_a_file_that_was_changed_since() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    site.lose_unseen();
    let mut first = File::options().append(true).open(site.path("first")).unwrap();
    first.write_all(b"more").unwrap();
    drop(first);
    let modified = fs::metadata(site.path("first")).unwrap().modified().unwrap();
    let started = site.start().unwrap();
    assert_eq!(started.sum(|replayed| replayed.set_aside), 0);
    assert!(site.stored()[0] == [data(), b"more".to_vec()].concat());
    assert_eq!(fs::metadata(site.path("first")).unwrap().modified().unwrap(), modified);
    started.end();
}

#[test]
fn nothing_is_written_and_nothing_set_aside_when_nothing_was_lost() {
    for kind in [DiskKind::EXT4, DiskKind::XFS, DiskKind::BTRFS] {
        let Some(site) = Site::new(kind) else { continue };
        site.write_and_kill();
        let before = EXPORTS.map(|export| state(&site.path(export)));
        let started = site.start().unwrap();
        assert_eq!(started.sum(|replayed| replayed.checked_bytes), 2 * BYTES as u64, "{}", kind.name);
        assert_eq!(started.sum(|replayed| replayed.data_bytes + replayed.set_aside), 0, "{}", kind.name);
        assert_eq!(EXPORTS.map(|export| state(&site.path(export))), before);
        assert_eq!(site.kept(), "");
        assert!(site.stored().iter().all(|stored| *stored == data()), "{}", kind.name);
        started.end();
    }
}

/// The times of a file.
fn state(path: &std::path::Path) -> (i64, i64, i64, i64) {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).unwrap();
    (metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec())
}

/// Data that a client has not committed are lost. They are stored when it writes them again after the next start.
fn uncommitted_data_are_stored_when_they_are_written_again(lose: impl FnOnce(&Site, Started)) {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    let started = site.start().unwrap();
    let files: Vec<_> = started.exports.iter().map(|fs| create(fs, &fs.root(), "file")).collect();
    started.log.drain().unwrap();
    site.disk.fail_new_blocks();
    for (fs, file) in started.exports.iter().zip(files) {
        fs.open(&CX, &file, OpenMode::Write).unwrap().write_at(&CX, 0, &data(), Stability::Unstable).unwrap();
    }
    lose(&site, started);
    site.disk.repair();
    let started = site.start().unwrap();
    site.write_again(&started);
    assert!(site.stored().swap_remove(0)[..BYTES] == data(), "committed data are lost");
    started.end();
}

#[test]
fn uncommitted_data_are_stored_when_they_are_written_again_after_a_failed_flush() {
    uncommitted_data_are_stored_when_they_are_written_again(|_, started| {
        assert!(started.log.drain().is_err(), "the disk took the data");
        started.end();
    });
}

#[test]
fn uncommitted_data_are_stored_when_they_are_written_again_after_a_failed_commit() {
    uncommitted_data_are_stored_when_they_are_written_again(|_, started| {
        let open = started.open_first();
        // More than a log takes.
        open.write_at(&CX, BYTES as u64, &vec![1; 1 << 20], Stability::Unstable).unwrap();
        assert!(open.sync(&CX).is_err(), "the disk took the data");
        drop(open);
        started.end();
    });
}

#[test]
fn uncommitted_data_are_stored_when_they_are_written_again_after_a_kill() {
    uncommitted_data_are_stored_when_they_are_written_again(|site, started| {
        started.end();
        site.write_back_silently();
    });
}

#[test]
fn uncommitted_data_are_stored_when_they_are_written_again_after_another_start() {
    uncommitted_data_are_stored_when_they_are_written_again(|site, started| {
        assert!(started.log.drain().is_err(), "the disk took the data");
        started.end();
        site.disk.repair();
        // As `wharf log replay`.
        let started = site.start().unwrap();
        started.log.drain().unwrap();
        started.end();
    });
}

/// The memory of a file system ends when it is unmounted, in the same boot and on the same device.
#[test]
fn names_are_made_again_that_a_disk_had_lost_before_it_was_mounted_again() {
    for kind in [DiskKind::EXT4, DiskKind::XFS, DiskKind::BTRFS] {
        let Some(mut site) = Site::new(kind) else { continue };
        site.write_and_kill();
        site.disk.remount();
        EXPORTS.iter().for_each(|export| fs::remove_file(site.path(export)).unwrap());
        let started = site.start().unwrap();
        for export in EXPORTS {
            assert!(fs::read(site.path(export)).is_ok_and(|found| found == data()), "{}", kind.name);
        }
        started.end();
    }
}

/// A page that storage has not taken may be gone when COMMIT reads the data back for the log.
#[test]
fn commit_after_storage_has_lost_the_data_fails_whoever_was_told_first() {
    type Tell = fn(&Site);
    let tellers: [(&str, Tell); 3] = [
        ("nobody", |site| site.write_back_file_silently("first")),
        ("syncfs", |site| assert!(site.write_back(), "the disk took the data")),
        ("fsync", |site| {
            assert!(File::open(site.path("first")).unwrap().sync_all().is_err(), "the disk took the data")
        }),
    ];
    for (told, tell) in tellers {
        for is_closed in [false, true] {
            let Some(site) = Site::new(DiskKind::EXT4) else { return };
            let started = site.start().unwrap();
            let fs = &started.exports[0];
            create(fs, &fs.root(), "file");
            let mut open = started.open_first();
            let losses = fs.losses();
            site.disk.fail_new_blocks();
            open.write_at(&CX, 0, &data(), Stability::Unstable).unwrap();
            if is_closed {
                drop(open);
            }
            tell(&site);
            site.disk.repair();
            site.evict("first");
            open = started.open_first();
            assert!(open.sync(&CX).is_err(), "{told} was told, closed: {is_closed}");
            assert_ne!(fs.losses(), losses, "{told} was told, closed: {is_closed}");
            started.end();
        }
    }
}

#[test]
fn file_is_not_read_while_only_the_log_has_its_data() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    let started = site.start().unwrap();
    site.disk.fail_new_blocks();
    started.write();
    assert!(started.log.drain().is_err(), "the disk took the data");
    site.disk.repair();
    site.evict("first");
    assert!(started.open_first().read_at(&CX, 0, &mut [0; 10]).is_err());
    started.end();
    let started = site.start().unwrap();
    let mut read = vec![0; BYTES];
    assert_eq!(started.open_first().read_at(&CX, 0, &mut read).unwrap(), BYTES);
    assert!(read == data());
    started.end();
}
