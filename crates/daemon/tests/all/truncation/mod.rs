//! Files that are cut while replies with their bytes are on the way to a client that is slow to take them.
//!
//! Replies are sent from the file itself here, and their lengths are announced before. What is gone by the time that it
//! would be sent is made up for with zeros, as a READ that the cut overtakes may see (the bytes of a file that is cut
//! and grows again are zeros); the connection stays in step.

mod v3;
mod v41;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon::{Daemon, Options, export_to_this_machine};
use fs_host::{HandleForm, HostFs, HostOptions};
use server::Squash;

use crate::raw::{PATIENCE, Wire};

/// How long the file is, and what is left of it.
const SIZE: usize = 8 << 20;
const LEFT: usize = 100_001;

/// The bytes of one READ, and how many are asked for: far more than sockets hold.
const READ_BYTES: usize = 512 << 10;
const READS: usize = 64;

/// A server of a directory in memory with one file.
struct Site {
    base: PathBuf,
    daemon: Daemon,
}

impl Site {
    /// `None` where there is no tmpfs.
    fn start(name: &str) -> Option<Site> {
        if !std::fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
            println!("skipped: /dev/shm is no tmpfs here");
            return None;
        }
        let base = Path::new("/dev/shm").join(format!("wharf-truncation-{}-{name}", std::process::id()));
        std::fs::create_dir_all(base.join("export")).unwrap();
        std::fs::write(base.join("export/file"), pattern()).unwrap();
        let options = Options { listen: vec!["127.0.0.1:0".parse().unwrap()], loops: 1, ..Options::default() };
        let host_options = HostOptions {
            handle_form: HandleForm::Store,
            state_dir: Some(base.join("state")),
            workers: options.workers(),
            ..HostOptions::default()
        };
        let files = HostFs::open(&base.join("export"), host_options).unwrap();
        let mut export = export_to_this_machine("/files", Arc::new(files));
        export.rules.iter_mut().for_each(|rule| rule.options.squash = Squash::None);
        let daemon = Daemon::start(options, vec![export]).unwrap();
        Some(Site { base, daemon })
    }

    fn connect(&self) -> Wire {
        Wire::connect(self.daemon.addresses()[0])
    }

    /// Cuts the file as soon as the server has begun to send from it and then sends no more, since nobody reads.
    fn cut_when_stuck(&self) {
        let began = Instant::now();
        let mut sent = 0;
        loop {
            std::thread::sleep(Duration::from_millis(50));
            let now = self.daemon.net_counters().sendfile_bytes;
            if now > 0 && now == sent {
                break;
            }
            sent = now;
            assert!(began.elapsed() < PATIENCE, "the server does not get stuck: {sent} bytes were sent");
        }
        OpenOptions::new().write(true).open(self.base.join("export/file")).unwrap().set_len(LEFT as u64).unwrap();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.daemon.shutdown(Duration::ZERO);
        self.daemon.wait();
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

/// The file's bytes, of which none is zero.
fn pattern() -> Vec<u8> {
    (0..SIZE).map(|index| ((index ^ (index >> 9)) % 255) as u8 + 1).collect()
}

/// Where the READ of this number begins.
fn offset_of(number: usize) -> usize {
    number % (SIZE / READ_BYTES) * READ_BYTES
}

/// What a reply told of a READ.
struct Told<'a> {
    data: &'a [u8],
    eof: bool,
}

/// Checks a reply: whole, or short at the end that the file has after the cut; and of bytes that the file had, or zeros
/// from a place behind that end on.
fn check(number: usize, told: &Told<'_>, original: &[u8]) {
    let offset = offset_of(number);
    let left = LEFT.saturating_sub(offset);
    match told.data.len() {
        READ_BYTES => {}
        short => assert!(short == left.min(READ_BYTES) && told.eof, "READ {number} has {short} bytes"),
    }
    for (index, &byte) in told.data.iter().enumerate() {
        let place = offset + index;
        let is_as_it_was = byte == original[place];
        assert!(is_as_it_was || byte == 0 && place >= LEFT, "READ {number}: byte {place} is {byte}");
    }
}
