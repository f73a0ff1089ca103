//! Captured calls, with numbers in the place of handles and names.

use client::proto::Operation;
use client::proto::nfs3::{self, CreateHow, FileHandle, MknodData, Sattr, StableHow};
use client::proto::nfs4::OpNumber;
use measure::record::Direction;
use xdr::{Decode, Decoder};

use super::compound::Compound;
use super::ids::{Change, FileId, Place, StateId};
use super::invented::harmless_mode;
use super::left_out::{LeftOut, transfer};
use super::tree::NumbersOf;

/// What a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Op {
    Null,
    Getattr(FileId),
    Setattr(FileId, Box<Sattr>),
    Lookup(Place),
    Access(FileId, u32),
    Readlink(FileId),
    Read {
        file: FileId,
        offset: u64,
        count: u32,
    },
    Write {
        file: FileId,
        offset: u64,
        count: u32,
        stable: StableHow,
    },
    Create(Place, Box<CreateHow>),
    Mkdir(Place, Box<Sattr>),
    Symlink {
        place: Place,
        target_bytes: u32,
    },
    Mknod(Place),
    Remove(Place),
    Rmdir(Place),
    Rename(Place, Place),
    Link(FileId, Place),
    Readdir {
        dir: FileId,
        cookie: u64,
        count: u32,
    },
    Readdirplus {
        dir: FileId,
        cookie: u64,
        dir_count: u32,
        max_count: u32,
    },
    Fsstat(FileId),
    Fsinfo(FileId),
    Pathconf(FileId),
    Commit {
        file: FileId,
        offset: u64,
        count: u32,
    },
    /// Several operations of NFSv4.
    Compound(Box<Compound>),
}

fn arguments<'a, O: Operation>(from: &mut Decoder<'a>) -> Result<O::Arguments<'a>, LeftOut> {
    Ok(O::Arguments::decode(from)?)
}

impl Op {
    /// Decodes the arguments of a procedure.
    pub(super) fn decode(procedure: u32, mut from: Decoder<'_>, numbers: &mut NumbersOf<'_>) -> Result<Op, LeftOut> {
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
    fn decode_naming(procedure: u32, from: &mut Decoder<'_>, numbers: &mut NumbersOf<'_>) -> Result<Op, LeftOut> {
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
    fn decode_write(from: &mut Decoder<'_>, numbers: &mut NumbersOf<'_>) -> Result<Op, LeftOut> {
        let (file, offset, count) = (FileHandle::decode(from)?, from.u64()?, from.u32()?);
        let stable = StableHow::decode(from)?;
        Ok(Op::Write { file: numbers.file(&file)?, offset, count: transfer(count)?, stable })
    }

    /// The number of its procedure, or of the main operation.
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
            Op::Compound(compound) => compound.main.number(),
        };
        number as usize
    }

    /// What its bytes count as.
    pub(super) fn direction(&self) -> Direction {
        match self {
            Op::Read { .. } => Direction::Read,
            Op::Write { .. } => Direction::Write,
            Op::Commit { .. } => Direction::Sync,
            Op::Compound(compound) => compound.direction(),
            _ => Direction::Metadata,
        }
    }

    /// How many bytes it moves at most.
    pub(super) fn wanted_bytes(&self) -> Option<u64> {
        match self {
            Op::Read { count, .. } | Op::Write { count, .. } => Some((*count).into()),
            Op::Compound(compound) => compound.wanted_bytes,
            _ => None,
        }
    }

    /// The files whose handles it has.
    pub(super) fn files(&self) -> Vec<FileId> {
        match self {
            Op::Null => Vec::new(),
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
            | Op::Commit { file, .. } => vec![*file],
            Op::Link(file, place) => vec![*file, place.dir],
            Op::Compound(compound) => compound.files().collect(),
            _ => self.places().into_iter().map(|place| place.dir).collect(),
        }
    }

    /// The names that it uses.
    pub(super) fn places(&self) -> Vec<Place> {
        match self {
            Op::Rename(from, to) => vec![*from, *to],
            Op::Lookup(place)
            | Op::Create(place, _)
            | Op::Mkdir(place, _)
            | Op::Symlink { place, .. }
            | Op::Mknod(place)
            | Op::Remove(place)
            | Op::Rmdir(place)
            | Op::Link(_, place) => vec![*place],
            Op::Compound(compound) => compound.names.iter().map(|name| name.place).collect(),
            _ => Vec::new(),
        }
    }

    /// The names that it changes, and what it does to them.
    pub(super) fn changes(&self) -> Vec<(Place, Change)> {
        match self {
            Op::Create(place, how) if matches!(**how, CreateHow::Unchecked(_)) => vec![(*place, Change::MakesOrTakes)],
            Op::Create(place, _)
            | Op::Mkdir(place, _)
            | Op::Symlink { place, .. }
            | Op::Mknod(place)
            | Op::Link(_, place) => vec![(*place, Change::Makes)],
            Op::Remove(place) | Op::Rmdir(place) => vec![(*place, Change::Removes)],
            Op::Rename(from, to) => vec![(*from, Change::Removes), (*to, Change::MovesTo)],
            Op::Compound(compound) => {
                compound.names.iter().filter_map(|name| Some((name.place, name.change?))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The file whose size it sets.
    pub(super) fn resized(&self) -> Option<FileId> {
        match self {
            Op::Setattr(file, set) => set.size.map(|_| *file),
            Op::Compound(compound) => compound.resized,
            _ => None,
        }
    }

    /// The file that it opens, locks, unlocks or closes, or uses as one that is open.
    pub(super) fn open_file(&self) -> Option<FileId> {
        match self {
            Op::Compound(compound) if compound.changes_opens() || !compound.states.is_empty() => compound.main_file,
            _ => None,
        }
    }

    /// Whether it changes what is open or locked.
    pub(super) fn changes_opens(&self) -> bool {
        matches!(self, Op::Compound(compound) if compound.changes_opens())
    }

    /// Whether it ends the opens and locks that it uses.
    pub(super) fn ends_states(&self) -> bool {
        matches!(self, Op::Compound(compound) if matches!(compound.main, OpNumber::Close | OpNumber::Locku))
    }

    /// The directory that it lists, and from which cookie on.
    pub(super) fn listed(&self) -> Option<(FileId, u64)> {
        match self {
            Op::Readdir { dir, cookie, .. } | Op::Readdirplus { dir, cookie, .. } => Some((*dir, *cookie)),
            Op::Compound(compound) => compound.listed(),
            _ => None,
        }
    }

    /// The opens and locks that it uses.
    pub(super) fn states(&self) -> &[StateId] {
        match self {
            Op::Compound(compound) => &compound.states,
            _ => &[],
        }
    }
}

/// Attributes that leave the files to the user of the replay, who then can go on with them.
fn harmless(set: Sattr) -> Sattr {
    Sattr { mode: set.mode.map(harmless_mode), uid: None, gid: None, ..set }
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
