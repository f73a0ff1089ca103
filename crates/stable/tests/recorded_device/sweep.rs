//! Each request of the disk fails: a client makes some changes, and each time another request is the first that fails,
//! alone or with all that follow.
//!
//! The client does what it is told: after an error it asks again, and after a change of the write verifier it writes
//! again what it has not committed (RFC 1813 §4.8). When the server refuses everything, the disk is repaired and the
//! server started again, on the file system as it is or, when that is read-only, mounted again. Whatever the client was
//! told is stable must be there after a power failure, and after an unmount.

use std::ops::Range;
use std::sync::Arc;

use fastrand::Rng;
use vfs::{
    Context, CreateMode, Error, FileSystem, Handle, Name, OpenFile, OpenMode, Place, Result, SetAttributes, Stability,
};

use crate::block::Workshop;
use crate::machine::{Failure, Machine};
use crate::recording::Cutter;
use crate::run::Seen;
use crate::system::{Setup, System};

const STEPS: u32 = 30;
const FILES: usize = 5;
const MAX_OFFSET: usize = 20_000;
const MAX_WRITE_BYTES: usize = 9000;
/// More than a log takes of a COMMIT.
const LARGE_WRITE_BYTES: usize = 150_000;

/// How often a client asks again.
const ATTEMPTS: u32 = 4;

const CX: Context<'static> = Context::ROOT;

/// A server that goes on refusing what a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stuck {
    Failing,
    ReadOnly,
}

/// What a reply depends on: the number of the start, and the write verifier since then.
type Verifier = (u32, u64);

/// What a client knows of a file.
struct Known {
    /// The last is what it asked for last; a failed change of names may leave another one.
    names: Vec<String>,
    handle: Option<Handle>,
    presence: Presence,
    bytes: Vec<Byte>,
    /// The smallest and the largest size that it may have.
    sizes: (usize, usize),
    /// The verifier of the bytes that are not committed.
    verifier: Option<Verifier>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Sure,
    Doubtful,
    Removed,
}

#[derive(Clone)]
struct Byte {
    may_be: Vec<u8>,
    uncommitted: Option<u8>,
}

struct Client<'c> {
    workshop: &'c Workshop,
    machine: &'c Arc<Machine>,
    setup: &'c Setup,
    system: Option<System>,
    starts: u32,
    files: Vec<Known>,
    /// What it did, for a message.
    did: Vec<String>,
}

/// Has a client change files on a disk of which one request fails, and so many after it. Returns whether there was such
/// a request.
pub fn run(
    workshop: &Workshop,
    setup: &Setup,
    new: &Machine,
    (failure, seed): (Failure, u64),
    seen: &mut Seen,
) -> bool {
    let machine = setup.machine(new.recording().images);
    let mut rng = Rng::with_seed(seed);
    let system = System::start(workshop, &machine, setup).unwrap();
    system.begin();
    machine.begin();
    machine.fail(vec![failure]);
    let mut client =
        Client { workshop, machine: &machine, setup, system: Some(system), starts: 0, files: vec![], did: vec![] };
    (0..STEPS).for_each(|_| client.step(&mut rng));
    let is_reached = machine.failed() > 0;
    let recording = machine.recording();
    let cut = setup.machine(Cutter::new(&recording).cut(recording.events.len(), &mut rng));
    let (files, did) = (std::mem::take(&mut client.files), std::mem::take(&mut client.did));
    drop(client);
    machine.fail(Vec::new());
    seen.changes += u64::from(STEPS);
    for (left, after) in [(&cut, "a power failure"), (&machine, "an unmount")] {
        let system = System::start(workshop, left, setup).unwrap();
        seen.cuts += 1;
        seen.replays += system.replayed.iter().filter(|replayed| replayed.compared).count() as u64;
        for file in &files {
            if let Some(wrong) = file.find_loss(system.fs(0)) {
                panic!("{setup:?}, {failure:?}, seed {seed}, after {after}: {wrong}\n{}", did.join("\n"));
            }
        }
    }
    is_reached
}

