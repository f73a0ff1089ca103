//! Random changes, made in a file system and in the model.

use fastrand::Rng;
use vfs::{
    Context, CreateMode, FileKind, FileSystem, Handle, Name, NewNode, OpenMode, Place, Result, SetAttributes, SetXattr,
    Stability, XattrMode, XattrName,
};

use super::{File, Model, Part, Spot};

pub const CX: Context<'static> = Context::ROOT;

const TARGET: &[u8] = b"target";

/// The extended attribute that changes set.
pub const NOTE: &[u8] = b"note";

/// What a client asks for.
#[derive(Debug, Clone)]
pub enum Change {
    Make(Spot, FileKind),
    Remove(Spot),
    RemoveDir(Spot),
    Rename(Spot, Spot),
    Link(Handle, Spot),
    SetMode(Handle, u32),
    SetNote(Handle, Vec<u8>),
    Resize(Handle, usize),
    Write { file: Handle, offset: usize, byte: u8, length: usize, is_stable: bool },
    Commit(Handle),
}

/// What a change has led to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    /// The file that was made.
    pub handle: Option<Handle>,
    /// How many bytes were written.
    pub bytes: usize,
}

/// How large things get.
#[derive(Clone, Copy)]
pub struct Limits {
    pub max_offset: usize,
    pub max_write_bytes: usize,
    /// Of how many writes one is larger, and how large that may be.
    pub large: Option<(usize, usize)>,
    pub has_xattrs: bool,
}

impl Change {
    /// What somebody may want who knows the model.
    pub fn random(model: &Model, limits: &Limits, rng: &mut Rng) -> Change {
        if let Some(part) = model.part.as_ref().filter(|_| rng.u8(..3) == 0) {
            return Change::of_part(part, limits, rng);
        }
        let spot = random_spot(model, rng);
        match rng.u8(..21) {
            0..4 => Change::Make(spot, FileKind::Regular),
            4 => Change::Make(spot, FileKind::Directory),
            5 => Change::Make(spot, FileKind::Symlink),
            6 | 7 => Change::Remove(spot),
            8 => Change::RemoveDir(spot),
            9 | 10 => Change::Rename(spot, random_spot(model, rng)),
            kind => match pick(&model.regular(), rng) {
                Some(file) => Change::of_file(kind, file, spot, limits, rng),
                None => Change::Make(spot, FileKind::Regular),
            },
        }
    }

    fn of_file(kind: u8, file: Handle, spot: Spot, limits: &Limits, rng: &mut Rng) -> Change {
        match (kind, rng.u8(..3)) {
            (11, 0) if limits.has_xattrs => Change::SetNote(file, vec![rng.u8(..); rng.usize(..200)]),
            (11, _) => Change::Link(file, spot),
            (12, 0) => Change::SetMode(file, rng.u32(..0o1000)),
            (12, _) => Change::Resize(file, rng.usize(..limits.max_offset * 3 / 2)),
            (13 | 14, _) => Change::Commit(file),
            _ => Change::write(file, 0, limits, rng),
        }
    }

    /// What somebody may want with a part of a file.
    pub fn of_part(part: &Part, limits: &Limits, rng: &mut Rng) -> Change {
        match rng.u8(..3) {
            0 => Change::Commit(part.file),
            _ => Change::write(part.file, part.start, limits, rng),
        }
    }

    fn write(file: Handle, start: usize, limits: &Limits, rng: &mut Rng) -> Change {
        let large = limits.large.filter(|(one_of, _)| rng.usize(..*one_of) == 0);
        let max_bytes = large.map_or(limits.max_write_bytes, |(_, max_bytes)| max_bytes);
        let (offset, length) = (start + rng.usize(..limits.max_offset), rng.usize(1..max_bytes));
        Change::Write { file, offset, byte: rng.u8(1..), length, is_stable: rng.bool() }
    }

