//! Bytes of files.

use std::fs::{self, File, Permissions};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use vfs::{Caller, Context, Error, FileSystem, NewNode, OpenMode, Origin, SetAttributes, Stability};
use wharf_fs_host::{HandleForm, HostFs, HostOptions};

use testing::disks::{DiskKind, LoopDisk};
use testing::host_export::*;

const GIB: u64 = 1 << 30;

#[test]
fn written_bytes_are_read_back_and_the_end_is_met() {
    for export in [Export::on_disk(), Export::in_memory()] {
        for form in forms() {
            let fs = export.open(form);
            let file = touch(&fs, &format!("{form:?}"));
            write(&fs, &file.handle, b"hello");
            let opened = fs.open(&CX, &file.handle, OpenMode::Read).unwrap();
            let mut into = [0; 8];
            assert_eq!(opened.read_at(&CX, 0, &mut into[..4]).unwrap(), 4);
            assert_eq!(opened.read_at(&CX, 1, &mut into).unwrap(), 4);
            assert_eq!(&into[..4], b"ello");
            assert_eq!(opened.read_at(&CX, 5, &mut into).unwrap(), 0);
            assert_eq!(opened.read_at(&CX, 1 << 40, &mut into).unwrap(), 0);
            assert!(opened.write_at(&CX, 0, b"x", Stability::Unstable).is_err());
            assert!(opened.host_file().unwrap().as_fd().try_clone_to_owned().is_ok());
            assert_eq!(fs.attributes(&CX, &file.handle).unwrap().size_bytes, 5);
        }
    }
}

#[test]
fn five_gib_file_is_sparse_and_whole() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let file = touch(&fs, "big").handle;
    let opened = fs.open(&CX, &file, OpenMode::Write).unwrap();
    let written = opened.write_at(&CX, 5 * GIB, b"end", Stability::File).unwrap();
    assert_eq!((written.count, written.stability), (3, Stability::File));
    let attributes = opened.attributes(&CX).unwrap();
    assert_eq!(attributes.size_bytes, 5 * GIB + 3);
    assert!(attributes.used_bytes < 1 << 20);
    let mut into = [1; 6];
    assert_eq!(opened.read_at(&CX, 5 * GIB - 3, &mut into).unwrap(), 6);
    assert_eq!(&into, b"\0\0\0end");
    let set = SetAttributes { size_bytes: Some(4 * GIB), ..SetAttributes::default() };
    assert_eq!(fs.set_attributes(&CX, &file, &set).unwrap().size_bytes, 4 * GIB);
    let set = SetAttributes { size_bytes: Some(u64::MAX), ..SetAttributes::default() };
    assert!(matches!(fs.set_attributes(&CX, &file, &set), Err(Error::FileTooBig)));
}

#[test]
fn cold_bytes_would_block_and_warm_ones_come_whole() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let file = touch(&fs, "f").handle;
    let data = vec![7; 1 << 20];
    let opened = fs.open(&CX, &file, OpenMode::Write).unwrap();
    opened.write_at(&CX, 0, &data, Stability::File).unwrap();
    let loop_cx = Context { may_block: false, ..CX };
    let mut into = vec![0; data.len()];
    assert_eq!(opened.read_at(&loop_cx, 0, &mut into).unwrap(), data.len());
    let host = opened.host_file().unwrap();
    rustix::fs::fadvise(host.as_fd(), 1 << 19, None, rustix::fs::Advice::DontNeed).unwrap();
    match opened.read_at(&loop_cx, 0, &mut into) {
        Err(Error::WouldBlock) => {}
        Ok(count) => eprintln!("skipped: the page cache kept all {count} bytes"),
        Err(error) => panic!("{error}"),
    }
    assert_eq!(opened.read_at(&CX, 0, &mut into).unwrap(), data.len());
    assert_eq!(into, data);
}

