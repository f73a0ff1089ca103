//! Real file systems on disks that record every write: the power fails at any of them, and what clients were told is
//! there afterwards.
//!
//! Each seed is a run of several lives of one machine. `WHARF_CUTS=2000` sets how many power failures there are at
//! least in each test, `WHARF_SEED` the first run; `cargo xtask explore` runs all with more. Threads decide what a run
//! records, so that a seed alone does not repeat it. Everything is mounted in a namespace of its own. Where there is no
//! root, /dev/fuse or mkfs, tests say that they are skipped. Tests of what is not promised are ignored.
//!
//! A program of its own: a disk that hangs keeps the process from ending, and `watchdog.rs` frees it when the process
//! dies.
#![allow(clippy::unwrap_used, reason = "this is test code, some of it outside of test functions")]

mod bay;
mod block;
mod client;
mod image;
mod machine;
mod plain;
mod recording;
mod run;
mod sweep;
mod system;
mod watchdog;

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use block::Workshop;
use fs_host::{HostFs, HostOptions};
use image::Image;
use machine::{Failure, Machine};
use recording::Event;
use run::Seen;
use system::{Breaks, DISK, Log, Setup};
use vfs::{Context, FileSystem};

const EXT4: Setup = Setup {
    kind: "ext4",
    mkfs: &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    mount: "",
    is_overlay: false,
    has_journal: true,
    disk_bytes: 64 << 20,
    superblock: (1024, 2048),
    log_bytes: 1 << 20,
    large_write_bytes: 64 << 10,
    log: Log::Disk,
    keeps_state_apart: false,
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

const EXT4_WITHOUT_JOURNAL: Setup =
    Setup { mkfs: &["-q", "-F", "-E", "lazy_itable_init=0", "-O", "^has_journal"], has_journal: false, ..EXT4 };

const EXT4_FAST_COMMIT: Setup = Setup {
    mkfs: &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-O", "fast_commit"],
    keeps_state_apart: true,
    ..EXT4
};

const EXT2: Setup = Setup { kind: "ext2", mkfs: &["-q", "-F"], has_journal: false, ..EXT4 };

const OVERLAY: Setup = Setup { is_overlay: true, ..EXT4 };

const fn without_log(setup: Setup) -> Setup {
    Setup { log: Log::None, ..setup }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

const CUTS_OF_A_LIFE: u32 = 8;

/// About how many requests a disk gets.
const MANY_REQUESTS: u64 = 100;

/// Prints what a test has seen, also when it fails: `cargo xtask explore` makes a table of these lines.
struct Explored<'t> {
    name: &'t str,
    seed: u64,
    seen: Seen,
}

impl Drop for Explored<'_> {
    fn drop(&mut self) {
        let (name, seed, Seen { cuts, changes, replays, .. }) = (self.name, self.seed, self.seen);
        let failures = u8::from(std::thread::panicking());
        println!("explored {name} cuts={cuts} changes={changes} replays={replays} failures={failures} seed={seed}");
        println!("{:?}", self.seen);
    }
}

fn cut_power(name: &str, setup: &Setup) {
    let Some(workshop) = Workshop::new() else { return };
    let cuts = number("WHARF_CUTS", 24);
    let mut explored = Explored { name, seed: number("WHARF_SEED", 0), seen: Seen::default() };
    while explored.seen.cuts < cuts {
        let seed = explored.seed;
        let log_bytes = [256 << 10, 1 << 20, 4 << 20][seed as usize % 3];
        let is_in_a_file = setup.log == Log::Disk && !setup.log_may_fail() && !seed.is_multiple_of(2);
        let log = if is_in_a_file { Log::File } else { setup.log };
        let large_write_bytes = [64 << 10, 5000][(seed / 2 % 2) as usize];
        let setup = Setup { log, log_bytes, large_write_bytes, ..*setup };
        if !run::run(&workshop, &setup, (seed, CUTS_OF_A_LIFE), &mut explored.seen) {
            return;
        }
        explored.seed += 1;
    }
}

