//! Captured calls of NFSv3, with numbers in the place of handles and names.

use client::proto::Operation;
use client::proto::nfs3::{self, CreateHow, DirOp, FileHandle, MAX_DATA_BYTES, MknodData, Sattr, StableHow};
use measure::record::Direction;
use xdr::{Decode, Decoder};

/// The number of a file that the capture has the handle of, or that it must have had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileId(pub u32);

/// The number of a name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NameId {
    /// `.`
    This,
    /// `..`
    Parent,
    /// A name that the replay invents.
    Invented(u32),
}

/// A name in its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub dir: FileId,
    pub name: NameId,
}

/// What a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Op {
    Null,
    Getattr(FileId),
    Setattr(FileId, Box<Sattr>),
    Lookup(Place),
    Access(FileId, u32),
    Readlink(FileId),
    Read { file: FileId, offset: u64, count: u32 },
    Write { file: FileId, offset: u64, count: u32, stable: StableHow },
    Create(Place, Box<CreateHow>),
    Mkdir(Place, Box<Sattr>),
    Symlink { place: Place, target_bytes: u32 },
    Mknod(Place),
    Remove(Place),
    Rmdir(Place),
    Rename(Place, Place),
    Link(FileId, Place),
    Readdir { dir: FileId, cookie: u64, count: u32 },
    Readdirplus { dir: FileId, cookie: u64, dir_count: u32, max_count: u32 },
    Fsstat(FileId),
    Fsinfo(FileId),
    Pathconf(FileId),
    Commit { file: FileId, offset: u64, count: u32 },
}

/// Why a captured call is not replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum LeftOut {
    /// It is of another version of NFS.
    #[error("NFSv{0}, of which calls are not replayed")]
    Version(u32),
    /// It is of another program.
    #[error("of program {0}, which is not NFS")]
    Program(u32),
    /// Its arguments are wrapped.
    #[error("secured by RPCSEC_GSS, which hides their arguments")]
    Secured,
    /// The packets are too short, or some are missing.
    #[error("not captured up to the end of their arguments; tcpdump without -s captures them")]
    Truncated,
    /// The arguments make no sense.
    #[error("with arguments that cannot be decoded")]
    Damaged,
    /// There is no such procedure.
    #[error("of procedure {0}, which NFSv3 does not have")]
    Procedure(u32),
    /// A transfer is larger than Wharf's client sends.
    #[error("with more than 1 MiB of data")]
    TooLarge,
    /// There are too many files or names.
    #[error("of files beyond the first million; replay a part of the capture")]
    TooMany,
    /// The replay has no handle for the file.
    #[error("of files that the replay could not make")]
    NoFile,
    /// The listing that it continues is not known.
    #[error("that continue listings whose beginning was not captured")]
    NoPosition,
}

/// Gives numbers to handles and names.
pub(super) trait Numbers {
    fn file(&mut self, handle: &FileHandle) -> Result<FileId, LeftOut>;
    fn place(&mut self, place: &DirOp<'_>) -> Result<Place, LeftOut>;
}

fn arguments<'a, O: Operation>(from: &mut Decoder<'a>) -> Result<O::Arguments<'a>, LeftOut> {
    Ok(O::Arguments::decode(from)?)
}

impl From<xdr::Error> for LeftOut {
    fn from(error: xdr::Error) -> LeftOut {
        match error {
            xdr::Error::Truncated { .. } => LeftOut::Truncated,
            _ => LeftOut::Damaged,
        }
    }
}