    /// Makes the change in a file system.
    pub fn make(&self, fs: &dyn FileSystem) -> Result<Done> {
        match self {
            Change::Make(spot, kind) => make_file(fs, place(spot), *kind),
            Change::Remove(spot) => fs.remove(&CX, place(spot)).map(|()| Done::default()),
            Change::RemoveDir(spot) => fs.remove_dir(&CX, place(spot)).map(|()| Done::default()),
            Change::Rename(from, to) => fs.rename(&CX, place(from), place(to)).map(|()| Done::default()),
            Change::Link(file, spot) => fs.link(&CX, file, place(spot)).map(|_| Done::default()),
            Change::SetMode(file, mode) => {
                set(fs, file, SetAttributes { mode: Some(*mode), ..SetAttributes::default() })
            }
            Change::Resize(file, size) => {
                set(fs, file, SetAttributes { size_bytes: Some(*size as u64), ..SetAttributes::default() })
            }
            Change::SetNote(file, value) => {
                let set = SetXattr { name: XattrName::new(NOTE).unwrap(), value, mode: XattrMode::Either };
                fs.set_xattr(&CX, file, &set).map(|()| Done::default())
            }
            Change::Write { file, offset, byte, length, is_stable } => {
                let stability = if *is_stable { Stability::File } else { Stability::Unstable };
                let open = fs.open(&CX, file, OpenMode::Write)?;
                let written = open.write_at(&CX, *offset as u64, &vec![*byte; *length], stability)?;
                Ok(Done { bytes: written.count, ..Done::default() })
            }
            Change::Commit(file) => fs.open(&CX, file, OpenMode::Write)?.sync(&CX).map(|()| Done::default()),
        }
    }
}

impl Model {
    /// Notes a change that a client was told is done.
    pub fn note(&mut self, change: &Change, done: Done) {
        match change {
            Change::Make(spot, kind) => self.make(spot.clone(), done.handle.unwrap(), new_file(*kind)),
            Change::Remove(spot) | Change::RemoveDir(spot) => self.remove(spot),
            Change::Rename(from, to) => self.rename(from, to),
            Change::Link(file, spot) => drop(self.names.insert(spot.clone(), *file)),
            Change::SetMode(file, mode) => self.file(file).0.mode = *mode,
            Change::SetNote(file, value) => self.file(file).0.note = Some(value.clone()),
            Change::Resize(file, size) => self.file(file).0.resize(*size),
            Change::Write { file, offset, byte, is_stable, .. } => {
                let (file, start) = self.file(file);
                file.write(*offset - start, &vec![*byte; done.bytes], *is_stable);
            }
            Change::Commit(file) => self.file(file).0.commit(),
        }
    }

    /// What there may be when the machine stops before somebody is told that a change is done: all of it or, as without
    /// this, nothing. Of a write any part may be there.
    pub fn note_doubtful(&mut self, change: &Change, handle: Option<Handle>) {
        match change {
            Change::Make(..) => self.note(change, Done { handle: handle.or(Some(unknown())), bytes: 0 }),
            Change::Write { file, offset, byte, length, .. } => {
                let (file, start) = self.file(file);
                file.write(*offset - start, &vec![*byte; *length], false);
            }
            Change::Commit(_) => {}
            _ => self.note(change, Done::default()),
        }
    }

    /// A file, and where its content begins.
    fn file(&mut self, file: &Handle) -> (&mut File, usize) {
        match &mut self.part {
            Some(part) if part.file == *file => (&mut part.content, part.start),
            _ => (self.files.get_mut(file).unwrap(), 0),
        }
    }
}

/// What stands for the handle of a file of which nobody knows it.
pub fn unknown() -> Handle {
    Handle::new(b"unknown").unwrap()
}

pub fn place(spot: &Spot) -> Place<'_> {
    Place { dir: spot.0, name: Name::new(&spot.1).unwrap() }
}

fn make_file(fs: &dyn FileSystem, place: Place<'_>, kind: FileKind) -> Result<Done> {
    let set = SetAttributes { mode: Some(new_file(kind).mode), ..SetAttributes::default() };
    let made = match kind {
        FileKind::Regular => fs.create(&CX, place, CreateMode::Guarded, &set),
        FileKind::Directory => fs.make_node(&CX, place, NewNode::Directory, &set),
        _ => fs.make_node(&CX, place, NewNode::Symlink(TARGET), &SetAttributes::default()),
    };
    Ok(Done { handle: Some(made?.handle), bytes: 0 })
}

fn new_file(kind: FileKind) -> File {
    match kind {
        FileKind::Regular => File::new(kind, 0o644),
        FileKind::Directory => File::new(kind, 0o700),
        _ => File { target: TARGET.to_vec(), ..File::new(kind, 0o777) },
    }
}

fn set(fs: &dyn FileSystem, file: &Handle, set: SetAttributes) -> Result<Done> {
    fs.set_attributes(&CX, file, &set).map(|_| Done::default())
}

fn pick(files: &[Handle], rng: &mut Rng) -> Option<Handle> {
    if files.is_empty() { None } else { Some(files[rng.usize(..files.len())]) }
}

fn random_spot(model: &Model, rng: &mut Rng) -> Spot {
    let dir = pick(&model.dirs(), rng).unwrap();
    (dir, vec![b'a' + rng.u8(..6)])
}
