//! What the reply to a captured COMPOUND shows of the files and states.

use std::net::IpAddr;

use client::proto::nfs4::{
    ArgOp, Attribute, AttributeValue, CompoundReplyHead, CreateType, Delegation, Fattr, FileHandle, FileType,
    OpenClaim, OpenHow, OpenOk, RESULT_CONFIRM, ReaddirOk, Res, ResOp, ResOr,
};
use client::{Handle, Status};
use xdr::{Decode, Decoder};

use super::compound::{Compound, operations};
use super::ids::{FileId, Place};
use super::learn::Learned;
use super::left_out::LeftOut;
use super::states::States;
use super::tree::{Kind, Tree};

/// The most results of a COMPOUND that are read.
const MAX_RESULTS: u32 = 64;

/// A COMPOUND of the capture whose reply is there.
pub(super) struct CompoundLesson<'t> {
    pub tree: &'t mut Tree,
    pub states: &'t mut States,
    pub server: IpAddr,
    /// The number of the call.
    pub call: u32,
}

/// The operations of a COMPOUND with their results.
struct Steps<'c, 'r> {
    operations: Vec<ArgOp<'c>>,
    results: Vec<ResOp<'r>>,
    /// The names of each operation.
    places: Vec<Vec<Place>>,
    /// The last operation that was carried out, if its result was captured.
    last: Option<usize>,
}