impl Op {
    /// Decodes the arguments of a procedure.
    pub(super) fn decode(procedure: u32, mut from: Decoder<'_>, numbers: &mut impl Numbers) -> Result<Op, LeftOut> {
        use nfs3::*;
        let from = &mut from;
        let op = match procedure {
            Null::PROCEDURE => Op::Null,
            Getattr::PROCEDURE => Op::Getattr(numbers.file(&arguments::<Getattr>(from)?.object)?),
            Setattr::PROCEDURE => {
                let SetattrArgs { object, attributes, .. } = arguments::<Setattr>(from)?;
                Op::Setattr(numbers.file(&object)?, Box::new(harmless(attributes)))
            }
            Access::PROCEDURE => {
                let AccessArgs { object, access } = arguments::<Access>(from)?;
                Op::Access(numbers.file(&object)?, access)
            }
            Readlink::PROCEDURE => Op::Readlink(numbers.file(&arguments::<Readlink>(from)?.symlink)?),
            Read::PROCEDURE => {
                let ReadArgs { file, offset, count } = arguments::<Read>(from)?;
                Op::Read { file: numbers.file(&file)?, offset, count: transfer(count)? }
            }
            Write::PROCEDURE => Op::decode_write(from, numbers)?,
            Readdir::PROCEDURE => {
                let ReaddirArgs { dir, cookie, count, .. } = arguments::<Readdir>(from)?;
                Op::Readdir { dir: numbers.file(&dir)?, cookie, count: transfer(count)? }
            }
            Readdirplus::PROCEDURE => {
                let ReaddirplusArgs { dir, cookie, dir_count, max_count, .. } = arguments::<Readdirplus>(from)?;
                Op::Readdirplus { dir: numbers.file(&dir)?, cookie, dir_count, max_count: transfer(max_count)? }
            }
            Fsstat::PROCEDURE => Op::Fsstat(numbers.file(&arguments::<Fsstat>(from)?.object)?),
            Fsinfo::PROCEDURE => Op::Fsinfo(numbers.file(&arguments::<Fsinfo>(from)?.object)?),
            Pathconf::PROCEDURE => Op::Pathconf(numbers.file(&arguments::<Pathconf>(from)?.object)?),
            Commit::PROCEDURE => {
                let CommitArgs { file, offset, count } = arguments::<Commit>(from)?;
                Op::Commit { file: numbers.file(&file)?, offset, count }
            }
            other => Op::decode_naming(other, from, numbers)?,
        };
        Ok(op)
    }

    /// Decodes the arguments of a procedure that has names.
    fn decode_naming(procedure: u32, from: &mut Decoder<'_>, numbers: &mut impl Numbers) -> Result<Op, LeftOut> {
        use nfs3::*;
        let op = match procedure {
            Lookup::PROCEDURE => Op::Lookup(numbers.place(&arguments::<Lookup>(from)?.what)?),
            Create::PROCEDURE => {
                let CreateArgs { place, how } = arguments::<Create>(from)?;
                Op::Create(numbers.place(&place)?, Box::new(harmless_how(how)))
            }
            Mkdir::PROCEDURE => {
                let MkdirArgs { place, attributes } = arguments::<Mkdir>(from)?;
                Op::Mkdir(numbers.place(&place)?, Box::new(harmless(attributes)))
            }
            Symlink::PROCEDURE => {
                let SymlinkArgs { place, target, .. } = arguments::<Symlink>(from)?;
                let target_bytes = target.len().clamp(1, MAX_PATH_BYTES - 1) as u32;
                Op::Symlink { place: numbers.place(&place)?, target_bytes }
            }
            Mknod::PROCEDURE => Op::Mknod(numbers.place(&arguments::<Mknod>(from)?.place)?),
            Remove::PROCEDURE => Op::Remove(numbers.place(&arguments::<Remove>(from)?.object)?),
            Rmdir::PROCEDURE => Op::Rmdir(numbers.place(&arguments::<Rmdir>(from)?.object)?),
            Rename::PROCEDURE => {
                let RenameArgs { from, to } = arguments::<Rename>(from)?;
                Op::Rename(numbers.place(&from)?, numbers.place(&to)?)
            }
            Link::PROCEDURE => {
                let LinkArgs { file, link } = arguments::<Link>(from)?;
                Op::Link(numbers.file(&file)?, numbers.place(&link)?)
            }
            other => return Err(LeftOut::Procedure(other)),
        };
        Ok(op)
    }

    /// Decodes what precedes the data of a WRITE: the rest need not be captured.
    fn decode_write(from: &mut Decoder<'_>, numbers: &mut impl Numbers) -> Result<Op, LeftOut> {
        let (file, offset, count) = (FileHandle::decode(from)?, from.u64()?, from.u32()?);
        let stable = StableHow::decode(from)?;
        Ok(Op::Write { file: numbers.file(&file)?, offset, count: transfer(count)?, stable })
    }

