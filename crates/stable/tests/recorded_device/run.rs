//! A run: clients change files, the power fails at several places of what was recorded, and each time the machine
//! recovers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use fastrand::Rng;
use stable::WriteLogError;
use vfs::{Error, FileSystem};

use crate::block::Workshop;
use crate::client::{self, Client};
use crate::machine::Machine;
use crate::recording::{Cutter, Event, Recording};
use crate::system::{Breaks, EXPORTS, Setup, System};
use testing::model::Model;
use testing::model::change::{CX, Limits};
use testing::model::check::{check, names, settle};

/// How often a machine goes on after a power failure, and the first time.
const LIVES: u32 = 3;
const MAX_CLIENTS: usize = 5;
const MAX_CHANGES: u32 = 80;
const LIMITS: Limits =
    Limits { max_offset: 20_000, max_write_bytes: 9000, large: Some((6, 150_000)), has_xattrs: true };

/// What all runs together have met.
#[derive(Debug, Default, Clone, Copy)]
pub struct Seen {
    pub cuts: u64,
    pub second_cuts: u64,
    /// How often the log of an export was compared with its files.
    pub replays: u64,
    pub made: u64,
    pub names: u64,
    pub data_bytes: u64,
    pub changes: u64,
    pub events: u64,
    pub failed_clients: u64,
    pub no_space: u64,
    pub lacks: u64,
}

/// Has clients change files on a new machine and, after a power failure, on what is left of it; of each of these lives
/// there are `cuts`.
pub fn run(workshop: &Workshop, setup: &Setup, (seed, cuts): (u64, u32), seen: &mut Seen) -> bool {
    let mut rng = Rng::with_seed(seed);
    let Some(machine) = setup.new_machine(workshop) else { return false };
    let system = System::start(workshop, &machine, setup).unwrap();
    let clients = if setup.is_for_one_client() { 1 } else { rng.usize(1..=MAX_CLIENTS) };
    let models = (0..clients).map(|number| client::begin(&system, number)).collect();
    system.drain().unwrap();
    let run = Run { workshop, setup, seed, lacks: AtomicU64::new(0) };
    let mut life = run.live(&machine, system, models, &mut rng);
    for _ in 1..LIVES {
        let (machine, models) = run.cut(&life, cuts, (&mut rng, seen));
        let system = run.start(&machine, 0);
        life = run.live(&machine, system, models, &mut rng);
    }
    run.cut(&life, cuts, (&mut rng, seen));
    seen.lacks += run.lacks.into_inner();
    true
}

struct Run<'r> {
    workshop: &'r Workshop,
    setup: &'r Setup,
    seed: u64,
    /// How often a replay had no room.
    lacks: AtomicU64,
}

fn is_for_lack_of_room(error: Option<&WriteLogError>) -> bool {
    match error {
        Some(WriteLogError::Replay { source: Error::NoSpace, .. }) => true,
        Some(WriteLogError::State { source, .. }) => source.kind() == std::io::ErrorKind::StorageFull,
        _ => false,
    }
}

/// What clients have done between a start of the machine and its end, and what its disks recorded of it.
struct Life {
    clients: Vec<Client>,
    recording: Recording,
}

