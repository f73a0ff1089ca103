//! Clients that change files until they are told to end: each below a directory of its own, and its part of a file that
//! all clients of its export write.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use vfs::{CreateMode, Error, FileKind, Name, OpenMode, Place, SetAttributes, Stability};

use crate::machine::Machine;
use crate::recording::Event;
use crate::system::{Breaks, Setup, System};
use testing::model::change::{CX, Change, Done, Limits};
use testing::model::{File, Model, Part};

/// The longest write, where writes begin last.
const PART_BYTES: usize = 170_000;

/// Of how many changes one has the log emptied before it.
const DRAINS: u32 = 60;

pub struct Client {
    pub number: usize,
    /// What there was when it began.
    pub before: Model,
    /// What it has asked for, and what it was told.
    pub history: Vec<Asked>,
    /// Whether a disk may fail.
    may_fail: bool,
    /// Whether what is not acknowledged may be there in part.
    may_be_partial: bool,
    /// Whether a name that moves may be at both places: others may flush the one where it comes to.
    may_have_two_names: bool,
    /// Whether handles are numbers of the server's.
    has_numbers: bool,
    /// Whether it was told of that. It asks for nothing more then.
    pub has_failed: bool,
    /// How often there was no room for what it asked for.
    pub no_space: u64,
    rng: Rng,
}

pub struct Asked {
    pub change: Change,
    /// `None` if it was refused.
    pub done: Option<Done>,
}

impl Client {
    pub fn new(number: usize, before: Model, setup: &Setup, rng: Rng) -> Client {
        Client {
            number,
            before,
            history: Vec::new(),
            may_fail: setup.breaks != Breaks::Nothing,
            may_be_partial: setup.may_be_partial(),
            may_have_two_names: setup.kind == "btrfs" && setup.may_be_partial(),
            has_numbers: setup.is_overlay,
            has_failed: false,
            no_space: 0,
            rng,
        }
    }

    /// Makes so many changes.
    pub fn run(&mut self, machine: &Machine, system: &System, (changes, limits): (u32, &Limits)) {
        let mut model = self.before.clone();
        for _ in 0..changes {
            if self.rng.u32(..DRAINS) == 0 {
                let drained = system.drain();
                assert!(drained.is_ok() || self.may_fail, "{drained:?}");
            }
            let change = Change::random(&model, limits, &mut self.rng);
            machine.note(Event::Begun { client: self.number });
            let done = change.make(system.fs(self.number));
            if let Err(Error::Io(_) | Error::ReadOnly) = done {
                // It may have been made all the same.
                assert!(self.may_fail, "{change:?}: {done:?}");
                self.history.push(Asked { change, done: Some(Done::default()) });
                self.has_failed = true;
                return;
            }
            machine.note(Event::Ended { client: self.number });
            self.no_space += u64::from(matches!(done, Err(Error::NoSpace)));
            if let Ok(done) = done {
                model.note(&change, done);
            }
            self.history.push(Asked { change, done: done.ok() });
        }
    }

    /// What there may be when this many changes were begun and this many ended.
    pub fn may_be(&self, (begun, ended): (usize, usize)) -> Vec<Model> {
        let mut model = self.before.clone();
        for asked in &self.history[..ended] {
            if let Some(done) = asked.done {
                model.note(&asked.change, done);
            }
        }
        let mut models = vec![model];
        if let Some(Asked { change, done: Some(done) }) = self.history[..begun].get(ended) {
            let mut after = models[0].clone();
            // Where handles are numbers, a new file has none before the client gets it.
            after.note_doubtful(change, done.handle.filter(|_| !self.has_numbers));
            models.extend(self.between(&models[0], change));
            models.push(after);
        }
        models
    }
}

impl Client {
    /// What there may be while a change is brought to storage in steps.
    fn between(&self, before: &Model, change: &Change) -> Option<Model> {
        let mut between = before.clone();
        match change {
            // Without a log, ext4 may have written zeros into the block of the new end, and not the new size; XFS may
            // have written the size of the last page that it wrote.
            Change::Resize(file, size) if self.may_be_partial => {
                between.files.get_mut(file).unwrap().resize_partly(*size);
            }
            Change::Rename(from, to) if self.may_have_two_names && from.0 != to.0 => between.rename_partly(from, to),
            _ => return None,
        }
        Some(between)
    }
}

/// The file that all clients of an export write.
pub const SHARED: &[u8] = b"shared";

/// A client makes its directory, and its part of the shared file.
pub fn begin(system: &System, number: usize) -> Model {
    let fs = system.fs(number);
    let spot = (fs.root(), format!("client{number}").into_bytes());
    let made = Change::Make(spot, FileKind::Directory).make(fs).unwrap();
    let mut model = Model::new(made.handle.unwrap());
    model.files.values_mut().for_each(|file| file.mode = 0o700);
    let place = Place { dir: fs.root(), name: Name::new(SHARED).unwrap() };
    let shared = fs.create(&CX, place, CreateMode::Unchecked, &SetAttributes::default()).unwrap().handle;
    let (start, zeros) = (number * PART_BYTES, vec![0; PART_BYTES]);
    let file = fs.open(&CX, &shared, OpenMode::Write).unwrap();
    file.write_at(&CX, start as u64, &zeros, Stability::File).unwrap();
    let mut content = File::new(FileKind::Regular, 0);
    content.settle(zeros);
    model.part = Some(Part { file: shared, start, content });
    model
}

/// Brings something to storage again and again, as the kernel does at any time.
pub fn sync_all_the_time(export: &Path, are_done: &AtomicBool, rng: &mut Rng) {
    while !are_done.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_micros(rng.u64(..20_000)));
        sync_locally(export, rng);
    }
}

/// Brings some file or all of them to storage.
fn sync_locally(export: &Path, rng: &mut Rng) {
    let mut path = export.to_owned();
    while let Some(inside) = pick(&path, rng).filter(|_| rng.u8(..8) > 0) {
        path = inside;
    }
    // It may be a symbolic link, or gone by now.
    let Ok(file) = std::fs::File::open(&path) else { return };
    let _ = match rng.u8(..3) {
        0 => rustix::fs::syncfs(&file).map_err(Into::into),
        1 => file.sync_all(),
        _ => file.sync_data(),
    };
}

fn pick(dir: &Path, rng: &mut Rng) -> Option<PathBuf> {
    let entries: Vec<_> = std::fs::read_dir(dir).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    if entries.is_empty() { None } else { Some(entries[rng.usize(..entries.len())].clone()) }
}