    /// Its number and its name.
    pub(super) fn procedure(&self) -> usize {
        use nfs3::*;
        let number = match self {
            Op::Null => Null::PROCEDURE,
            Op::Getattr(_) => Getattr::PROCEDURE,
            Op::Setattr(..) => Setattr::PROCEDURE,
            Op::Lookup(_) => Lookup::PROCEDURE,
            Op::Access(..) => Access::PROCEDURE,
            Op::Readlink(_) => Readlink::PROCEDURE,
            Op::Read { .. } => Read::PROCEDURE,
            Op::Write { .. } => Write::PROCEDURE,
            Op::Create(..) => Create::PROCEDURE,
            Op::Mkdir(..) => Mkdir::PROCEDURE,
            Op::Symlink { .. } => Symlink::PROCEDURE,
            Op::Mknod(_) => Mknod::PROCEDURE,
            Op::Remove(_) => Remove::PROCEDURE,
            Op::Rmdir(_) => Rmdir::PROCEDURE,
            Op::Rename(..) => Rename::PROCEDURE,
            Op::Link(..) => Link::PROCEDURE,
            Op::Readdir { .. } => Readdir::PROCEDURE,
            Op::Readdirplus { .. } => Readdirplus::PROCEDURE,
            Op::Fsstat(_) => Fsstat::PROCEDURE,
            Op::Fsinfo(_) => Fsinfo::PROCEDURE,
            Op::Pathconf(_) => Pathconf::PROCEDURE,
            Op::Commit { .. } => Commit::PROCEDURE,
        };
        number as usize
    }

    /// What its bytes count as.
    pub(super) fn direction(&self) -> Direction {
        match self {
            Op::Read { .. } => Direction::Read,
            Op::Write { .. } => Direction::Write,
            Op::Commit { .. } => Direction::Sync,
            _ => Direction::Metadata,
        }
    }

    /// How many bytes it moves at most.
    pub(super) fn wanted_bytes(&self) -> Option<u64> {
        match self {
            Op::Read { count, .. } | Op::Write { count, .. } => Some((*count).into()),
            _ => None,
        }
    }

    /// The files whose handles it has.
    pub(super) fn files(&self) -> [Option<FileId>; 2] {
        match self {
            Op::Null => [None, None],
            Op::Getattr(file)
            | Op::Setattr(file, _)
            | Op::Access(file, _)
            | Op::Readlink(file)
            | Op::Read { file, .. }
            | Op::Write { file, .. }
            | Op::Readdir { dir: file, .. }
            | Op::Readdirplus { dir: file, .. }
            | Op::Fsstat(file)
            | Op::Fsinfo(file)
            | Op::Pathconf(file)
            | Op::Commit { file, .. } => [Some(*file), None],
            Op::Link(file, place) => [Some(*file), Some(place.dir)],
            _ => self.places().map(|place| place.map(|place| place.dir)),
        }
    }

    /// The names that it uses.
    pub(super) fn places(&self) -> [Option<Place>; 2] {
        match self {
            Op::Rename(from, to) => [Some(*from), Some(*to)],
            Op::Lookup(place)
            | Op::Create(place, _)
            | Op::Mkdir(place, _)
            | Op::Symlink { place, .. }
            | Op::Mknod(place)
            | Op::Remove(place)
            | Op::Rmdir(place)
            | Op::Link(_, place) => [Some(*place), None],
            _ => [None, None],
        }
    }
}

fn transfer(count: u32) -> Result<u32, LeftOut> {
    if count as usize <= MAX_DATA_BYTES { Ok(count) } else { Err(LeftOut::TooLarge) }
}

/// Attributes that leave the files to the user of the replay, who then can go on with them.
fn harmless(set: Sattr) -> Sattr {
    Sattr { mode: set.mode.map(|mode| mode & 0o777 | 0o700), uid: None, gid: None, ..set }
}

fn harmless_how(how: CreateHow) -> CreateHow {
    match how {
        CreateHow::Unchecked(set) => CreateHow::Unchecked(harmless(set)),
        CreateHow::Guarded(set) => CreateHow::Guarded(harmless(set)),
        CreateHow::Exclusive(verifier) => CreateHow::Exclusive(verifier),
    }
}

/// What MKNOD makes in a replay, whatever it made in the capture: devices would require the superuser.
pub(super) const NODE: MknodData = MknodData::Fifo(Sattr {
    mode: Some(0o600),
    uid: None,
    gid: None,
    size: None,
    accessed: nfs3::SetTime::DontChange,
    modified: nfs3::SetTime::DontChange,
});
