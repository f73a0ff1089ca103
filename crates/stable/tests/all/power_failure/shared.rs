//! Clients that write one file at the same time, while the log is trimmed: each has a part of the file of its own, and
//! what it was told is there after a power failure.
//!
//! Threads decide what a run does, so that a seed alone does not repeat it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use fastrand::Rng;
use stable::{StableFs, WriteLog};
use vfs::{CreateMode, Error, FileKind, FileSystem, Handle, Name, OpenMode, Place, SetAttributes, Stability};

use super::disk::Disk;
use super::power::Power;
use super::run::{Machine, StateDir, new_log};
use testing::model::change::{CX, Change, Limits};
use testing::model::check::check;
use testing::model::{File, Model, Part};

const CLIENTS: usize = 3;
const MAX_CHANGES: u32 = 40;
const MAX_CALLS: i64 = 500;
const LIMITS: Limits = Limits { max_offset: 500, max_write_bytes: 1500, large: None, has_xattrs: false };
/// The longest write, where writes begin last.
const PART_BYTES: usize = 2000;

pub fn run(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let state = StateDir::new("shared", seed);
    let unlimited = Power::lasting(i64::MAX);
    let machine = Machine::start(Disk::new(), new_log(), (&unlimited, 0));
    let (fs, _, log) = machine.attach(&state.0).unwrap();
    let shared = make_shared(&fs);
    log.close();
    let (disk, left) = machine.stop(&mut rng);

    let power = Power::lasting(rng.i64(1..MAX_CALLS));
    let machine = Machine::start(disk, left, (&power, rng.u64(..)));
    let Ok((fs, _, log)) = machine.attach(&state.0) else { return };
    let models = live(&fs, &log, (&shared, &mut rng));
    log.close();
    let (disk, left) = machine.stop(&mut rng);

    let machine = Machine::start(disk, left, (&unlimited, 0));
    let (fs, replayed, log) = machine.attach(&state.0).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    for (client, models) in models.iter().enumerate() {
        let wrong: Vec<_> = models.iter().map(|model| check(&fs, model)).collect();
        assert!(wrong.iter().any(Option::is_none), "seed {seed}, client {client}: {wrong:?}; {replayed:?}");
    }
    log.close();
}

fn make_shared(fs: &StableFs) -> Handle {
    let place = Place { dir: fs.root(), name: Name::new(b"shared").unwrap() };
    let shared = fs.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap().handle;
    let file = fs.open(&CX, &shared, OpenMode::Write).unwrap();
    file.write_at(&CX, 0, &[0; CLIENTS * PART_BYTES], Stability::File).unwrap();
    fs.sync_all(&CX).unwrap();
    shared
}

/// Clients make changes until the machine stops. Returns what may be there of each.
fn live(fs: &StableFs, log: &Arc<WriteLog>, (shared, rng): (&Handle, &mut Rng)) -> Vec<Vec<Model>> {
    let are_done = AtomicBool::new(false);
    log.before_trim(|| (0..3).for_each(|_| thread::yield_now()));
    thread::scope(|scope| {
        let trims = scope.spawn(|| {
            while !are_done.load(Ordering::Relaxed) && log.drain().is_ok() {
                thread::yield_now();
            }
        });
        let client = |number: usize| {
            let (mut rng, model) = (rng.fork(), model_of_part(shared, number * PART_BYTES));
            scope.spawn(move || change(fs, model, &mut rng))
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        let models = clients.into_iter().map(|client| client.join()).collect::<Vec<_>>();
        are_done.store(true, Ordering::Relaxed);
        trims.join().unwrap();
        models.into_iter().map(|models| models.unwrap()).collect()
    })
}

fn model_of_part(shared: &Handle, start: usize) -> Model {
    let mut content = File::new(FileKind::Regular, 0);
    content.settle(vec![0; PART_BYTES]);
    Model { part: Some(Part { file: *shared, start, content }), ..Model::default() }
}

fn change(fs: &StableFs, mut model: Model, rng: &mut Rng) -> Vec<Model> {
    for _ in 0..rng.u32(1..MAX_CHANGES) {
        let change = Change::of_part(model.part.as_ref().unwrap(), &LIMITS, rng);
        match change.make(fs) {
            Ok(done) => model.note(&change, done),
            Err(Error::Io(_)) => {
                let mut after = model.clone();
                after.note_doubtful(&change, None);
                return vec![model, after];
            }
            Err(error) => panic!("{change:?}: {error}"),
        }
    }
    vec![model]
}
