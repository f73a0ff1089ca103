//! What `fsync(2)` alone keeps: programs write files at the same time, and the power fails. Nothing of Wharf is used,
//! so a loss is the kernel's.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use fastrand::Rng;

use crate::block::Workshop;
use crate::machine::Machine;
use crate::recording::{Cutter, Event, Recording};
use crate::run::count_events;
use crate::system::{DISK, Setup};

const PROGRAMS: usize = 4;
const FILES: u8 = 6;
const STEPS: usize = 60;
const CUTS: usize = 20;
const MAX_OFFSET: usize = 20_000;
const MAX_WRITE_BYTES: usize = 9000;

/// The content of each file that was flushed.
type Flushed = BTreeMap<String, Vec<u8>>;

/// What a program did to a file, and what must be there since.
struct Step {
    file: String,
    did: String,
    flushed: Flushed,
}

/// Cuts the power of programs that flush what they write, and says what is lost, if anything is.
pub fn find_loss(workshop: &Workshop, setup: &Setup, seed: u64) -> Option<String> {
    let mut rng = Rng::with_seed(seed);
    let machine = setup.new_machine(workshop)?;
    let (programs, recording) = run_programs(workshop, setup, &machine, &mut rng);
    let mut places: Vec<usize> = (0..CUTS).map(|_| recording.place(&mut rng)).collect();
    places.sort_unstable();
    let mut cutter = Cutter::new(&recording);
    places.into_iter().find_map(|place| {
        let left = setup.machine(cutter.cut(place, &mut rng));
        let mounted = match workshop.try_mount(&left, DISK, (setup.kind, setup.mount)) {
            Ok(mounted) => mounted,
            Err(error) => return Some(format!("seed {seed}, place {place}: cannot mount: {error}")),
        };
        let find = |(number, steps): (usize, &Vec<Step>)| {
            let (begun, ended) = count_events(&recording.events[..place], number);
            let wrong = find_difference(&program_dir(&mounted.dir, number), steps, (begun, ended))?;
            let did: Vec<_> = steps[..begun].iter().map(|step| step.did.as_str()).collect();
            Some(format!("seed {seed}, place {place}, program {number}: {wrong}\n{}", did.join("\n")))
        };
        programs.iter().enumerate().find_map(find)
    })
}

fn program_dir(root: &Path, number: usize) -> PathBuf {
    root.join(format!("program-{number}"))
}

fn run_programs(
    workshop: &Workshop,
    setup: &Setup,
    machine: &Arc<Machine>,
    rng: &mut Rng,
) -> (Vec<Vec<Step>>, Recording) {
    let mounted = workshop.mount(machine, DISK, (setup.kind, setup.mount));
    let dirs: Vec<_> = (0..PROGRAMS).map(|number| program_dir(&mounted.dir, number)).collect();
    dirs.iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
    rustix::fs::syncfs(File::open(&mounted.dir).unwrap()).unwrap();
    machine.begin();
    let programs = thread::scope(|scope| {
        let mut running = Vec::new();
        for (client, dir) in dirs.iter().enumerate() {
            let mut rng = rng.fork();
            running.push(scope.spawn(move || run_program(machine, client, dir, &mut rng)));
        }
        running.into_iter().map(|program| program.join().unwrap()).collect()
    });
    (programs, machine.recording())
}

fn run_program(machine: &Machine, client: usize, dir: &Path, rng: &mut Rng) -> Vec<Step> {
    let mut flushed = Flushed::new();
    let step = |_| {
        let file = format!("file-{}", rng.u8(..FILES));
        machine.note(Event::Begun { client });
        let did = make_change(dir, &file, &mut flushed, rng);
        machine.note(Event::Ended { client });
        Step { did: format!("{file}: {did}"), file, flushed: flushed.clone() }
    };
    (0..STEPS).map(step).collect()
}

/// Makes the file, sets its size or writes to it, and flushes it.
fn make_change(dir: &Path, name: &str, flushed: &mut Flushed, rng: &mut Rng) -> String {
    let path = dir.join(name);
    let Some(content) = flushed.get_mut(name) else {
        File::create_new(path).unwrap().sync_all().unwrap();
        File::open(dir).unwrap().sync_all().unwrap();
        flushed.insert(name.to_owned(), Vec::new());
        return "create".to_owned();
    };
    let file = File::options().write(true).open(path).unwrap();
    let offset = rng.usize(..MAX_OFFSET);
    if rng.u8(..8) == 0 {
        file.set_len(offset as u64).unwrap();
        file.sync_all().unwrap();
        content.resize(offset, 0);
        return format!("truncate to {offset}");
    }
    let data = vec![rng.u8(1..); rng.usize(1..MAX_WRITE_BYTES)];
    file.write_all_at(&data, offset as u64).unwrap();
    file.sync_all().unwrap();
    let end = offset + data.len();
    content.resize(content.len().max(end), 0);
    content[offset..end].copy_from_slice(&data);
    format!("write {} bytes of {} at {offset}", data.len(), data[0])
}

/// Compares what is there with what was flushed, but for the file that was being changed.
fn find_difference(dir: &Path, steps: &[Step], (begun, ended): (usize, usize)) -> Option<String> {
    let doubtful = (begun > ended).then(|| steps[ended].file.as_str());
    let sure = steps[..ended].last()?.flushed.iter().filter(|(name, _)| Some(name.as_str()) != doubtful);
    sure.into_iter().find_map(|(name, content)| match std::fs::read(dir.join(name)) {
        Err(error) => Some(format!("{name}: {error}")),
        Ok(found) if found != *content => {
            let place = found.iter().zip(content).position(|(one, other)| one != other);
            Some(format!("{name} has {} bytes of {}, the first wrong one at {place:?}", found.len(), content.len()))
        }
        Ok(_) => None,
    })
}
