//! A file system that loses what was not synced when the machine stops: names from some moment on, as a journal does,
//! and any sectors of data. Times may be kept without the data that they belong to, and the clock may be set back
//! before the next start. The file system gives numbers and generations of lost files to others again, as XFS does.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use fastrand::Rng;
use vfs::{
    Attributes, Context, CreateMode, Detail, DirEntry, EachEntry, Entry, Error, FileKind, FileSystem, Handle, Listing,
    NewNode, OpenFile, OpenMode, Place, ReadDir, Result, SetAttributes, SetTime, Stability, Timestamp, Written,
};

use crate::power_failure::power::Power;

const ROOT: u64 = 1;
const SECTOR_BYTES: usize = 512;

pub struct DiskFs(Arc<Shared>);

struct Shared {
    machine: Mutex<Machine>,
    power: Power,
}

struct Machine {
    now: Disk,
    durable: Disk,
    /// What was not synced, oldest first.
    steps: Vec<Step>,
    clock: Clock,
}

/// The clock of the machine, which has the time even when it is off.
#[derive(Clone, Copy)]
struct Clock {
    seconds: u64,
    /// How often it was read: no two times are the same.
    nanoseconds: u32,
}

impl Clock {
    fn tick(&mut self) -> Timestamp {
        self.seconds += 1;
        self.nanoseconds += 1;
        Timestamp { seconds: self.seconds.cast_signed(), nanoseconds: self.nanoseconds }
    }
}

#[derive(Clone)]
pub struct Disk {
    inodes: BTreeMap<u64, Inode>,
    /// The last generation that each number had.
    generations: BTreeMap<u64, u32>,
    clock: Clock,
}

#[derive(Clone)]
struct Inode {
    generation: u32,
    attributes: Attributes,
    data: Vec<u8>,
    names: BTreeMap<Vec<u8>, u64>,
}

#[derive(Clone)]
enum Step {
    Make { dir: u64, name: Vec<u8>, number: u64, inode: Inode },
    Link { dir: u64, name: Vec<u8>, number: u64 },
    Unlink { dir: u64, name: Vec<u8> },
    Rename { from: (u64, Vec<u8>), to: (u64, Vec<u8>) },
    Set { number: u64, attributes: Attributes },
    Resize { number: u64, size_bytes: u64 },
    Write { number: u64, generation: u32, offset: usize, data: Vec<u8> },
}

impl Disk {
    pub fn new() -> Disk {
        let mut root = Inode::new(FileKind::Directory, ROOT, 0);
        root.attributes.mode = 0o755;
        Disk {
            inodes: [(ROOT, root)].into(),
            generations: [(ROOT, 1)].into(),
            clock: Clock { seconds: 1, nanoseconds: 0 },
        }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Make { dir, name, number, inode } => {
                self.generations.insert(*number, inode.generation);
                self.inodes.insert(*number, inode.clone());
                self.dir(*dir).insert(name.clone(), *number);
            }
            Step::Link { dir, name, number } => {
                self.dir(*dir).insert(name.clone(), *number);
                self.count_links(*number, 1);
            }
            Step::Unlink { dir, name } => {
                if let Some(number) = self.dir(*dir).remove(name) {
                    self.count_links(number, -1);
                }
            }
            Step::Rename { from, to } => {
                let Some(number) = self.dir(from.0).remove(&from.1) else { return };
                if let Some(replaced) = self.dir(to.0).insert(to.1.clone(), number) {
                    self.count_links(replaced, -1);
                }
            }
            Step::Set { number, attributes } => {
                if let Some(inode) = self.inodes.get_mut(number) {
                    let size_bytes = inode.attributes.size_bytes;
                    inode.attributes = Attributes { size_bytes, links: inode.attributes.links, ..*attributes };
                }
            }
            Step::Resize { number, size_bytes } => {
                if let Some(inode) = self.inodes.get_mut(number) {
                    inode.data.resize(*size_bytes as usize, 0);
                }
            }
            Step::Write { number, generation, offset, data } => {
                let is_it = |inode: &&mut Inode| inode.generation == *generation;
                if let Some(inode) = self.inodes.get_mut(number).filter(is_it) {
                    inode.write(*offset, data);
                }
            }
        }
    }

    fn dir(&mut self, number: u64) -> &mut BTreeMap<Vec<u8>, u64> {
        &mut self.inodes.get_mut(&number).unwrap().names
    }

    fn count_links(&mut self, number: u64, change: i32) {
        let inode = self.inodes.get_mut(&number).unwrap();
        inode.attributes.links = inode.attributes.links.saturating_add_signed(change);
        if inode.attributes.links == 0 || inode.attributes.kind == FileKind::Directory && change < 0 {
            self.inodes.remove(&number);
        }
    }

    fn number(&self, handle: &Handle) -> Result<u64> {
        let bytes: [u8; 12] = handle.as_bytes().try_into().map_err(|_| Error::BadHandle)?;
        let (number, generation) = bytes.split_at(8);
        let number = u64::from_be_bytes(number.try_into().unwrap());
        let generation = u32::from_be_bytes(generation.try_into().unwrap());
        let inode = self.inodes.get(&number).ok_or(Error::Stale)?;
        if inode.generation == generation { Ok(number) } else { Err(Error::Stale) }
    }

    fn inode(&self, handle: &Handle) -> Result<&Inode> {
        Ok(&self.inodes[&self.number(handle)?])
    }

    fn handle(&self, number: u64) -> Handle {
        let generation = self.inodes[&number].generation;
        Handle::new(&[&number.to_be_bytes()[..], &generation.to_be_bytes()].concat()).unwrap()
    }

    fn entry(&self, number: u64) -> Entry {
        let inode = &self.inodes[&number];
        let size_bytes = inode.data.len() as u64;
        let changed = inode.attributes.changed;
        let change = changed.seconds.cast_unsigned() << 32 | u64::from(changed.nanoseconds);
        Entry { handle: self.handle(number), attributes: Attributes { size_bytes, change, ..inode.attributes } }
    }

    fn find(&self, place: &Place<'_>) -> Result<(u64, Option<u64>)> {
        let dir = self.number(&place.dir)?;
        if self.inodes[&dir].attributes.kind != FileKind::Directory {
            return Err(Error::NotDirectory);
        }
        Ok((dir, self.inodes[&dir].names.get(place.name.as_bytes()).copied()))
    }

    fn is_above(&self, above: u64, number: u64) -> bool {
        above == number
            || self.inodes[&above].names.values().any(|child| *child != above && self.is_above(*child, number))
    }
}

