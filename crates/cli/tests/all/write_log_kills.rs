//! Servers with a write log that are killed while libnfs copies files to them: what was acknowledged is there, byte by
//! byte.
//!
//! `WHARF_KILLS=100` sets how often.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use testing::Scratch;
use testing::program::Server;

/// How often the server is killed, if nobody says.
const KILLS: usize = 4;
/// How many programs copy at a time.
const WRITERS: usize = 3;
const LONGEST_FILE: usize = 100_000;
/// How long a round waits for its first file on a very busy machine.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

fn rounds() -> usize {
    std::env::var("WHARF_KILLS").map_or(KILLS, |text| text.parse().unwrap())
}

/// What the writers of one round share.
struct Round {
    number: usize,
    stops: AtomicBool,
    copied: AtomicUsize,
}

impl Round {
    /// Waits until a file is copied, and then for another moment, so that the kill comes at any point of a copy.
    fn wait(&self) {
        let waits = Instant::now();
        while self.copied.load(Ordering::Relaxed) == 0 && waits.elapsed() < LONGEST_WAIT {
            thread::sleep(Duration::from_millis(2));
        }
        thread::sleep(Duration::from_millis(37 * (self.number as u64 % 13)));
    }
}

struct Site {
    scratch: Scratch,
    export: PathBuf,
}

impl Site {
    fn serve(&self, port: u16) -> Server {
        let (log, state) = (self.scratch.path("log"), self.scratch.path("state"));
        let listen = format!("127.0.0.1:{port}");
        let arguments = [
            "--listen",
            &listen,
            "--no-root-squash",
            "--write-log",
            log.to_str().unwrap(),
            "--write-log-size",
            "4M",
            "--state-dir",
            state.to_str().unwrap(),
            self.export.to_str().unwrap(),
        ];
        Server::with_addresses(1, &arguments)
    }

    /// Starts to copy a file to the server.
    fn copy(&self, port: u16, (source, name): (&Path, &str), version: u8) -> Child {
        let to = format!(
            "nfs://127.0.0.1{}/{name}?nfsport={port}&mountport={port}&version={version}",
            self.export.display()
        );
        let mut command = Command::new("nfs-cp");
        command.arg(source).arg(to).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Copies one file after the other until it is told to stop; the names of those that were copied whole.
    fn write(&self, port: u16, round: &Round, writer: usize) -> Vec<String> {
        let mut copied = Vec::new();
        for number in 0.. {
            let name = format!("{}-{writer}-{number}", round.number);
            let source = self.scratch.path(&format!("source-{writer}"));
            fs::write(&source, content(&name)).unwrap();
            let mut child = self.copy(port, (&source, &name), if writer == 0 { 4 } else { 3 });
            while child.try_wait().unwrap().is_none() {
                if round.stops.load(Ordering::Relaxed) {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    return copied;
                }
                thread::sleep(Duration::from_millis(2));
            }
            if !child.wait().unwrap().success() {
                return copied;
            }
            copied.push(name);
            round.copied.fetch_add(1, Ordering::Relaxed);
        }
        copied
    }
}

impl Site {
    fn check(&self, copied: &[String]) {
        for name in copied {
            let found = fs::read(self.export.join(name)).unwrap();
            assert!(found == content(name), "{name}: {} bytes, not {}", found.len(), content(name).len());
        }
    }
}

/// What the file of this name holds.
fn content(name: &str) -> Vec<u8> {
    let seed = name.bytes().fold(7_usize, |sum, byte| sum * 31 % 1_000_003 + usize::from(byte));
    (0..seed % LONGEST_FILE).map(|at| ((at * seed) >> 5) as u8).collect()
}

#[test]
fn what_libnfs_was_told_is_there_after_every_kill() {
    if Command::new("nfs-cp").output().is_err() {
        println!("skipped: nfs-cp cannot be run; install libnfs-utils");
        return;
    }
    let scratch = Scratch::on_disk();
    let site = Site { export: scratch.dir("export"), scratch };
    let mut server = site.serve(0);
    let port = server.port();
    let mut copied: Vec<String> = Vec::new();
    for round in 0..rounds() {
        let before = copied.len();
        let round = Round { number: round, stops: AtomicBool::new(false), copied: AtomicUsize::new(0) };
        thread::scope(|scope| {
            let start = |writer| {
                scope.spawn({
                    let (site, round) = (&site, &round);
                    move || site.write(port, round, writer)
                })
            };
            let writers: Vec<_> = (0..WRITERS).map(start).collect();
            round.wait();
            server.signal(Signal::KILL);
            server.wait();
            round.stops.store(true, Ordering::Relaxed);
            copied.extend(writers.into_iter().flat_map(|writer| writer.join().unwrap()));
        });
        server = site.serve(port);
        site.check(&copied[before..]);
    }
    site.check(&copied);
    println!("{} files after {} kills", copied.len(), rounds());
    assert!(!copied.is_empty());
}
