//! Each change over the wire, in each version, is there after a power failure right behind its reply: on each file
//! system, without and with a write log.
//!
//! A cut is a copy of the disk's image at that moment. `WHARF_CUTS=100`, or more, makes each change in all versions;
//! else they take turns.

use std::path::{Path, PathBuf};
use std::process::Command;

use client::{Mount, Options, RemoteFs, Version};
use vfs::Error;

use testing::disks::{DiskKind, LoopDisk, Mounted};
use testing::program::Server;
use testing::stable_changes::{CHANGES, prepare};

const VERSIONS: [Version; 4] = [Version::V2, Version::V3, Version::V4_0, Version::V4_2];

/// From so many cuts on, each version makes all changes.
const ALL_CUTS: u64 = 100;

/// Replays the log of one disk while it is mounted in the place of another: `wharf`, log, state directory, the disk and
/// the place.
const REPLAY: &str = r#"mount --bind "$4" "$5" && exec "$1" log replay "$2" --state-dir "$3""#;

/// The server's options for a log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    None,
    OnTheDisk,
}

struct Site {
    // First, so that it ends before the disk goes.
    server: Server,
    disk: LoopDisk,
    log: Log,
}

impl Site {
    fn new(kind: DiskKind, log: Log) -> Option<Site> {
        let mut disk = LoopDisk::new(kind)?;
        for version in VERSIONS {
            let export = export(disk.dir(), version);
            std::fs::create_dir(&export).unwrap();
            prepare(&export);
        }
        disk.remount();
        let paths = VERSIONS.map(|version| export(disk.dir(), version).to_str().unwrap().to_owned());
        let (state, log_path) = (text(disk.dir().join("state")), text(disk.dir().join("log")));
        let mut options = vec!["--no-root-squash", "--state-dir", &state];
        if log == Log::OnTheDisk {
            options.extend(["--write-log", &log_path, "--write-log-size", "4M", "--write-log-max-age", "60s"]);
        }
        options.extend(paths.iter().map(String::as_str));
        let server = Server::start(paths.len(), &options);
        Some(Site { server, disk, log })
    }

    fn mount(&self, runtime: &tokio::runtime::Runtime, version: Version) -> RemoteFs {
        let url = self.server.url(export(self.disk.dir(), version)).parse().unwrap();
        let options = Options { version, ..Options::default() };
        let mount = runtime.block_on(Mount::connect(&url, &options)).unwrap();
        RemoteFs::new(mount, runtime.handle().clone())
    }

    /// The disk as the next start finds it if the power fails now, with what that start replays.
    fn after_power_failure(&self) -> Mounted {
        let left = self.disk.after_power_failure();
        if self.log == Log::OnTheDisk {
            let (disk, wharf) = (self.disk.dir(), Path::new(env!("CARGO_BIN_EXE_wharf")));
            let mut replay = Command::new("unshare");
            replay.args(["--mount", "sh", "-c", REPLAY, "sh"]).args([wharf, &disk.join("log"), &disk.join("state")]);
            let output = replay.args([left.dir(), disk]).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        left
    }
}

fn text(path: PathBuf) -> String {
    path.to_str().unwrap().to_owned()
}

/// What is exported for a version.
fn export(disk: &Path, version: Version) -> PathBuf {
    disk.join(format!("version-{version}"))
}

/// Makes each change in the versions, and looks for it behind a power failure.
fn cut_power(name: &str, kind: DiskKind, log: Log) {
    let Some(site) = Site::new(kind, log) else { return };
    let cuts = std::env::var("WHARF_CUTS").map_or(0, |cuts| cuts.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (mut changes, mut lost) = (0, Vec::new());
    for (turn, version) in VERSIONS.into_iter().enumerate() {
        let fs = site.mount(&runtime, version);
        let is_due = |number: usize| cuts >= ALL_CUTS || number % VERSIONS.len() == turn;
        for (_, change) in CHANGES.iter().enumerate().filter(|(number, _)| is_due(*number)) {
            match (change.make)(&fs) {
                Err(Error::NotSupported | Error::Invalid) => continue,
                made => made.unwrap_or_else(|error| panic!("{} in {version} on {kind:?}: {error}", change.name)),
            }
            changes += 1;
            if !(change.is_there)(&export(site.after_power_failure().dir(), version)) {
                lost.push(format!("{} in {version}", change.name));
            }
        }
    }
    let replays = if log == Log::None { 0 } else { changes };
    println!(
        "explored each_change_on_{name} cuts={changes} changes={changes} replays={replays} failures={}",
        lost.len()
    );
    assert!(lost.is_empty(), "lost on {kind:?}: {lost:?}");
}

/// A test of each file system, without and with a log.
macro_rules! cut {
    ($($name:ident: $kind:expr, $log:expr;)*) => {
        mod change_is_there_after_a_power_failure_behind_its_reply_on {
            use super::*;
            $(#[test]
            fn $name() {
                cut_power(stringify!($name), $kind, $log);
            })*
        }
    };
}

cut! {
    ext4: DiskKind::EXT4, Log::None;
    ext4_with_a_log: DiskKind::EXT4, Log::OnTheDisk;
    ext4_fast_commit: DiskKind::EXT4_FAST_COMMIT, Log::None;
    ext4_fast_commit_with_a_log: DiskKind::EXT4_FAST_COMMIT, Log::OnTheDisk;
    ext4_without_a_journal: DiskKind::EXT4_WITHOUT_JOURNAL, Log::None;
    ext2: DiskKind::EXT2, Log::None;
    xfs: DiskKind::XFS, Log::None;
    xfs_with_a_log: DiskKind::XFS, Log::OnTheDisk;
    btrfs: DiskKind::BTRFS, Log::None;
    btrfs_with_a_log: DiskKind::BTRFS, Log::OnTheDisk;
}