#[test]
fn flush_of_a_file_system_is_in_the_recording_behind_what_it_flushes() {
    let Some(workshop) = Workshop::new() else { return };
    let machine = Machine::new(vec![(64 << 20, Image::default(), 0..0)], true);
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
    let machine = Machine::new(vec![(XFS.disk_bytes, Image::default(), 0..0)], true);
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

/// No flush says that lost changes are stored, also where the kernel has told the failure to an earlier one.
fn flush_after_a_failure(setup: &Setup) {
    let Some(workshop) = Workshop::new() else { return };
    let machine = Machine::new(vec![(setup.disk_bytes, Image::default(), 0..0)], true);
    if !workshop.format(&machine, 0, (setup.kind, setup.mkfs)) {
        return;
    }
    let mounted = workshop.mount(&machine, 0, (setup.kind, setup.mount));
    let fs = HostFs::open(&mounted.dir, HostOptions { sync_metadata: false, ..HostOptions::default() }).unwrap();
    fs.sync_all(&Context::ROOT).unwrap();
    std::fs::create_dir(mounted.dir.join("lost")).unwrap();
    machine.fail(vec![Failure { disk: DISK, after: 0, times: u64::MAX }]);
    for flush in 1..=3 {
        assert!(fs.sync_all(&Context::ROOT).is_err(), "{}, flush {flush}", setup.kind);
    }
    machine.fail(Vec::new());
    assert!(fs.sync_all(&Context::ROOT).is_err(), "{}, after the repair of the disk", setup.kind);
}

#[test]
fn changes_that_ext4_has_lost_are_never_flushed() {
    flush_after_a_failure(&EXT4);
}

#[test]
fn changes_that_xfs_has_lost_are_never_flushed() {
    flush_after_a_failure(&XFS);
}

#[test]
fn changes_that_btrfs_has_lost_are_never_flushed() {
    flush_after_a_failure(&BTRFS);
}

/// Whether a page of this byte was written, and a flush followed.
fn is_flushed(events: &[Event], byte: u8) -> bool {
    let is_page = |event: &Event| matches!(event, Event::Write { data, .. } if data[..] == [byte; 4096]);
    let written = events.iter().position(is_page).unwrap();
    events[written..].iter().any(|event| matches!(event, Event::Flush { .. }))
}

/// The kernel alone, in `WHARF_CUTS / 20` runs.
fn flush_alone(setup: &Setup) {
    let Some(workshop) = Workshop::new() else { return };
    let (seed, runs) = (number("WHARF_SEED", 0), number("WHARF_CUTS", 0) / 20 + 1);
    let losses: Vec<String> =
        (seed..seed + runs).filter_map(|seed| plain::find_loss(&workshop, &without_log(*setup), seed)).collect();
    assert!(losses.is_empty(), "{} of {runs} runs: {}", losses.len(), losses[0]);
}

#[test]
fn fsync_alone_keeps_files_on_ext4() {
    flush_alone(&EXT4);
}

#[test]
fn fsync_alone_keeps_files_on_xfs() {
    flush_alone(&XFS);
}

#[test]
fn fsync_alone_keeps_files_on_btrfs() {
    flush_alone(&BTRFS);
}

#[test]
#[ignore = "Linux 6.18 loses what several programs have flushed by fast commits"]
fn fsync_alone_keeps_files_on_ext4_with_fast_commits() {
    flush_alone(&EXT4_FAST_COMMIT);
}

/// Each request of the disk fails in turn, or about so many of them as there are power failures in other tests.
fn fail_each_request(name: &str, setup: &Setup) {
    let Some(workshop) = Workshop::new() else { return };
    let Some(new) = setup.new_machine(&workshop) else { return };
    new.begin();
    let (most, seed) = (number("WHARF_CUTS", 8), number("WHARF_SEED", 0));
    let step = (MANY_REQUESTS / most).max(1);
    let mut explored = Explored { name: &format!("each_request_of_{name}"), seed, seen: Seen::default() };
    for times in [1, u64::MAX] {
        let failing = |after| (Failure { disk: DISK, after, times }, seed);
        let cases = (seed % step..).step_by(step as usize);
        let failed = cases.take_while(|after| sweep::run(&workshop, setup, &new, failing(*after), &mut explored.seen));
        let which = if times == 1 { "alone" } else { "with all that follow" };
        println!("{name}: {} requests failed, each {which}", failed.count());
    }
}

macro_rules! sweep {
    ($($name:ident: $setup:expr;)*) => {
        mod stable_data_are_there_whichever_request_of_the_disk_fails_on {
            use super::*;
            $(#[test]
            fn $name() {
                fail_each_request(stringify!($name), &$setup);
            })*
        }
    };
}

sweep! {
    ext4: without_log(EXT4);
    ext4_with_a_log: EXT4;
    xfs: without_log(XFS);
    xfs_with_a_log: XFS;
    btrfs: without_log(BTRFS);
    btrfs_with_a_log: BTRFS;
}

/// A test of each setup.
macro_rules! cut {
    ($($(#[$ignored:meta])? $name:ident: $setup:expr;)*) => {
        mod acknowledged_changes_are_there_after_a_power_failure_on {
            use super::*;
            $(#[test]
            $(#[$ignored])?
            fn $name() {
                cut_power(stringify!($name), &$setup);
            })*
        }
    };
}

cut! {
    ext4: without_log(EXT4);
    ext4_with_a_log: EXT4;
    ext4_with_a_log_that_fails: Setup { breaks: Breaks::Log, ..EXT4 };
    ext4_that_fails_with_a_log: Setup { breaks: Breaks::Disk, ..EXT4 };
    ext4_that_fails_with_a_log_that_fails: Setup { breaks: Breaks::Both, ..EXT4 };
    ext4_that_fails: Setup { breaks: Breaks::Disk, ..without_log(EXT4) };
    xfs_that_fails: Setup { breaks: Breaks::Disk, ..without_log(XFS) };
    btrfs_that_fails: Setup { breaks: Breaks::Disk, ..without_log(BTRFS) };
    btrfs_that_fails_with_a_log: Setup { breaks: Breaks::Disk, ..BTRFS };
    full_ext4: Setup { is_full: true, ..without_log(EXT4) };
    full_ext4_with_a_log: Setup { is_full: true, ..EXT4 };
    ext4_fast_commit: without_log(EXT4_FAST_COMMIT);
    ext4_fast_commit_with_a_log: EXT4_FAST_COMMIT;
    ext4_without_a_journal: without_log(EXT4_WITHOUT_JOURNAL);
    #[ignore = "nothing is promised for a log in front of a file system without a journal"]
    ext4_without_a_journal_with_a_log: EXT4_WITHOUT_JOURNAL;
    ext2: without_log(EXT2);
    #[ignore = "nothing is promised for a log in front of a file system without a journal"]
    ext2_with_a_log: EXT2;
    xfs: without_log(XFS);
    xfs_with_a_log: XFS;
    xfs_with_a_log_that_fails: Setup { breaks: Breaks::Log, ..XFS };
    xfs_that_fails_with_a_log: Setup { breaks: Breaks::Disk, ..XFS };
    xfs_that_fails_with_a_log_that_fails: Setup { breaks: Breaks::Both, ..XFS };
    full_xfs: Setup { is_full: true, ..without_log(XFS) };
    full_xfs_with_a_log: Setup { is_full: true, ..XFS };
    btrfs: without_log(BTRFS);
    btrfs_with_a_log: BTRFS;
    overlay: without_log(OVERLAY);
    #[ignore = "nothing is promised for a log in front of an overlay"]
    overlay_with_a_log: OVERLAY;
}