#[test]
fn bytes_are_resident_when_they_were_read_a_while_ago_and_not_when_they_were_evicted() {
    const LENGTH: usize = 1 << 20;
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let file = touch(&fs, "f").handle;
    fs.open(&CX, &file, OpenMode::Write).unwrap().write_at(&CX, 0, &vec![7; LENGTH], Stability::File).unwrap();
    let opened = fs.open(&CX, &file, OpenMode::Read).unwrap();
    if !opened.is_resident(0, LENGTH) {
        return eprintln!("skipped: nothing tells which pages of this file are in memory");
    }
    assert!(!opened.is_resident(1, LENGTH), "bytes behind the end are resident");
    let host = opened.host_file().unwrap();
    rustix::fs::fadvise(host.as_fd(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
    if opened.is_resident(0, LENGTH) {
        return eprintln!("skipped: the page cache kept the bytes, or they are in memory only");
    }
    assert!(!host.is_resident(0, LENGTH));
    assert_eq!(opened.read_at(&CX, 0, &mut vec![0; LENGTH]).unwrap(), LENGTH);
    // Pages that the read brought may be in flight, as far as cachestat(2) tells.
    assert!(!opened.is_resident(0, LENGTH));
    loop {
        thread::sleep(Duration::from_millis(100));
        if opened.is_resident(0, LENGTH) {
            return;
        }
        // The kernel has evicted some of them again.
        assert_eq!(opened.read_at(&CX, 0, &mut vec![0; LENGTH]).unwrap(), LENGTH);
    }
}

#[test]
fn evicted_range_is_read_from_storage_and_no_dirty_byte_is_lost() {
    const LENGTH: u64 = 1 << 20;
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    let options = HostOptions { state_dir: Some(disk.beside("state")), ..HostOptions::default() };
    let fs = HostFs::open(disk.dir(), options).unwrap();
    let file = touch(&fs, "f").handle;
    let opened = fs.open(&CX, &file, OpenMode::Write).unwrap();
    opened.write_at(&CX, 0, &vec![7; LENGTH as usize], Stability::File).unwrap();
    let reader = fs.open(&CX, &file, OpenMode::Read).unwrap();
    let loop_cx = Context { may_block: false, ..CX };
    assert!(reader.evict(10..LENGTH - 10));
    assert!(matches!(reader.read_at(&loop_cx, 4096, &mut [0]), Err(Error::WouldBlock)), "the bytes are in memory");
    opened.write_at(&CX, 8192, b"dirty", Stability::Unstable).unwrap();
    // The kernel begins to write them back, and does not wait for that.
    let is_evicted = reader.evict(8192..8193);
    let mut bytes = [0; 5];
    reader.read_at(&CX, 8192, &mut bytes).unwrap();
    assert_eq!(&bytes, b"dirty", "is_evicted={is_evicted}");
}

#[test]
fn special_file_that_is_stored_with_the_whole_file_system_can_be_made_by_any_user() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root can act as another user");
    }
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    fs::set_permissions(disk.dir(), Permissions::from_mode(0o777)).unwrap();
    let options = HostOptions { state_dir: Some(disk.beside("state")), ..HostOptions::default() };
    let host = HostFs::open(disk.dir(), options).unwrap();
    let user = Context { caller: Caller { uid: 1000, gid: 1000, groups: &[] }, ..CX };
    let set = SetAttributes { uid: Some(1000), gid: Some(1000), ..SetAttributes::default() };
    for (cx, name) in [(CX, "first"), (user, "second"), (user, "third")] {
        host.make_node(&cx, at(&host.root(), name), NewNode::Fifo, &set).unwrap();
    }
}

/// The identity of a file system's root.
fn origin(disk: &LoopDisk) -> Origin {
    let options = HostOptions { state_dir: Some(disk.beside("state")), ..HostOptions::default() };
    HostFs::open(disk.dir(), options).unwrap().origin().unwrap()
}

#[test]
fn root_of_another_file_system_is_told_apart_though_both_were_made_in_the_same_second() {
    let new_uuids: [(_, &[&[&str]]); 2] = [
        (DiskKind::EXT4, &[&["e2fsck", "-fy"], &["tune2fs", "-U", "random"]]),
        (DiskKind::BTRFS, &[&["btrfstune", "-f", "-u"]]),
    ];
    for (kind, commands) in new_uuids {
        let Some(mut disk) = LoopDisk::new(kind) else { continue };
        let before = origin(&disk);
        disk.remount();
        assert_eq!(origin(&disk).birth, before.birth);
        let copy = disk.copy_image();
        for command in commands {
            let done = Command::new(command[0]).args(&command[1..]).arg(&copy).output().unwrap();
            let said = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.code().is_some_and(|code| code <= 1), "{command:?}: {said}");
        }
        disk.replace_image(copy);
        let other = origin(&disk);
        assert!((other.fileid, other.birth != before.birth) == (before.fileid, true), "{before:?} and {other:?}");
    }
}