impl Client<'_> {
    fn fs(&self) -> &dyn FileSystem {
        self.system.as_ref().unwrap().fs(0)
    }

    fn verifier(&self) -> Verifier {
        (self.starts, self.fs().losses())
    }

    /// Makes a change; when the server is stuck, starts it again and goes on.
    fn step(&mut self, rng: &mut Rng) {
        let live: Vec<usize> = (0..self.files.len()).filter(|at| self.files[*at].presence == Presence::Sure).collect();
        if live.is_empty() || live.len() < FILES && rng.u8(..6) == 0 {
            return self.create();
        }
        let at = live[rng.usize(..live.len())];
        if rng.u8(..6) == 0 {
            self.did.push("flush everything".to_owned());
            // An error is for the log, which has everything.
            let _ = self.system.as_ref().unwrap().drain();
        }
        let (offset, byte) = (rng.usize(..MAX_OFFSET), rng.u8(1..));
        match rng.u8(..12) {
            0 => self.rename(at),
            1 => self.remove(at),
            2 => self.until_it_works(&format!("resize {at} to {offset}"), |client| client.resize(at, offset)),
            3..6 => self.until_it_works(&format!("commit {at}"), |client| client.commit(at)),
            _ => {
                let length = if rng.u8(..8) == 0 { LARGE_WRITE_BYTES } else { rng.usize(1..MAX_WRITE_BYTES) };
                let range = offset..offset + length;
                let stability = if rng.bool() { Stability::File } else { Stability::Unstable };
                let what = format!("write {at}, {range:?} of {byte}, {stability:?}");
                self.until_it_works(&what, |client| client.write(at, range.clone(), byte, stability));
            }
        }
    }

    fn until_it_works(&mut self, what: &str, mut change: impl FnMut(&mut Self) -> std::result::Result<(), Stuck>) {
        self.did.push(what.to_owned());
        for is_mounted_again in [false, true, true] {
            match change(self) {
                Ok(()) => return,
                Err(stuck) => self.start_again(is_mounted_again || stuck == Stuck::ReadOnly),
            }
        }
        panic!("{:?}: cannot {what} on a disk that works\n{}", self.setup, self.did.join("\n"));
    }

    /// Repairs the disk and starts the server again.
    fn start_again(&mut self, is_mounted_again: bool) {
        self.machine.fail(vec![]);
        self.starts += 1;
        self.did.push("start again".to_owned());
        let system = self.system.take().unwrap();
        // The old system ends here in any case: a disk must not be mounted twice.
        let restarted = Some(system).filter(|_| !is_mounted_again).and_then(|system| system.restart(self.setup));
        let system = restarted.unwrap_or_else(|| {
            self.did.push("mount again".to_owned());
            System::start(self.workshop, self.machine, self.setup).unwrap()
        });
        system.begin();
        self.system = Some(system);
    }

    fn create(&mut self) {
        let (at, name) = (self.files.len(), format!("file-{}", self.files.len()));
        let mut file = Known::new(name.clone());
        file.presence = Presence::Doubtful;
        self.files.push(file);
        self.until_it_works(&format!("create {name}"), |client| {
            let fs = client.fs();
            let create = || fs.create(&CX, place(fs, &name), CreateMode::Unchecked, &SetAttributes::default());
            let made = again(create)?;
            let file = &mut client.files[at];
            (file.handle, file.presence) = (Some(made.handle), Presence::Sure);
            Ok(())
        });
    }

    /// A name that is doubtful stays so.
    fn rename(&mut self, at: usize) {
        let (from, to) = (self.files[at].names.last().unwrap().clone(), format!("moved-{}", self.did.len()));
        self.did.push(format!("rename {from} to {to}"));
        let renamed = self.fs().rename(&CX, place(self.fs(), &from), place(self.fs(), &to));
        let file = &mut self.files[at];
        file.names.push(to);
        match renamed {
            Ok(()) => drop(file.names.drain(..file.names.len() - 1)),
            Err(_) => file.presence = Presence::Doubtful,
        }
    }

    fn remove(&mut self, at: usize) {
        let name = self.files[at].names.last().unwrap().clone();
        self.did.push(format!("remove {name}"));
        let removed = self.fs().remove(&CX, place(self.fs(), &name));
        self.files[at].presence = if removed.is_ok() { Presence::Removed } else { Presence::Doubtful };
    }

    fn open(&self, at: usize) -> Result<Arc<dyn OpenFile>> {
        self.fs().open(&CX, &self.files[at].handle.unwrap(), OpenMode::Write)
    }

    fn resize(&mut self, at: usize, size: usize) -> std::result::Result<(), Stuck> {
        self.files[at].may_have_size(size);
        let set = SetAttributes { size_bytes: Some(size as u64), ..SetAttributes::default() };
        let (fs, file) = (self.fs(), self.files[at].handle.unwrap());
        again(|| fs.set_attributes(&CX, &file, &set))?;
        self.files[at].has_size(size);
        Ok(())
    }

    fn write(
        &mut self,
        at: usize,
        range: Range<usize>,
        byte: u8,
        stability: Stability,
    ) -> std::result::Result<(), Stuck> {
        self.files[at].may_be_written(&range, byte);
        // As the server does: what is lost during the write must not count as written after the loss.
        let verifier = self.verifier();
        let data = vec![byte; range.len()];
        let written = again(|| self.open(at)?.write_at(&CX, range.start as u64, &data, stability))?;
        assert_eq!(written.count, data.len());
        let file = &mut self.files[at];
        if stability == Stability::Unstable {
            file.verifier.get_or_insert(verifier);
            file.bytes[range].iter_mut().for_each(|known| known.uncommitted = Some(byte));
        } else {
            file.bytes[range.clone()].iter_mut().for_each(|known| *known = Byte::sure(byte));
            file.sizes.0 = file.sizes.0.max(range.end);
        }
        Ok(())
    }

    fn commit(&mut self, at: usize) -> std::result::Result<(), Stuck> {
        let mut stuck = Stuck::Failing;
        for _ in 0..ATTEMPTS {
            if self.files[at].verifier.is_some_and(|verifier| verifier != self.verifier()) {
                self.write_again(at)?;
            }
            let committed = self.open(at).and_then(|open| open.sync(&CX));
            let is_same = self.files[at].verifier.is_none_or(|verifier| verifier == self.verifier());
            match committed {
                Ok(()) if is_same => {
                    self.files[at].are_committed();
                    return Ok(());
                }
                Err(Error::ReadOnly) => stuck = Stuck::ReadOnly,
                _ => stuck = Stuck::Failing,
            }
        }
        Err(stuck)
    }

    /// Writes again what is not committed.
    fn write_again(&mut self, at: usize) -> std::result::Result<(), Stuck> {
        self.did.push(format!("write {at} again"));
        let uncommitted: Vec<_> = self.files[at].bytes.iter().map(|byte| byte.uncommitted).collect();
        let before = self.files[at].verifier.take();
        let mut start = 0;
        for run in uncommitted.chunk_by(|one, other| one == other) {
            let range = start..start + run.len();
            start = range.end;
            if let Some(byte) = run[0] {
                let written = self.write(at, range, byte, Stability::Unstable);
                written.inspect_err(|_| self.files[at].verifier = before)?;
            }
        }
        Ok(())
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        drop(self.system.take());
    }
}

