//! What a reply has reported is there after a power failure right behind it: each change, on each file system.

use std::path::Path;

use testing::disks::{DiskKind, LoopDisk};
use testing::stable_changes::{CHANGES, StableChange, prepare};
use vfs::Error;
use wharf_fs_host::{HostFs, HostOptions};

/// Makes each change, and looks for it behind a power failure.
fn cut_power_after_each_change(kind: DiskKind) {
    let Some(mut disk) = LoopDisk::new(kind) else { return };
    let export = |dir: &Path| dir.join("export");
    std::fs::create_dir(export(disk.dir())).unwrap();
    prepare(&export(disk.dir()));
    disk.remount();
    let options = HostOptions { state_dir: Some(disk.beside("state")), workers: 2, ..HostOptions::default() };
    let fs = HostFs::open(&export(disk.dir()), options).unwrap();
    let is_lost = |change: &&StableChange| {
        match (change.make)(&fs) {
            Err(Error::NotSupported) => return false,
            made => made.unwrap_or_else(|error| panic!("{}: {error}", change.name)),
        }
        !(change.is_there)(&export(disk.after_power_failure().dir()))
    };
    let lost: Vec<&str> = CHANGES.iter().filter(is_lost).map(|change| change.name).collect();
    drop(fs);
    assert!(lost.is_empty(), "lost on {kind:?}: {lost:?}");
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_ext4() {
    cut_power_after_each_change(DiskKind::EXT4);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_ext4_without_a_journal() {
    cut_power_after_each_change(DiskKind::EXT4_WITHOUT_JOURNAL);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_ext4_with_fast_commits() {
    cut_power_after_each_change(DiskKind::EXT4_FAST_COMMIT);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_ext2() {
    cut_power_after_each_change(DiskKind::EXT2);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_ext3() {
    cut_power_after_each_change(DiskKind::EXT3);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_xfs() {
    cut_power_after_each_change(DiskKind::XFS);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_btrfs() {
    cut_power_after_each_change(DiskKind::BTRFS);
}