/// The kernel gives a btrfs another number for programs while a copy is mounted.
#[test]
fn root_stays_the_same_one_while_a_copy_of_its_disk_is_mounted() {
    for kind in [DiskKind::EXT4, DiskKind::BTRFS] {
        let Some(mut disk) = LoopDisk::new(kind) else { continue };
        let before = origin(&disk);
        rustix::fs::syncfs(File::open(disk.dir()).unwrap()).unwrap();
        let copy = disk.after_power_failure();
        disk.remount();
        assert_eq!(origin(&disk).birth, before.birth, "{}", kind.name);
        drop(copy);
    }
}

#[test]
fn thread_that_may_not_block_writes_to_memory_only() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let file = touch(&fs, "f").handle;
    let opened = fs.open(&CX, &file, OpenMode::Write).unwrap();
    let cx = Context { may_block: false, ..CX };
    assert_eq!(opened.write_at(&cx, 0, b"abc", Stability::Unstable).unwrap().count, 3);
    assert!(matches!(opened.write_at(&cx, 0, b"abc", Stability::Data), Err(Error::WouldBlock)));
    assert!(matches!(opened.sync(&cx), Err(Error::WouldBlock)));
    assert!(opened.sync(&CX).is_ok());
}

#[test]
fn file_made_without_write_permission_can_still_be_written() {
    for form in forms() {
        let export = Export::on_disk();
        let fs = export.open(form);
        let file = fs.create(&CX, at(&fs.root(), "f"), vfs::CreateMode::Guarded, &mode(0o400)).unwrap().handle;
        write(&fs, &file, b"x");
        assert_eq!(fs.attributes(&CX, &file).unwrap().mode, 0o400);
    }
}

#[test]
fn every_change_of_a_file_changes_its_change_number() {
    for export in [Export::on_disk(), Export::in_memory()] {
        let fs = export.open(HandleForm::Auto);
        let file = touch(&fs, "f").handle;
        let opened = fs.open(&CX, &file, OpenMode::Write).unwrap();
        let mut seen = std::collections::HashSet::new();
        for length in 1..200 {
            opened.write_at(&CX, length, b"x", Stability::Unstable).unwrap();
            assert!(seen.insert(opened.attributes(&CX).unwrap().change), "write {length}");
        }
    }
}

#[test]
fn full_file_system_says_so_and_keeps_what_was_written() {
    let export = Export::on_disk();
    let none: Option<&std::ffi::CStr> = None;
    let options = Some(c"size=256k").or(none);
    let flags = rustix::mount::MountFlags::empty();
    if let Err(error) = rustix::mount::mount("none", export.path(), "tmpfs", flags, options) {
        eprintln!("skipped: cannot mount here: {error}");
        return;
    }
    let fs = export.open(HandleForm::Auto);
    let file = touch(&fs, "f").handle;
    let opened = fs.open(&CX, &file, OpenMode::Write).unwrap();
    let written = opened.write_at(&CX, 0, &[1; 1 << 20], Stability::Unstable).unwrap();
    assert!(written.count < 1 << 20);
    let more = opened.write_at(&CX, written.count as u64, &[1; 4096], Stability::Unstable);
    assert!(matches!(more, Err(Error::NoSpace)), "{more:?}");
    assert_eq!(fs.space(&CX, &file).unwrap().available_bytes, 0);
    drop((opened, fs));
    rustix::mount::unmount(export.path(), rustix::mount::UnmountFlags::DETACH).unwrap();
}

#[test]
fn read_across_the_largest_offset_returns_the_bytes_before_it() {
    const LIMIT: u64 = i64::MAX as u64;
    let export = Export::in_memory();
    let fs = export.open(HandleForm::Store);
    let made = touch(&fs, "f");
    let set = SetAttributes { size_bytes: Some(LIMIT), ..SetAttributes::default() };
    fs.set_attributes(&CX, &made.handle, &set).unwrap();
    let file = fs.open(&CX, &made.handle, OpenMode::Write).unwrap();
    file.write_at(&CX, LIMIT - 3, b"end", Stability::Unstable).unwrap();
    let mut into = [9; 4096];
    assert_eq!(file.read_at(&CX, LIMIT - 3, &mut into).unwrap(), 3);
    assert_eq!(into[..4], *b"end\t");
    for offset in [LIMIT, LIMIT + 1, u64::MAX] {
        assert_eq!(file.read_at(&CX, offset, &mut into).unwrap(), 0);
    }
}
