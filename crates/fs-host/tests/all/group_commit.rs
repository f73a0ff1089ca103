//! Callers that share flushes get what they would get alone: what was acknowledged is on stable storage.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use vfs::{CreateMode, Error, FileSystem, NewNode, OpenMode, Result, SetAttributes, Stability};
use wharf_fs_host::{FlushCounters, FlushCounts, HandleForm, HostFs, HostOptions};

use testing::host_export::*;

const THREADS: usize = 8;

/// How many changes are acknowledged before the crash.
const ACKNOWLEDGED: usize = 400;

fn grouped(export: &Export, group_commit: bool) -> (HostFs, Arc<FlushCounters>) {
    let counters = Arc::default();
    let flush_counters = Arc::clone(&counters);
    let options = HostOptions { group_commit, flush_counters, ..export.options(HandleForm::Auto) };
    (HostFs::open(&export.path(), options).unwrap(), counters)
}

/// What a file is after a change that was acknowledged: its owner and its bytes, or that it is gone.
type Known = Option<(u32, Vec<u8>)>;

/// A client that changes files until a change fails.
struct Client<'f> {
    fs: &'f HostFs,
    number: usize,
    acknowledged: &'f AtomicUsize,
    is_crashing: &'f AtomicBool,
    known: HashMap<String, Known>,
    /// The names of the change that failed, or may have.
    in_doubt: Vec<String>,
}