impl Run<'_> {
    fn live(&self, machine: &Arc<Machine>, system: System, models: Vec<Model>, rng: &mut Rng) -> Life {
        let changes = rng.u32(1..MAX_CHANGES);
        let client = |(number, model)| Client::new(number, model, self.setup, rng.fork());
        let mut clients: Vec<Client> = models.into_iter().enumerate().map(client).collect();
        system.begin();
        if self.setup.is_full {
            system.fill();
        }
        machine.begin();
        machine.fail(self.setup.failures(rng));
        let (mut flusher_rng, are_done) = (rng.fork(), AtomicBool::new(false));
        thread::scope(|scope| {
            // ext4 tells one caller that its journal has failed: here nobody but the log may be that. fsync(2) of btrfs
            // may return too early while others sync the same file (seen with Linux 6.18, 4 times of 9000).
            // Local programs that call fsync(2) bring fast commits back, and their losses.
            let is_safe = self.setup.kind != "btrfs" && !self.setup.mkfs.contains(&"fast_commit");
            if !self.setup.disk_may_fail() && is_safe {
                scope.spawn(|| client::sync_all_the_time(&system.exports_dir(), &are_done, &mut flusher_rng));
            }
            let system = &system;
            let run = |client: &'_ mut Client| client.run(machine, system, (changes, &LIMITS));
            let running: Vec<_> = clients.iter_mut().map(|client| scope.spawn(move || run(client))).collect();
            let ended: Vec<_> = running.into_iter().map(|running| running.join()).collect();
            are_done.store(true, Ordering::Relaxed);
            ended.into_iter().for_each(|ended| ended.unwrap());
        });
        // What a failed disk has lost must not be forgotten by the next time.
        if self.setup.breaks != Breaks::Nothing {
            let _ = (system.drain(), system.drain());
        }
        drop(system);
        machine.fail(Vec::new());
        Life { clients, recording: machine.recording() }
    }

    /// Cuts the power in several places of a life. Returns a machine that went on after one of them, and what there is.
    fn cut(&self, life: &Life, cuts: u32, (rng, seen): (&mut Rng, &mut Seen)) -> (Arc<Machine>, Vec<Model>) {
        let mut places: Vec<usize> = (0..cuts).map(|_| self.place(life, rng)).collect();
        places.sort_unstable();
        seen.changes += life.clients.iter().map(|client| client.history.len() as u64).sum::<u64>();
        seen.failed_clients += life.clients.iter().filter(|client| client.has_failed).count() as u64;
        seen.no_space += life.clients.iter().map(|client| client.no_space).sum::<u64>();
        seen.events += life.recording.events.len() as u64;
        let (mut cutter, mut last) = (Cutter::new(&life.recording), None);
        for place in places {
            let mut machine = self.setup.machine(cutter.cut(place, rng));
            let mut is_again = false;
            while self.setup.has_journal && rng.u8(..4) == 0 {
                machine = self.cut_recovery(&machine, place, rng);
                is_again = true;
            }
            let system = self.start(&machine, place);
            let models = self.check(life, place, &system);
            seen.cuts += 1;
            seen.second_cuts += u64::from(is_again);
            for replayed in &system.replayed {
                seen.replays += u64::from(replayed.compared);
                seen.made += replayed.made;
                seen.names += replayed.names;
                seen.data_bytes += replayed.data_bytes;
            }
            // A client may have written over logged data, and not have committed that.
            let mut aside = system.set_aside().into_iter();
            assert_eq!(aside.find(|aside| !aside.change.starts_with("keep ")), None, "{}", self.at(life, place));
            drop(system);
            if last.is_none() || rng.u8(..4) == 0 {
                last = Some((machine, models));
            }
        }
        last.unwrap()
    }

    /// Where to cut the power.
    fn place(&self, life: &Life, rng: &mut Rng) -> usize {
        let place = life.recording.place(rng);
        if self.setup.has_journal { place } else { life.recording.idle_from(place) }
    }

    /// Cuts the power while the machine recovers, or soon after.
    fn cut_recovery(&self, machine: &Arc<Machine>, place: usize, rng: &mut Rng) -> Arc<Machine> {
        machine.begin();
        drop(self.start(machine, place));
        let recording = machine.recording();
        let place = recording.place(rng);
        self.setup.machine(Cutter::new(&recording).cut(place, rng))
    }

    fn start(&self, machine: &Arc<Machine>, place: usize) -> System {
        let mut started = System::start(self.workshop, machine, self.setup);
        if self.setup.is_full && is_for_lack_of_room(started.as_ref().err()) {
            self.lacks.fetch_add(1, Ordering::Relaxed);
            System::make_room(self.workshop, machine, self.setup);
            started = System::start(self.workshop, machine, self.setup);
        }
        started.unwrap_or_else(|error| panic!("seed {}, place {place}: {error}", self.seed))
    }

    /// Compares what there is with what each client was told. Returns what there is.
    fn check(&self, life: &Life, place: usize, system: &System) -> Vec<Model> {
        let found: Vec<Model> =
            life.clients.iter().map(|client| self.check_client(life, place, system, client)).collect();
        for export in 0..EXPORTS {
            let clients = (export..found.len()).step_by(EXPORTS);
            let shared =
                clients.clone().filter(|number| found[*number].part.is_some()).map(|_| client::SHARED.to_vec());
            let expected: BTreeSet<_> =
                clients.map(|number| format!("client{number}").into_bytes()).chain(shared).collect();
            let fs = system.fs(export);
            assert_eq!(names(fs, &fs.root()), expected, "{}", self.at(life, place));
        }
        found
    }

    fn check_client(&self, life: &Life, place: usize, system: &System, client: &Client) -> Model {
        let fs = system.fs(client.number);
        let (begun, ended) = life.progress(client.number, place);
        let mut models = client.may_be((begun, ended));
        models.iter_mut().for_each(|model| self.expect_repairs(fs, model));
        let wrong: Vec<_> = models.iter().map(|model| check(fs, model)).collect();
        let found = wrong.iter().position(Option::is_none).unwrap_or_else(|| {
            let history: Vec<_> =
                client.history[..begun].iter().map(|asked| format!("{:?}: {:?}\n", asked.change, asked.done)).collect();
            panic!(
                "{}, client {}, {begun} begun, {ended} ended: {wrong:?}; {:?}\n{}",
                self.at(life, place),
                client.number,
                system.replayed,
                history.concat()
            );
        });
        settle(fs, models.swap_remove(found))
    }

    /// Allows for what `e2fsck` does to a file system without a journal.
    fn expect_repairs(&self, fs: &dyn FileSystem, model: &mut Model) {
        if self.setup.has_journal {
            return;
        }
        if self.setup.kind == "ext2" {
            model.allow_cleared(|handle| matches!(fs.attributes(&CX, handle), Err(Error::Stale)));
        }
        model.expect_no_journal();
    }

    fn at(&self, life: &Life, place: usize) -> String {
        format!("{:?}, seed {}, place {place} of {}", self.setup, self.seed, life.recording.events.len())
    }
}

impl Life {
    /// How many changes a client had begun, and how many of them were ended.
    fn progress(&self, client: usize, place: usize) -> (usize, usize) {
        count_events(&self.recording.events[..place], client)
    }
}

/// How many changes of a client were begun, and how many of them ended.
pub fn count_events(events: &[Event], client: usize) -> (usize, usize) {
    let count = |is: fn(&Event) -> Option<usize>| events.iter().filter(|event| is(event) == Some(client)).count();
    let begun = count(|event| if let Event::Begun { client } = event { Some(*client) } else { None });
    let ended = count(|event| if let Event::Ended { client } = event { Some(*client) } else { None });
    (begun, ended)
}
