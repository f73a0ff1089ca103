//! A random script of operations, done to two file systems beside each other.

use std::ops::ControlFlow;

use vfs::{
    Access, Attributes, Context, CreateMode, Detail, Entry, Error, FileSystem, Handle, Name, NewNode, OpenMode, Place,
    ReadDir, Result, SetAttributes, Stability,
};

use testing::Random;

const CX: Context<'static> = Context::ROOT;
/// Few, so that names are often there already.
const NAMES: [&[u8]; 6] = [b"a", b"b", b"c", b"d", b"e", b"\xff not utf-8"];
/// The most files that a script knows of.
const MAX_KNOWN: usize = 40;
const MAX_FILE_BYTES: u64 = 20_000;

/// The same file in both.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    model: Handle,
    real: Handle,
}

/// What an operation told that must be told by both.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    File(String),
    Bytes(Vec<u8>),
    Names(Vec<Vec<u8>>),
    Refused(String),
}

#[derive(Debug, Clone)]
enum Step {
    Create(Pair, usize, CreateMode, Option<u64>),
    MakeDir(Pair, usize),
    Symlink(Pair, usize),
    Lookup(Pair, usize),
    Remove(Pair, usize),
    RemoveDir(Pair, usize),
    Rename((Pair, usize), (Pair, usize)),
    Link(Pair, (Pair, usize)),
    Write(Pair, u64, (u8, usize)),
    Read(Pair, u64, usize),
    SetSize(Pair, u64),
    SetMode(Pair, u32),
    Attributes(Pair),
    Access(Pair),
    List(Pair, Detail),
    ReadLink(Pair),
    Parent(Pair),
}

pub struct Script<'f> {
    model: &'f dyn FileSystem,
    real: &'f dyn FileSystem,
    random: Random,
    known: Vec<Pair>,
}

impl<'f> Script<'f> {
    pub fn new(model: &'f dyn FileSystem, real: &'f dyn FileSystem, seed: u64) -> Script<'f> {
        let root = Pair { model: model.root(), real: real.root() };
        Script { model, real, random: Random(seed), known: vec![root] }
    }

    /// Does `count` steps and compares each.
    pub fn run(&mut self, count: usize, about: &str) {
        for number in 0..count {
            let step = self.step();
            let model = run(self.model, &step, |pair| pair.model);
            let real = run(self.real, &step, |pair| pair.real);
            if !is_alike(&step, &model, &real) {
                assert_eq!(told(&model), told(&real), "{about}, step {number}: {step:?}");
            }
            if let (Ok((_, Some(model))), Ok((_, Some(real)))) = (model, real) {
                self.know(Pair { model, real });
            }
        }
    }

    fn know(&mut self, pair: Pair) {
        if self.known.len() >= MAX_KNOWN {
            let at = 1 + self.random.below(self.known.len() as u64 - 1) as usize;
            self.known.swap_remove(at);
        }
        self.known.push(pair);
    }

    fn any(&mut self) -> Pair {
        let at = self.random.below(self.known.len() as u64) as usize;
        // The root is where most happens.
        if self.random.below(3) == 0 { self.known[0] } else { self.known[at] }
    }

    fn name(&mut self) -> usize {
        self.random.below(NAMES.len() as u64) as usize
    }

    fn step(&mut self) -> Step {
        let (file, name) = (self.any(), self.name());
        let offset = self.random.below(MAX_FILE_BYTES);
        match self.random.below(22) {
            0 => Step::Create(file, name, CreateMode::Unchecked, None),
            1 => Step::Create(file, name, CreateMode::Guarded, None),
            2 => Step::Create(file, name, CreateMode::Unchecked, Some(offset)),
            3 => Step::Create(file, name, CreateMode::Exclusive(self.random.next().to_be_bytes()), None),
            4 | 5 => Step::MakeDir(file, name),
            6 => Step::Symlink(file, name),
            7 => Step::Lookup(file, name),
            8 => Step::Remove(file, name),
            9 => Step::RemoveDir(file, name),
            10 | 11 => Step::Rename((file, name), (self.any(), self.name())),
            12 => Step::Link(file, (self.any(), name)),
            13 | 14 => Step::Write(file, offset, (name as u8, self.random.below(5000) as usize)),
            15 => Step::Read(file, offset, self.random.below(9000) as usize),
            16 => Step::SetSize(file, offset),
            17 => Step::SetMode(file, self.random.below(0o1000) as u32),
            18 => Step::Attributes(file),
            19 => Step::List(file, if name % 2 == 0 { Detail::Names } else { Detail::Entries }),
            20 => Step::ReadLink(file),
            _ if name == 0 => Step::Access(file),
            _ => Step::Parent(file),
        }
    }
}

/// Whether both refuse a step, with errors that a protocol has in place of each other.
fn is_alike(step: &Step, model: &Outcome, real: &Outcome) -> bool {
    let (Err(model), Err(real)) = (model, real) else { return false };
    match (step, model, real) {
        // What is there is not a regular file: CREATE says that it exists (RFC 1813 §3.3.8).
        (Step::Create(..), Error::IsDirectory | Error::WrongKind, Error::Exists) => true,
        // Two things are wrong, and either is said; what kind a file is, the client knows without asking.
        (_, Error::Stale, Error::NotDirectory | Error::IsDirectory | Error::WrongKind) => true,
        (Step::Link(..), Error::Stale, Error::Exists) => true,
        // Only a regular file has a size (RFC 1813 §3.3.2, INVAL).
        (Step::SetSize(..), Error::WrongKind, Error::Invalid) => true,
        _ => false,
    }
}