impl Inode {
    fn new(kind: FileKind, number: u64, generation: u32) -> Inode {
        let attributes = Attributes::new(kind, number);
        Inode { generation, attributes, data: Vec::new(), names: BTreeMap::new() }
    }

    fn write(&mut self, offset: usize, data: &[u8]) {
        let end = offset + data.len();
        if self.data.len() < end {
            self.data.resize(end, 0);
        }
        self.data[offset..end].copy_from_slice(data);
    }
}

impl Machine {
    fn step(&mut self, step: Step) {
        self.now.apply(&step);
        self.steps.push(step);
    }

    fn make(&mut self, place: Place<'_>, kind: FileKind, (target, set): (&[u8], &SetAttributes)) -> Result<Entry> {
        let (dir, existing) = self.now.find(&place)?;
        if existing.is_some() {
            return Err(Error::Exists);
        }
        let number = (ROOT + 1..).find(|number| !self.now.inodes.contains_key(number)).unwrap();
        let generation = self.now.generations.get(&number).map_or(1, |last| last + 1);
        let mut inode = Inode::new(kind, number, generation);
        let now = self.clock.tick();
        let attributes = &mut inode.attributes;
        attributes.mode = 0o644;
        (attributes.accessed, attributes.modified, attributes.changed) = (now, now, now);
        attributes.created = Some(now);
        change(attributes, set, now);
        inode.data = target.to_vec();
        self.step(Step::Make { dir, name: place.name.as_bytes().to_vec(), number, inode });
        Ok(self.now.entry(number))
    }
}

impl Machine {
    /// Brings a file and, with the journal, all names and attributes to storage. Data of other files stay where they
    /// are, but for those that were there before a file got another size.
    fn sync_file(&mut self, number: u64) {
        let steps = std::mem::take(&mut self.steps);
        for (index, step) in steps.iter().enumerate() {
            let resized_later = |other: u64| {
                steps[index..].iter().any(|step| matches!(step, Step::Resize { number, .. } if *number == other))
            };
            match step {
                Step::Write { number: other, .. } if *other != number && !resized_later(*other) => {
                    self.steps.push(step.clone());
                }
                _ => self.durable.apply(step),
            }
        }
    }
}

fn change(attributes: &mut Attributes, set: &SetAttributes, now: Timestamp) {
    let time = |set: SetTime| if let SetTime::To(time) = set { time } else { now };
    attributes.mode = set.mode.unwrap_or(attributes.mode);
    attributes.uid = set.uid.unwrap_or(attributes.uid);
    attributes.gid = set.gid.unwrap_or(attributes.gid);
    attributes.accessed = set.accessed.map_or(attributes.accessed, time);
    attributes.modified = set.modified.map_or(attributes.modified, time);
    attributes.changed = now;
}

impl DiskFs {
    pub fn new(disk: Disk, power: Power) -> DiskFs {
        let clock = disk.clock;
        DiskFs(Arc::new(Shared {
            machine: Mutex::new(Machine { now: disk.clone(), durable: disk, steps: Vec::new(), clock }),
            power,
        }))
    }

