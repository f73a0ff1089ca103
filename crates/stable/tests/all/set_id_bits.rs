//! Local programs change files whose set-id bits the log has: after a power failure, a replay gives the bits only to
//! content that was there when they were set.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::PathBuf;
use std::sync::Arc;

use fs_host::{HandleForm, HostFs, HostOptions};
use testing::disks::{DiskKind, LoopDisk};
use vfs::{Caller, Context, FileSystem, OpenMode, SetAttributes, Stability};

use crate::support::site::{CX, Site, at};

const USER: Context<'static> = Context { caller: Caller { uid: 1000, gid: 1000, groups: &[] }, ..Context::ROOT };
const KINDS: [DiskKind; 3] = [DiskKind::EXT4, DiskKind::XFS, DiskKind::BTRFS];

/// A file on a disk, which is the export of a log.
struct Logged {
    site: Site,
    disk: LoopDisk,
}

impl Logged {
    /// A file of this owner and mode, to which the log gives root as its owner, and a mode.
    fn new(kind: DiskKind, (uid, mode): (u32, u32), logged_mode: u32) -> Option<Logged> {
        let mut disk = LoopDisk::new(kind)?;
        let file = disk.dir().join("file");
        fs::write(&file, "first").unwrap();
        chown(&file, Some(uid), Some(uid)).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        disk.remount();
        let logged = Logged { site: Site::new(HandleForm::Auto), disk };
        let (fs, _, log) = logged.site.open_dir(logged.disk.dir(), false).unwrap();
        let file = fs.lookup(&CX, at(&fs.root(), "file")).unwrap().handle;
        let set = SetAttributes { mode: Some(logged_mode), uid: Some(0), gid: Some(0), ..SetAttributes::default() };
        fs.set_attributes(&CX, &file, &set).unwrap();
        log.close();
        Some(logged)
    }

    fn path(&self) -> PathBuf {
        self.disk.dir().join("file")
    }

    /// Overwrites the file as a user of the machine.
    fn write_as_user(&self) {
        let fs = self.host();
        let file = fs.lookup(&USER, at(&fs.root(), "file")).unwrap().handle;
        let open = fs.open(&USER, &file, OpenMode::Write).unwrap();
        open.write_at(&USER, 0, b"users", Stability::Unstable).unwrap();
    }

    fn set_mode_as_user(&self, mode: u32) {
        let fs = self.host();
        let file = fs.lookup(&USER, at(&fs.root(), "file")).unwrap().handle;
        fs.set_attributes(&USER, &file, &SetAttributes { mode: Some(mode), ..SetAttributes::default() }).unwrap();
    }

    fn host(&self) -> Arc<HostFs> {
        Arc::new(HostFs::open(self.disk.dir(), HostOptions::default()).unwrap())
    }

    fn store(&self) {
        rustix::fs::syncfs(File::open(self.disk.dir()).unwrap()).unwrap();
    }

    fn fail_power(&mut self) {
        // The thread may have acted as the user.
        let _server = own_files::AsServer::new();
        let left = self.disk.copy_image();
        self.disk.replace_image(left);
    }

    /// The mode after the replay, and what was set aside.
    fn replay(&self) -> (u32, String) {
        let (_, _, log) = self.site.open_dir(self.disk.dir(), false).unwrap();
        log.close();
        let now = self.path().metadata().unwrap();
        assert_eq!(now.uid(), 0);
        let kept = fs::read_to_string(self.site.base.path("state/write-log-set-aside")).unwrap_or_default();
        (now.mode() & 0o7777, kept)
    }

    fn assert_set_aside(&self, mode: u32) {
        let (now, kept) = self.replay();
        assert_eq!(now, mode & 0o777);
        assert_eq!(fs::read(self.path()).unwrap(), b"users");
        assert!(kept.contains(&format!("change: set mode {mode:04o}\n")), "{kept}");
        assert!(kept.contains(&format!("-exec chmod {mode:04o} {{}} +")), "{kept}");
    }
}

/// Only root gives rights to others, and only root mounts disks.
fn disks() -> impl Iterator<Item = DiskKind> {
    KINDS.into_iter().filter(|_| {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            println!("skipped: only root can act as another user");
        }
        is_root
    })
}

#[test]
fn content_that_a_local_user_wrote_before_the_power_failed_gets_no_set_id_bits() {
    for kind in disks() {
        let Some(mut logged) = Logged::new(kind, (0, 0o777), 0o6777) else { continue };
        logged.write_as_user();
        logged.store();
        logged.fail_power();
        logged.assert_set_aside(0o6777);
    }
}

#[test]
fn content_that_a_local_user_wrote_before_the_replay_gets_no_set_id_bits() {
    for kind in disks() {
        let Some(mut logged) = Logged::new(kind, (0, 0o777), 0o4777) else { continue };
        logged.fail_power();
        logged.write_as_user();
        logged.assert_set_aside(0o4777);
    }
}

#[test]
fn set_id_bits_that_the_earlier_owner_has_set_again_do_not_become_those_of_the_new_one() {
    for kind in disks() {
        let Some(mut logged) = Logged::new(kind, (1000, 0o4755), 0o4755) else { continue };
        logged.fail_power();
        logged.write_as_user();
        logged.set_mode_as_user(0o4755);
        logged.assert_set_aside(0o4755);
    }
}

#[test]
fn lost_set_id_bits_of_a_file_that_nobody_changed_are_given_again() {
    for kind in disks() {
        let Some(mut logged) = Logged::new(kind, (1000, 0o755), 0o6755) else { continue };
        logged.fail_power();
        assert_eq!(logged.path().metadata().unwrap().mode() & 0o7777, 0o755, "the disk had stored the change");
        assert_eq!(logged.replay(), (0o6755, String::new()));
    }
}

#[test]
fn bits_that_root_sets_between_a_users_write_and_its_commit_are_given_again() {
    for kind in disks() {
        let Some(mut logged) = Logged::new(kind, (1000, 0o777), 0o777) else { continue };
        let (fs, _, log) = logged.site.open_dir(logged.disk.dir(), false).unwrap();
        let file = fs.lookup(&CX, at(&fs.root(), "file")).unwrap().handle;
        let open = fs.open(&USER, &file, OpenMode::Write).unwrap();
        open.write_at(&USER, 0, b"users", Stability::Unstable).unwrap();
        fs.set_attributes(&CX, &file, &SetAttributes { mode: Some(0o6777), ..SetAttributes::default() }).unwrap();
        open.sync(&USER).unwrap();
        log.close();
        drop((open, fs, log));
        logged.fail_power();
        assert_eq!(logged.replay(), (0o6777, String::new()));
        assert_eq!(fs::read(logged.path()).unwrap(), b"users");
    }
}