impl CompoundLesson<'_> {
    /// Learns from the results. Nothing is returned when not even the status was captured.
    pub(super) fn learn(mut self, compound: &mut Compound, results: &Decoder<'_>) -> Option<Learned> {
        let mut from = results.clone();
        let head = CompoundReplyHead::decode(&mut from).ok()?;
        let mut learned = Learned::of(head.status.into());
        let arguments = compound.operations.clone();
        let steps = Steps::read(compound, &arguments, head.results, &mut from);
        for step in 0..steps.results.len() {
            let has_failed = learned.status != Status::Ok && Some(step) == steps.last;
            // A truncated reply shows less, and what has no number is not kept.
            let _ = match has_failed {
                true => self.failure(compound, &steps, step, learned.status),
                false => self.success(compound, &steps, step, &mut learned),
            };
        }
        Some(learned)
    }

    fn failure(
        &mut self,
        compound: &Compound,
        steps: &Steps<'_, '_>,
        step: usize,
        status: Status,
    ) -> Result<(), LeftOut> {
        let place = steps.places[step].first().copied();
        match (&steps.operations[step], status, place) {
            (_, Status::Stale | Status::BadHandle, _) => {
                let current = compound.current[step];
                current.into_iter().for_each(|file| self.tree.note_stale(file));
            }
            (ArgOp::Lookup(_) | ArgOp::Open(_) | ArgOp::Remove(_), Status::NoEntry, Some(place)) => {
                self.tree.note_absent(place);
            }
            (ArgOp::Create(create), Status::Exists, Some(place)) => {
                self.tree.note_existed(place, kind_of(&create.kind))?;
            }
            (ArgOp::Open(_) | ArgOp::Link(_), Status::Exists, Some(place)) => {
                self.tree.note_existed(place, Kind::Regular)?;
            }
            (ArgOp::Remove(_), Status::NotEmpty, Some(place)) => {
                self.tree.note_existed(place, Kind::Directory)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn success(
        &mut self,
        compound: &mut Compound,
        steps: &Steps<'_, '_>,
        step: usize,
        learned: &mut Learned,
    ) -> Result<(), LeftOut> {
        let current = compound.current[step];
        match (&steps.operations[step], &steps.results[step]) {
            (ArgOp::Open(open), ResOp::Open(Res::Ok(ok))) => {
                if let OpenClaim::Null(_) = open.claim {
                    let made = matches!(open.how, OpenHow::Create(_)).then_some(Kind::Regular);
                    self.arrive(compound, steps, step, made)?;
                }
                self.note_open(compound, ok)?;
            }
            (ArgOp::Lookup(_), _) => self.arrive(compound, steps, step, None)?,
            (ArgOp::Create(create), _) => self.arrive(compound, steps, step, Some(kind_of(&create.kind)))?,
            (ArgOp::Getfh, ResOp::Getfh(Res::Ok(handle))) => self.note_handle(compound, step, (*handle).into())?,
            (ArgOp::Verify(verify), _) => {
                current.into_iter().for_each(|file| self.attributes(file, &verify.attributes));
            }
            (ArgOp::Getattr(_), ResOp::Getattr(Res::Ok(attributes))) => {
                current.into_iter().for_each(|file| self.attributes(file, attributes));
            }
            (ArgOp::Read(read), ResOp::Read(Res::Ok(ok))) => {
                let end = read.offset.saturating_add(ok.data.len() as u64);
                current.into_iter().for_each(|file| self.tree.note_read(file, end));
            }
            (ArgOp::Readdir(_), ResOp::Readdir(Res::Ok(ok))) => {
                learned.cookie = ok.entries.last().map(|entry| entry.cookie);
                current.map(|dir| self.listing(dir, ok)).transpose()?;
            }
            (ArgOp::Lock(_), ResOp::Lock(ResOr::Ok(ok))) => {
                compound.made = self.states.note_made(self.server, &ok.stateid, self.call)?;
            }
            (operation, _) => {
                let saved = steps.saved_before(step).and_then(|saved| compound.current[saved]);
                self.change_of_names(operation, &steps.places[step], saved)?;
            }
        }
        current.into_iter().for_each(|file| self.tree.note_exists(file));
        Ok(())
    }

    fn change_of_names(
        &mut self,
        operation: &ArgOp<'_>,
        places: &[Place],
        saved: Option<FileId>,
    ) -> Result<(), LeftOut> {
        match (operation, places) {
            (ArgOp::Remove(_), [place]) => {
                self.tree.note_existed(*place, Kind::Regular)?;
                self.tree.note_absent(*place);
            }
            (ArgOp::Rename(_), [from, to]) => {
                let moved = self.tree.note_existed(*from, Kind::Regular)?;
                self.tree.note_absent(*from);
                self.tree.note_bound(*to, moved);
            }
            (ArgOp::Link(_), [place]) => self.tree.note_bound(*place, saved),
            _ => {}
        }
        Ok(())
    }

    /// Notes that a name was found, or that a file was made there. The handle is in the results behind.
    fn arrive(
        &mut self,
        compound: &mut Compound,
        steps: &Steps<'_, '_>,
        step: usize,
        made: Option<Kind>,
    ) -> Result<(), LeftOut> {
        let [place] = steps.places[step][..] else { return Ok(()) };
        let file = match (made, steps.handle_behind(step)) {
            (Some(kind), handle) => {
                let made = handle.map(|handle| (self.server, handle));
                Some(self.tree.note_made(place, made, kind, self.call)?)
            }
            (None, Some(handle)) => Some(self.tree.note_found(place, self.server, handle, self.call)?),
            (None, None) => self.tree.note_existed(place, steps.kind_behind(step))?,
        };
        replace(compound, step, file);
        Ok(())
    }

    /// Notes the handle of the current file.
    fn note_handle(&mut self, compound: &mut Compound, step: usize, handle: Handle) -> Result<(), LeftOut> {
        match (self.tree.known(self.server, handle), compound.current[step]) {
            (Some(known), _) => replace(compound, step, Some(known)),
            (None, Some(file)) => self.tree.give_handle(file, self.server, handle),
            (None, None) => replace(compound, step, Some(self.tree.file(self.server, handle)?)),
        }
        Ok(())
    }

    fn note_open(&mut self, compound: &mut Compound, ok: &OpenOk<'_>) -> Result<(), LeftOut> {
        let open = self.states.note_made(self.server, &ok.stateid, self.call)?;
        let delegation = match &ok.delegation {
            Delegation::Read(read) => self.states.note_made(self.server, &read.stateid, self.call)?,
            Delegation::Write(write) => self.states.note_made(self.server, &write.stateid, self.call)?,
            Delegation::None | Delegation::NoneExt(_) => None,
        };
        if let Some(delegation) = delegation {
            self.states[delegation].open = open;
        }
        (compound.made, compound.is_confirmed_later) = (open, ok.flags & RESULT_CONFIRM != 0);
        Ok(())
    }

    fn listing(&mut self, dir: FileId, ok: &ReaddirOk<'_>) -> Result<(), LeftOut> {
        for entry in &ok.entries {
            let place = self.tree.place(dir, entry.name.0)?;
            let about = About::of(&entry.attributes);
            match about.handle {
                Some(handle) => {
                    let file = self.tree.note_found(place, self.server, handle, self.call)?;
                    self.tree.note_kind_and_size(file, about.kind, about.size);
                }
                None => drop(self.tree.note_existed(place, about.kind.unwrap_or(Kind::Regular))?),
            }
        }
        Ok(())
    }

    fn attributes(&mut self, file: FileId, attributes: &Fattr<'_>) {
        let about = About::of(attributes);
        self.tree.note_kind_and_size(file, about.kind, about.size);
    }
}

/// Notes that the current file of an operation, and of those behind that keep it, is this one.
fn replace(compound: &mut Compound, step: usize, file: Option<FileId>) {
    let before = compound.current[step];
    let same = compound.current[step..].iter_mut().take_while(|current| **current == before);
    same.for_each(|current| *current = file);
}

impl<'c, 'r> Steps<'c, 'r> {
    /// Reads as many results as were captured.
    fn read(compound: &Compound, arguments: &'c [u8], count: u32, from: &mut Decoder<'r>) -> Steps<'c, 'r> {
        let operations: Vec<ArgOp<'c>> = operations(arguments).collect();
        let decode = |_| ResOp::decode(from).ok();
        let mut results: Vec<ResOp<'r>> = (0..count.min(MAX_RESULTS)).map_while(decode).collect();
        let is_whole = results.len() == count as usize;
        results.retain(|result| !matches!(result, ResOp::Sequence(_)));
        results.truncate(operations.len());
        let last = results.len().checked_sub(1).filter(|_| is_whole);
        let mut names = compound.names.iter().map(|name| name.place);
        let places = operations.iter().map(|operation| names.by_ref().take(name_count(operation)).collect()).collect();
        Steps { operations, results, places, last }
    }

    /// The handle of the file that an operation went to, if it is asked for before the next one goes on.
    fn handle_behind(&self, step: usize) -> Option<Handle> {
        self.behind(step).find_map(|result| match result {
            ResOp::Getfh(Res::Ok(handle)) => Some((*handle).into()),
            _ => None,
        })
    }

    /// What kind of file an operation went to: a directory, if a name in it is looked up.
    fn kind_behind(&self, step: usize) -> Kind {
        let attributes = self.behind(step).find_map(|result| match result {
            ResOp::Getattr(Res::Ok(attributes)) => About::of(attributes).kind,
            _ => None,
        });
        let is_dir = matches!(self.operations.get(step + 1), Some(ArgOp::Lookup(_) | ArgOp::Readdir(_)));
        attributes.unwrap_or(if is_dir { Kind::Directory } else { Kind::Regular })
    }

    /// The SAVEFH in front of an operation.
    fn saved_before(&self, step: usize) -> Option<usize> {
        self.operations[..step].iter().rposition(|operation| matches!(operation, ArgOp::Savefh))
    }

    /// The results that are about the same file.
    fn behind(&self, step: usize) -> impl Iterator<Item = &ResOp<'r>> {
        let goes_on = |operation: &ArgOp<'_>| {
            matches!(operation, ArgOp::Putfh(_) | ArgOp::Restorefh | ArgOp::Lookupp) || name_count(operation) > 0
        };
        let same = self.operations.iter().zip(&self.results).skip(step + 1);
        same.take_while(move |(operation, _)| !goes_on(operation)).map(|(_, result)| result)
    }
}