impl Known {
    fn new(name: String) -> Known {
        let (names, bytes) = (vec![name], Vec::new());
        Known { names, handle: None, presence: Presence::Sure, bytes, sizes: (0, 0), verifier: None }
    }

    /// It is asked for a size: what is cut off may be zeros.
    fn may_have_size(&mut self, size: usize) {
        self.reach(size);
        self.bytes[size..].iter_mut().for_each(|byte| byte.add(0));
        self.sizes = (self.sizes.0.min(size), self.sizes.1.max(size));
    }

    fn has_size(&mut self, size: usize) {
        self.bytes.truncate(size);
        self.sizes = (size, size);
    }

    fn may_be_written(&mut self, range: &Range<usize>, byte: u8) {
        self.reach(range.end);
        self.bytes[range.clone()].iter_mut().for_each(|known| known.add(byte));
        self.sizes.1 = self.sizes.1.max(range.end);
    }

    fn reach(&mut self, size: usize) {
        if self.bytes.len() < size {
            self.bytes.resize(size, Byte::sure(0));
        }
    }

    fn are_committed(&mut self) {
        for byte in &mut self.bytes {
            if let Some(value) = byte.uncommitted.take() {
                *byte = Byte::sure(value);
            }
        }
        self.sizes.0 = self.sizes.1;
        self.verifier = None;
    }

    /// What of it is not there, if anything is not.
    fn find_loss(&self, fs: &dyn FileSystem) -> Option<String> {
        let found = self.names.iter().find_map(|name| fs.lookup(&CX, place(fs, name)).ok());
        let Some(found) = found else {
            return (self.presence == Presence::Sure).then(|| format!("{:?} is missing", self.names));
        };
        if self.presence == Presence::Removed {
            return Some(format!("{:?} is back", self.names));
        }
        let size = found.attributes.size_bytes as usize;
        if !(self.sizes.0..=self.sizes.1).contains(&size) {
            return Some(format!("{:?} has {size} bytes and not {:?}", self.names, self.sizes));
        }
        let mut bytes = vec![0; size];
        let read = fs.open(&CX, &found.handle, OpenMode::Read).unwrap().read_at(&CX, 0, &mut bytes);
        let wrong = bytes.iter().zip(&self.bytes).position(|(byte, known)| !known.may_be.contains(byte));
        match (read, wrong) {
            (Err(error), _) => Some(format!("{:?} cannot be read: {error}", self.names)),
            (Ok(_), Some(at)) => {
                let (is, may_be) = (bytes[at], &self.bytes[at].may_be);
                Some(format!("{:?} of {size} bytes has {is} at {at} and not one of {may_be:?}", self.names))
            }
            (Ok(_), None) => None,
        }
    }
}

impl Byte {
    fn sure(value: u8) -> Byte {
        Byte { may_be: vec![value], uncommitted: None }
    }

    fn add(&mut self, value: u8) {
        if !self.may_be.contains(&value) {
            self.may_be.push(value);
        }
    }
}

fn place<'p>(fs: &dyn FileSystem, name: &'p str) -> Place<'p> {
    Place { dir: fs.root(), name: Name::new(name.as_bytes()).unwrap() }
}

/// Asks again after a failure of storage.
fn again<T>(mut ask: impl FnMut() -> Result<T>) -> std::result::Result<T, Stuck> {
    let mut stuck = Stuck::Failing;
    for _ in 0..ATTEMPTS {
        stuck = match ask() {
            Err(Error::ReadOnly) => Stuck::ReadOnly,
            Err(Error::Io(_)) => Stuck::Failing,
            answer => return Ok(answer.unwrap()),
        };
    }
    Err(stuck)
}
