//! Every answer about names and attributes is one that could be true while the question was in flight, whatever local
//! processes do meanwhile.
//!
//! Threads change names and files of an export, as local processes do. Clients of NFSv3 and a local process look at
//! them all the time, and every answer is checked (`oracle.rs`). `WHARF_TRUTH_ANSWERS` is the number of answers of each
//! run, `WHARF_TRUTH_DIR` another directory to export, and `WHARF_TRUTH_SEED` the seed.

mod changes;
mod clients;
mod oracle;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use daemon::{Daemon, Options, export_to_this_machine};
use fs_host::{HandleForm, HostFs, HostOptions};
use server::Squash;

use crate::raw::Wire;
use changes::Writer;
use clients::{Client, look};
use oracle::Oracle;

const EXPORT: &str = "/files";
const DIRS: usize = 4;
/// The names that each directory may have.
const NAMES: usize = 24;
const WRITERS: usize = 2;
const CLIENTS: usize = 3;

/// How many answers are checked unless the environment says more.
const ANSWERS: u64 = 20_000;

/// A server of a directory, and a directory beside it on the same file system.
struct Site {
    base: PathBuf,
    daemon: Daemon,
}

impl Site {
    fn start(place: &Path, form: HandleForm) -> Site {
        let base = place.join(format!("wharf-truth-{}-{form:?}", std::process::id()));
        std::fs::create_dir_all(base.join("outside")).unwrap();
        (0..DIRS).for_each(|dir| std::fs::create_dir_all(base.join(format!("export/dir{dir}"))).unwrap());
        let options = Options { listen: vec!["127.0.0.1:0".parse().unwrap()], loops: 2, ..Options::default() };
        let host_options = HostOptions {
            handle_form: form,
            state_dir: Some(base.join("state")),
            workers: options.workers(),
            ..HostOptions::default()
        };
        let files = HostFs::open(&base.join("export"), host_options).unwrap();
        let mut export = export_to_this_machine(EXPORT, Arc::new(files));
        export.rules.iter_mut().for_each(|rule| rule.options.squash = Squash::None);
        let daemon = Daemon::start(options, vec![export]).unwrap();
        Site { base, daemon }
    }

    fn connect(&self) -> Wire {
        Wire::connect(self.daemon.addresses()[0])
    }

    fn path(&self, name: usize) -> PathBuf {
        self.base.join(format!("export/dir{}", name / NAMES)).join(name_of(name % NAMES))
    }

    fn outside(&self) -> PathBuf {
        self.base.join("outside")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.daemon.shutdown(Duration::ZERO);
        self.daemon.wait();
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

/// The number of a name in a directory.
fn number(dir: usize, name: usize) -> usize {
    dir * NAMES + name
}

fn name_of(name: usize) -> String {
    format!("name{name}")
}

/// Numbers from a seed (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn new(seed: u64, stream: u64) -> Random {
        Random((seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % bound
    }
}

fn setting<T: FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn run(place: &Path, form: HandleForm) {
    let seed = setting("WHARF_TRUTH_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let wanted = setting("WHARF_TRUTH_ANSWERS").unwrap_or(ANSWERS);
    println!("{} with handles of {form:?}, seed {seed}", place.display());
    let site = &Site::start(place, form);
    let oracle = &Oracle::new(DIRS * NAMES);
    let is_over = &AtomicBool::new(false);
    let is_done = || is_over.load(Ordering::Relaxed) || oracle.answers.load(Ordering::Relaxed) >= wanted;
    thread::scope(|scope| {
        for own in 0..WRITERS {
            scope.spawn(move || until_over(is_over, || Writer::new(site, oracle, own, seed).run(is_done)));
        }
        for index in 0..CLIENTS as u64 {
            scope.spawn(move || until_over(is_over, || Client::new(site, oracle, seed, index).run(is_done)));
        }
        let mut random = Random::new(seed, 2000);
        until_over(is_over, || {
            while !is_done() {
                (0..10).for_each(|_| look(site, oracle, random.below((DIRS * NAMES) as u64) as usize));
                thread::yield_now();
            }
        });
    });
    println!("{} answers were true", oracle.answers.load(Ordering::Relaxed));
}

/// Ends all threads when one fails.
fn until_over(is_over: &AtomicBool, work: impl FnOnce()) {
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let _end = End(is_over);
    work();
}

fn places() -> Vec<PathBuf> {
    match setting("WHARF_TRUTH_DIR") {
        Some(dir) => vec![dir],
        None => vec![std::env::temp_dir(), PathBuf::from("/dev/shm")],
    }
}

#[test]
fn every_answer_could_be_true_with_handles_of_the_kernel() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: the kernel's handles need root");
        return;
    }
    places().iter().for_each(|place| run(place, HandleForm::Kernel));
}

#[test]
fn every_answer_could_be_true_with_handles_of_the_store() {
    places().iter().for_each(|place| run(place, HandleForm::Store));
}