type Outcome = Result<(Told, Option<Handle>)>;

fn told(outcome: &Outcome) -> Told {
    match outcome {
        Ok((Told::Nothing, _)) => Told::Nothing,
        Ok((Told::File(text), _)) => Told::File(text.clone()),
        Ok((Told::Bytes(bytes), _)) => Told::Bytes(bytes.clone()),
        Ok((Told::Names(names), _)) => Told::Names(names.clone()),
        Ok((Told::Refused(text), _)) => Told::Refused(text.clone()),
        Err(error) => Told::Refused(error.to_string()),
    }
}

/// What both say of a file: what a directory's size is, and when things happened, is their own affair.
fn describe(attributes: &Attributes) -> Told {
    let size = if attributes.kind == vfs::FileKind::Regular { attributes.size_bytes } else { 0 };
    let Attributes { kind, mode, links, uid, gid, .. } = attributes;
    Told::File(format!("{kind:?} {mode:o} {links} {uid}:{gid} {size}"))
}

fn entry(entry: Entry) -> (Told, Option<Handle>) {
    (describe(&entry.attributes), Some(entry.handle))
}

fn run(files: &dyn FileSystem, step: &Step, of: impl Fn(&Pair) -> Handle) -> Outcome {
    let place = |dir: &Pair, name: usize| Place { dir: of(dir), name: Name::new(NAMES[name]).unwrap() };
    let mode = |mode| SetAttributes { mode: Some(mode), ..SetAttributes::default() };
    let nothing = |()| (Told::Nothing, None);
    let described = |attributes: Attributes| (describe(&attributes), None);
    match step {
        Step::Create(dir, name, how, size) => {
            let set = SetAttributes { size_bytes: *size, ..mode(0o640) };
            files.create(&CX, place(dir, *name), *how, &set).map(entry)
        }
        Step::MakeDir(dir, name) => {
            files.make_node(&CX, place(dir, *name), NewNode::Directory, &mode(0o750)).map(entry)
        }
        Step::Symlink(dir, name) => {
            files.make_node(&CX, place(dir, *name), NewNode::Symlink(b"to/there"), &mode(0o777)).map(entry)
        }
        Step::Lookup(dir, name) => files.lookup(&CX, place(dir, *name)).map(entry),
        Step::Remove(dir, name) => files.remove(&CX, place(dir, *name)).map(nothing),
        Step::RemoveDir(dir, name) => files.remove_dir(&CX, place(dir, *name)).map(nothing),
        Step::Rename((from, name), (to, new)) => files.rename(&CX, place(from, *name), place(to, *new)).map(nothing),
        Step::Link(file, (dir, name)) => files.link(&CX, &of(file), place(dir, *name)).map(described),
        Step::Write(file, offset, (byte, count)) => {
            let open = files.open(&CX, &of(file), OpenMode::Write)?;
            let written = open.write_at(&CX, *offset, &vec![*byte; *count], Stability::Unstable)?;
            open.sync(&CX)?;
            Ok((Told::File(written.count.to_string()), None))
        }
        Step::Read(file, offset, count) => {
            let mut buffer = vec![1; *count];
            let open = files.open(&CX, &of(file), OpenMode::Read)?;
            let count = open.read_at(&CX, *offset, &mut buffer)?;
            buffer.truncate(count);
            Ok((Told::Bytes(buffer), None))
        }
        Step::SetSize(file, size) => {
            let set = SetAttributes { size_bytes: Some(*size), ..SetAttributes::default() };
            files.set_attributes(&CX, &of(file), &set).map(described)
        }
        Step::SetMode(file, bits) => files.set_attributes(&CX, &of(file), &mode(*bits)).map(described),
        Step::Attributes(file) => files.attributes(&CX, &of(file)).map(described),
        Step::Access(file) => {
            let attributes = files.attributes(&CX, &of(file))?;
            let access = files.access(&CX, &of(file), &attributes, Access::ALL)?;
            Ok((Told::File(format!("{access:?}")), None))
        }
        Step::List(dir, detail) => list(files, &of(dir), *detail).map(|names| (Told::Names(names), None)),
        Step::ReadLink(file) => files.read_link(&CX, &of(file)).map(|target| (Told::Bytes(target), None)),
        Step::Parent(dir) => files.parent(&CX, &of(dir)).map(|above| (describe(&above.attributes), None)),
    }
}

/// All names, in the order of their bytes, asked for a few at a time.
pub fn list(files: &dyn FileSystem, dir: &Handle, detail: Detail) -> Result<Vec<Vec<u8>>> {
    let (mut names, mut after) = (Vec::new(), 0);
    loop {
        let mut few = 3;
        let listing = files.read_dir(&CX, ReadDir { dir, after, detail }, &mut |entry| {
            few -= 1;
            names.push(entry.name.to_vec());
            after = entry.cookie;
            assert_eq!(entry.entry.is_some(), detail == Detail::Entries);
            if few == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if listing == vfs::Listing::Complete {
            names.sort();
            return Ok(names);
        }
    }
}