impl Client<'_> {
    fn run(mut self) -> (HashMap<String, Known>, Vec<String>) {
        let mut round = 0;
        while self.round(round).is_ok() {
            round += 1;
        }
        (self.known, self.in_doubt)
    }

    fn round(&mut self, round: usize) -> Result<()> {
        let name = format!("{}-{round}", self.number);
        let uid = if round.is_multiple_of(3) { Some(1000) } else { None };
        let root = self.fs.root();
        let entry = self.change(&[&name], Some((uid.unwrap_or(0), Vec::new())), |fs| {
            let set = SetAttributes { uid, ..mode(0o600) };
            fs.create(&CX, at(&root, &name), CreateMode::Guarded, &set)
        })?;
        let bytes = name.clone().into_bytes();
        self.change(&[&name], Some((uid.unwrap_or(0), bytes.clone())), |fs| {
            let file = fs.open(&CX, &entry.handle, OpenMode::Write)?;
            let is_direct = round.is_multiple_of(2);
            let stability = if is_direct { Stability::File } else { Stability::Unstable };
            file.write_at(&CX, 0, name.as_bytes(), stability)?;
            if is_direct { Ok(()) } else { file.sync(&CX) }
        })?;
        match round % 4 {
            0 => self.change(&[&name], None, |fs| fs.remove(&CX, at(&root, &name))),
            1 => {
                let moved = format!("moved-{name}");
                let known = Some((uid.unwrap_or(0), bytes));
                self.change(&[&moved, &name], known, |fs| fs.rename(&CX, at(&root, &name), at(&root, &moved)))
            }
            2 => {
                let dir = format!("dir-{name}");
                let made = |fs: &HostFs| fs.make_node(&CX, at(&root, &dir), NewNode::Directory, &mode(0o700));
                self.change(&[&dir], Some((0, Vec::new())), made).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Makes a change of the first of `names`; the others are gone by it.
    fn change<T>(&mut self, names: &[&str], known: Known, change: impl FnOnce(&HostFs) -> Result<T>) -> Result<T> {
        self.in_doubt = names.iter().map(|&name| name.to_owned()).collect();
        let done = change(self.fs)?;
        // What ends during the crash may be told anything: a real crash ends the server too.
        if self.is_crashing.load(Ordering::SeqCst) {
            return Err(Error::Stale);
        }
        self.in_doubt.clear();
        self.known.insert(names[0].to_owned(), known);
        self.known.extend(names[1..].iter().map(|&gone| (gone.to_owned(), None)));
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        Ok(done)
    }
}

/// A file system in a file, mounted on the exported directory.
struct Disk {
    export: Export,
    image: PathBuf,
}

fn succeeds(program: &str, arguments: &[&Path]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

impl Disk {
    fn new(kind: &str) -> Option<Disk> {
        let export = Export::in_memory();
        let image = export.outside().join("image");
        std::fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
        let disk = Disk { export, image };
        let can_crash = succeeds("xfs_io", &["-V".as_ref()]);
        if can_crash && succeeds(&format!("mkfs.{kind}"), &[Path::new("-q"), &disk.image]) && disk.mount() {
            return Some(disk);
        }
        println!("skipped for {kind}: it takes root, mkfs.{kind}, loop devices and xfs_io");
        None
    }

    fn mount(&self) -> bool {
        succeeds("mount", &["-o".as_ref(), "loop".as_ref(), &self.image, &self.export.path()])
    }

    fn unmount(&self) -> bool {
        succeeds("umount", &[&self.export.path()])
    }

    /// Ends the file system as a power cut does: what is not on the disk or in its log is lost.
    fn crash(&self) {
        assert!(succeeds("xfs_io", &["-x".as_ref(), "-c".as_ref(), "shutdown".as_ref(), &self.export.path()]));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.unmount();
    }
}

/// Changes files from several threads until the crash, and says what was acknowledged and what is in doubt.
fn change_until_crash(disk: &Disk, group_commit: bool) -> (HashMap<String, Known>, Vec<String>) {
    let (fs, _) = grouped(&disk.export, group_commit);
    let (acknowledged, is_crashing) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let clients: Vec<_> = (0..THREADS)
            .map(|number| {
                let client = Client {
                    fs: &fs,
                    number,
                    acknowledged: &acknowledged,
                    is_crashing: &is_crashing,
                    known: HashMap::new(),
                    in_doubt: Vec::new(),
                };
                scope.spawn(|| client.run())
            })
            .collect();
        while acknowledged.load(Ordering::Relaxed) < ACKNOWLEDGED {
            thread::yield_now();
        }
        is_crashing.store(true, Ordering::SeqCst);
        disk.crash();
        let mut all = (HashMap::new(), Vec::new());
        for client in clients {
            let (known, in_doubt) = client.join().unwrap();
            all.0.extend(known);
            all.1.extend(in_doubt);
        }
        all
    })
}

#[test]
fn what_was_acknowledged_survives_a_crash() {
    // Btrfs cannot be shut down; the power cuts of crate `stable` reach it (`recorded_device`).
    for kind in ["ext4", "xfs"] {
        for group_commit in [true, false] {
            let Some(disk) = Disk::new(kind) else { continue };
            let (known, in_doubt) = change_until_crash(&disk, group_commit);
            assert!(disk.unmount() && disk.mount());
            for (name, known) in known.iter().filter(|(name, _)| !in_doubt.contains(name)) {
                let path = disk.export.path().join(name);
                let what = format!("{kind}, group_commit {group_commit}: {name}");
                let found = path.symlink_metadata().ok().map(|found| {
                    let data = if found.is_dir() { Ok(Vec::new()) } else { std::fs::read(&path) };
                    (found.uid(), data.unwrap_or_else(|error| panic!("{what}: {error}, {found:?}")))
                });
                assert_eq!(&found, known, "{what}");
            }
        }
    }
}

#[test]
fn each_change_waits_for_one_flush_where_a_flush_of_the_file_settles_its_name() {
    let Some(disk) = Disk::new("ext4") else { return };
    let (fs, counters) = grouped(&disk.export, true);
    let root = fs.root();
    let entry = touch(&fs, "f");
    let file = fs.open(&CX, &entry.handle, OpenMode::Write).unwrap();
    file.write_at(&CX, 0, b"data", Stability::File).unwrap();
    file.sync(&CX).unwrap();
    fs.create(&CX, at(&root, "g"), CreateMode::Exclusive([7; 8]), &mode(0o600)).unwrap();
    fs.remove(&CX, at(&root, "f")).unwrap();
    assert_eq!(counters.counts(), FlushCounts { calls: 5, flushes: 5, ..FlushCounts::default() });
}

#[test]
fn callers_at_the_same_time_each_get_their_own_changes_done() {
    for group_commit in [true, false] {
        let export = Export::on_disk();
        let (fs, counters) = grouped(&export, group_commit);
        let shared = touch(&fs, "shared").handle;
        let start = Barrier::new(THREADS);
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (fs, start, shared) = (&fs, &start, &shared);
                scope.spawn(move || {
                    start.wait();
                    for round in 0..10 {
                        let name = format!("{number}-{round}");
                        touch(fs, &name);
                        let file = fs.open(&CX, shared, OpenMode::Write).unwrap();
                        let place = (number * 10 + round) as u64;
                        file.write_at(&CX, place, b"x", Stability::Data).unwrap();
                        file.sync(&CX).unwrap();
                        if round % 2 == 0 {
                            fs.remove(&CX, at(&fs.root(), &name)).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(read(&fs, &shared), vec![b'x'; THREADS * 10]);
        assert_eq!(list_all(&fs, &fs.root()).len(), 1 + THREADS * 5);
        assert_eq!(counters.counts().calls, 1 + (THREADS * (30 + 5)) as u64, "each call waits once");
    }
}