/// How many names an operation has.
fn name_count(operation: &ArgOp<'_>) -> usize {
    match operation {
        ArgOp::Rename(_) => 2,
        ArgOp::Open(open) => usize::from(matches!(open.claim, OpenClaim::Null(_))),
        ArgOp::Lookup(_) | ArgOp::Create(_) | ArgOp::Remove(_) | ArgOp::Link(_) | ArgOp::Secinfo(_) => 1,
        _ => 0,
    }
}

fn kind_of(made: &CreateType<'_>) -> Kind {
    match made {
        CreateType::Directory => Kind::Directory,
        CreateType::Symlink(_) => Kind::Symlink,
        _ => Kind::Regular,
    }
}

/// What attributes say of a file.
#[derive(Default)]
struct About {
    kind: Option<Kind>,
    size: Option<u64>,
    handle: Option<Handle>,
}

impl About {
    /// What can be decoded.
    fn of(attributes: &Fattr<'_>) -> About {
        let mut about = About::default();
        let _ = attributes.read(|attribute, from| {
            match attribute {
                Attribute::Type => {
                    about.kind = Some(match FileType::decode(from)? {
                        FileType::Directory => Kind::Directory,
                        FileType::Symlink => Kind::Symlink,
                        _ => Kind::Regular,
                    });
                }
                Attribute::Size => about.size = Some(from.u64()?),
                Attribute::FileHandle => {
                    about.handle = Some(FileHandle::decode(from)?.into());
                }
                other => AttributeValue::skip(other, from)?,
            }
            Ok(())
        });
        about
    }
}