    /// What is left after the machine has stopped.
    pub fn image(&self, rng: &mut Rng) -> Disk {
        let machine = self.0.machine.lock().unwrap();
        let is_data = |step: &Step| matches!(step, Step::Write { .. });
        let names = machine.steps.iter().filter(|step| !is_data(step)).count();
        let mut left = rng.usize(0..=names);
        let chance = [0.0, 0.5, 1.0][rng.usize(0..3)];
        let mut disk = machine.durable.clone();
        for step in &machine.steps {
            match step {
                Step::Write { number, generation, offset, data } => {
                    for (at, part) in sectors(*offset, data) {
                        if rng.f64() < chance {
                            let (number, generation, data) = (*number, *generation, part.to_vec());
                            disk.apply(&Step::Write { number, generation, offset: at, data });
                        }
                    }
                }
                _ if left > 0 => {
                    left -= 1;
                    disk.apply(step);
                }
                _ => {}
            }
        }
        disk.clock = machine.clock;
        if rng.u8(..3) == 0 {
            disk.clock.seconds = rng.u64(1..=machine.clock.seconds);
        }
        disk
    }

    fn machine(&self) -> Result<Held<'_>> {
        self.0.machine()
    }
}

/// The parts of data that lie in different sectors of the file.
fn sectors(offset: usize, data: &[u8]) -> Vec<(usize, &[u8])> {
    let mut parts = Vec::new();
    let mut at = offset;
    let end = offset + data.len();
    while at < end {
        let next = end.min((at / SECTOR_BYTES + 1) * SECTOR_BYTES);
        parts.push((at, &data[at - offset..next - offset]));
        at = next;
    }
    parts
}

impl Shared {
    fn machine(&self) -> Result<Held<'_>> {
        // Others run meanwhile.
        thread::yield_now();
        self.power.call().map_err(Error::Io)?;
        Ok(Held(Some(self.machine.lock().unwrap())))
    }
}

/// The machine during a call. Others run when it ends, before the caller goes on.
struct Held<'m>(Option<MutexGuard<'m, Machine>>);

impl Deref for Held<'_> {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        self.0.as_ref().unwrap()
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Machine {
        self.0.as_mut().unwrap()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        drop(self.0.take());
        thread::yield_now();
    }
}

impl FileSystem for DiskFs {
    fn root(&self) -> Handle {
        Handle::new(&[&ROOT.to_be_bytes()[..], &0u32.to_be_bytes()].concat()).unwrap()
    }

    fn attributes(&self, _cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
        let machine = self.machine()?;
        let number = machine.now.number(node)?;
        Ok(machine.now.entry(number).attributes)
    }

    fn set_attributes(&self, _cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        let mut machine = self.machine()?;
        let number = machine.now.number(node)?;
        let now = machine.clock.tick();
        let mut attributes = machine.now.inodes[&number].attributes;
        change(&mut attributes, set, now);
        if let Some(size_bytes) = set.size_bytes {
            attributes.modified = set.modified.map_or(now, |_| attributes.modified);
            machine.step(Step::Resize { number, size_bytes });
        }
        machine.step(Step::Set { number, attributes });
        Ok(machine.now.entry(number).attributes)
    }

    fn lookup(&self, _cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        let machine = self.machine()?;
        let (_, found) = machine.now.find(&place)?;
        found.map(|number| machine.now.entry(number)).ok_or(Error::NoEntry)
    }

    fn parent(&self, _cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
        let machine = self.machine()?;
        let number = machine.now.number(dir)?;
        let parent = machine.now.inodes.iter().find(|(_, inode)| inode.names.values().any(|child| *child == number));
        Ok(machine.now.entry(parent.map_or(ROOT, |(parent, _)| *parent)))
    }

    fn read_link(&self, _cx: &Context<'_>, node: &Handle) -> Result<Vec<u8>> {
        Ok(self.machine()?.now.inode(node)?.data.clone())
    }

    fn open(&self, _cx: &Context<'_>, node: &Handle, _mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        self.machine()?.now.inode(node)?;
        Ok(Arc::new(DiskFile { shared: Arc::clone(&self.0), handle: *node }))
    }

    fn read_dir(&self, _cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        let machine = self.machine()?;
        let names = machine.now.inode(list.dir)?.names.clone();
        for (index, (name, number)) in names.iter().enumerate().skip(list.after as usize) {
            let entry = (list.detail == Detail::Entries).then(|| machine.now.entry(*number));
            let given = DirEntry { name, fileid: *number, cookie: index as u64 + 1, kind: None, entry };
            if let ControlFlow::Break(()) = each(given) {
                return Ok(Listing::Stopped);
            }
        }
        Ok(Listing::Complete)
    }

