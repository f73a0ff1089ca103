//! Real file systems on disks that record every write: the power fails at any of them, and what clients were told is
//! there afterwards.
//!
//! Each seed is a run of several lives of one machine. `WHARF_CUTS=2000` sets how many power failures there are at
//! least in each test, `WHARF_SEED` the first run. Threads decide what a run records, so that a seed alone does not
//! repeat it. Everything is mounted in a namespace of its own. Where there is no root, /dev/fuse or mkfs, tests say
//! that they are skipped.
//!
//! A program of its own: a disk that hangs keeps the process from ending, and `watchdog.rs` frees it when the process
//! dies.
#![allow(clippy::unwrap_used, reason = "this is test code, some of it outside of test functions")]

mod bay;
mod block;
mod client;
mod image;
mod machine;
mod recording;
mod run;
mod system;
mod watchdog;

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use block::Workshop;
use fs_host::{HostFs, HostOptions};
use image::Image;
use machine::Machine;
use recording::Event;
use run::Seen;
use system::{Breaks, Setup};
use vfs::{Context, FileSystem};

const EXT4: Setup = Setup {
    kind: "ext4",
    mkfs: &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    mount: "",
    disk_bytes: 64 << 20,
    superblock: (1024, 2048),
    log_bytes: 1 << 20,
    large_write_bytes: 64 << 10,
    has_log_disk: true,
    breaks: Breaks::Nothing,
    is_full: false,
};

const XFS: Setup =
    Setup { kind: "xfs", mkfs: &["-q", "-f"], mount: "nouuid", disk_bytes: 300 << 20, superblock: (0, 0), ..EXT4 };

const BTRFS: Setup = Setup {
    kind: "btrfs",
    mkfs: &["-q", "-f"],
    mount: "",
    disk_bytes: 256 << 20,
    superblock: (64 << 10, 68 << 10),
    ..EXT4
};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

const CUTS_OF_A_LIFE: u32 = 8;

fn cut_power(setup: &Setup) {
    let Some(workshop) = Workshop::new() else { return };
    let (mut seed, cuts) = (number("WHARF_SEED", 0), number("WHARF_CUTS", 24));
    let mut seen = Seen::default();
    let start = std::time::Instant::now();
    while seen.cuts < cuts {
        let log_bytes = [256 << 10, 1 << 20, 4 << 20][seed as usize % 3];
        let has_log_disk = setup.log_may_fail() || seed.is_multiple_of(2);
        let large_write_bytes = [64 << 10, 5000][(seed / 2 % 2) as usize];
        let setup = Setup { has_log_disk, log_bytes, large_write_bytes, ..*setup };
        if !run::run(&workshop, &setup, (seed, CUTS_OF_A_LIFE), &mut seen) {
            return;
        }
        seed += 1;
    }
    println!("{}: {seen:?} {:?}", setup.kind, start.elapsed());
}

#[test]
fn what_clients_were_told_is_there_after_a_power_failure_on_ext4() {
    cut_power(&EXT4);
}

#[test]
fn what_clients_were_told_is_there_after_a_power_failure_on_xfs() {
    cut_power(&XFS);
}

#[test]
fn what_clients_were_told_is_there_after_a_power_failure_on_btrfs() {
    cut_power(&BTRFS);
}

#[test]
fn flush_of_a_file_system_is_in_the_recording_behind_what_it_flushes() {
    let Some(workshop) = Workshop::new() else { return };
    let machine = Machine::new(vec![(64 << 20, Image::default())], 0..0);
    if !workshop.format(&machine, 0, ("ext4", &["-q", "-F"])) {
        return;
    }
    let mounted = workshop.mount(&machine, 0, ("ext4", ""));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).custom_flags(libc::O_DSYNC);
    let mut file = options.open(mounted.dir.join("file")).unwrap();
    machine.begin();
    file.write_all(&[0x5a; 4096]).unwrap();
    assert!(is_flushed(&machine.recording().events, 0x5a));
}

#[test]
fn flush_of_xfs_reaches_data_that_were_written_after_its_journal() {
    let Some(workshop) = Workshop::new() else { return };
    let machine = Machine::new(vec![(XFS.disk_bytes, Image::default())], 0..0);
    if !workshop.format(&machine, 0, (XFS.kind, XFS.mkfs)) {
        return;
    }
    let mounted = workshop.mount(&machine, 0, (XFS.kind, XFS.mount));
    let fs = HostFs::open(&mounted.dir, HostOptions { sync_metadata: false, ..HostOptions::default() }).unwrap();
    let file = mounted.dir.join("file");
    std::fs::write(&file, [1; 4096]).unwrap();
    let flush = || fs.sync_all(&Context::ROOT).unwrap();
    flush();
    machine.begin();
    std::fs::File::options().write(true).open(&file).unwrap().write_all(&[0x5a; 4096]).unwrap();
    // That writes the journal, with the file's new time and without its data.
    std::fs::write(mounted.dir.join("another"), "").unwrap();
    std::fs::File::open(&mounted.dir).unwrap().sync_all().unwrap();
    flush();
    assert!(is_flushed(&machine.recording().events, 0x5a));
}

/// Whether a page of this byte was written, and a flush followed.
fn is_flushed(events: &[Event], byte: u8) -> bool {
    let is_page = |event: &Event| matches!(event, Event::Write { data, .. } if data[..] == [byte; 4096]);
    let written = events.iter().position(is_page).unwrap();
    events[written..].iter().any(|event| matches!(event, Event::Flush { .. }))
}

#[test]
fn what_clients_were_told_is_there_though_the_log_failed() {
    cut_power(&Setup { breaks: Breaks::Log, ..EXT4 });
    cut_power(&Setup { breaks: Breaks::Log, ..XFS });
}

#[test]
fn what_clients_were_told_is_there_though_the_disk_failed() {
    cut_power(&Setup { breaks: Breaks::Disk, ..EXT4 });
    cut_power(&Setup { breaks: Breaks::Disk, ..XFS });
}

#[test]
fn what_clients_were_told_is_there_though_log_and_disk_failed() {
    cut_power(&Setup { breaks: Breaks::Both, ..EXT4 });
    cut_power(&Setup { breaks: Breaks::Both, ..XFS });
}

#[test]
fn what_clients_were_told_is_there_though_the_file_system_is_full() {
    cut_power(&Setup { is_full: true, ..EXT4 });
    cut_power(&Setup { is_full: true, ..XFS });
}