    fn create(&self, _cx: &Context<'_>, place: Place<'_>, _mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        self.machine()?.make(place, FileKind::Regular, (&[], set))
    }

    fn make_node(&self, _cx: &Context<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        let mut machine = self.machine()?;
        match node {
            NewNode::Directory => machine.make(place, FileKind::Directory, (&[], set)),
            NewNode::Symlink(target) => machine.make(place, FileKind::Symlink, (target, set)),
            _ => Err(Error::NotSupported),
        }
    }

    fn link(&self, _cx: &Context<'_>, node: &Handle, place: Place<'_>) -> Result<Attributes> {
        let mut machine = self.machine()?;
        let number = machine.now.number(node)?;
        let (dir, existing) = machine.now.find(&place)?;
        if existing.is_some() {
            return Err(Error::Exists);
        }
        if machine.now.inodes[&number].attributes.kind == FileKind::Directory {
            return Err(Error::IsDirectory);
        }
        machine.step(Step::Link { dir, name: place.name.as_bytes().to_vec(), number });
        Ok(machine.now.entry(number).attributes)
    }

    fn remove(&self, _cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        let mut machine = self.machine()?;
        let (dir, found) = machine.now.find(&place)?;
        if machine.now.inodes[&found.ok_or(Error::NoEntry)?].attributes.kind == FileKind::Directory {
            return Err(Error::IsDirectory);
        }
        machine.step(Step::Unlink { dir, name: place.name.as_bytes().to_vec() });
        Ok(())
    }

    fn remove_dir(&self, _cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        let mut machine = self.machine()?;
        let (dir, found) = machine.now.find(&place)?;
        let inode = &machine.now.inodes[&found.ok_or(Error::NoEntry)?];
        if inode.attributes.kind != FileKind::Directory {
            return Err(Error::NotDirectory);
        }
        if !inode.names.is_empty() {
            return Err(Error::NotEmpty);
        }
        machine.step(Step::Unlink { dir, name: place.name.as_bytes().to_vec() });
        Ok(())
    }

    fn rename(&self, _cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        let mut machine = self.machine()?;
        let (from_dir, source) = machine.now.find(&from)?;
        let (to_dir, target) = machine.now.find(&to)?;
        let source = source.ok_or(Error::NoEntry)?;
        if target == Some(source) {
            return Ok(());
        }
        if machine.now.is_above(source, to_dir) {
            return Err(Error::Invalid);
        }
        let is_dir = |number: u64| machine.now.inodes[&number].attributes.kind == FileKind::Directory;
        if let Some(target) = target {
            match (is_dir(source), is_dir(target)) {
                (true, false) => return Err(Error::NotDirectory),
                (false, true) => return Err(Error::IsDirectory),
                (true, true) if !machine.now.inodes[&target].names.is_empty() => return Err(Error::NotEmpty),
                _ => {}
            }
        }
        let name = |place: &Place<'_>| place.name.as_bytes().to_vec();
        machine.step(Step::Rename { from: (from_dir, name(&from)), to: (to_dir, name(&to)) });
        Ok(())
    }

    fn sync_all(&self, _cx: &Context<'_>) -> Result<()> {
        let mut machine = self.machine()?;
        machine.durable = machine.now.clone();
        machine.steps.clear();
        Ok(())
    }
}

struct DiskFile {
    shared: Arc<Shared>,
    handle: Handle,
}

impl OpenFile for DiskFile {
    fn read_at(&self, _cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        let machine = self.shared.machine()?;
        let data = &machine.now.inode(&self.handle)?.data;
        let rest = &data[(offset_bytes as usize).min(data.len())..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, _cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        assert_eq!(stability, Stability::Unstable, "the log makes writes stable");
        let mut machine = self.shared.machine()?;
        let number = machine.now.number(&self.handle)?;
        let generation = machine.now.inodes[&number].generation;
        machine.step(Step::Write { number, generation, offset: offset_bytes as usize, data: data.to_vec() });
        let now = machine.clock.tick();
        let attributes = machine.now.inodes[&number].attributes;
        machine.step(Step::Set { number, attributes: Attributes { modified: now, changed: now, ..attributes } });
        Ok(Written { count: data.len(), stability })
    }

    fn sync(&self, _cx: &Context<'_>) -> Result<()> {
        let mut machine = self.shared.machine()?;
        let number = machine.now.number(&self.handle)?;
        machine.sync_file(number);
        Ok(())
    }

    fn attributes(&self, _cx: &Context<'_>) -> Result<Attributes> {
        let machine = self.shared.machine()?;
        let number = machine.now.number(&self.handle)?;
        Ok(machine.now.entry(number).attributes)
    }
}
