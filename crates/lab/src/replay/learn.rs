//! What the reply to a captured call shows of the files.

use std::net::IpAddr;

use client::Status;
use client::proto::nfs3::{self, CreateHow, CreateOk, DirEntryPlus, PostOpAttr};
use xdr::{Decode, Decoder};

use super::ids::{FileId, Place};
use super::left_out::LeftOut;
use super::op::Op;
use super::tree::{Kind, Tree};

/// What is kept of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Learned {
    pub status: Status,
    /// The file whose handle it has.
    pub file: Option<FileId>,
    /// Where the listing goes on.
    pub cookie: Option<u64>,
}

impl Learned {
    pub(super) fn of(status: Status) -> Learned {
        Learned { status, file: None, cookie: None }
    }
}

/// A call of the capture whose reply is there.
pub(super) struct Lesson<'t> {
    pub tree: &'t mut Tree,
    pub server: IpAddr,
    /// The number of the call.
    pub call: u32,
}

/// Notes what a call does, when it is seen.
pub(super) fn note_call(tree: &mut Tree, op: &Op, call: u32) {
    match op {
        Op::Write { file, .. } => {
            tree.suppose(*file, Kind::Regular);
            tree.note_resize(*file);
        }
        Op::Read { file, offset, count } => {
            tree.suppose(*file, Kind::Regular);
            tree.note_asked(*file, *offset..offset.saturating_add((*count).into()));
        }
        Op::Commit { file, .. } => tree.suppose(*file, Kind::Regular),
        Op::Readlink(file) => tree.suppose(*file, Kind::Symlink),
        Op::Readdir { dir, .. } | Op::Readdirplus { dir, .. } | Op::Fsstat(dir) | Op::Fsinfo(dir) => {
            tree.suppose(*dir, Kind::Directory);
        }
        _ => {}
    }
    op.resized().into_iter().for_each(|file| tree.note_resize(file));
    op.places().into_iter().for_each(|place| tree.suppose(place.dir, Kind::Directory));
    op.changes().into_iter().for_each(|(place, change)| tree.note_change(place, change, call));
}

impl Lesson<'_> {
    /// Learns from the results of a call. Nothing is returned when not even the status was captured.
    pub(super) fn learn(mut self, op: &Op, results: &Decoder<'_>) -> Option<Learned> {
        if *op == Op::Null {
            return Some(Learned::of(Status::Ok));
        }
        let status = Status::from(nfs3::Status::decode(&mut results.clone()).ok()?);
        let mut learned = Learned::of(status);
        // A truncated reply shows its status, and nothing else.
        let _ = match status {
            Status::Ok => self.success(op, results, &mut learned),
            status => self.failure(op, status),
        };
        Some(learned)
    }

    fn failure(&mut self, op: &Op, status: Status) -> Result<(), LeftOut> {
        match (op, status) {
            (_, Status::Stale | Status::BadHandle) => {
                op.files().into_iter().for_each(|file| self.tree.note_stale(file));
            }
            (Op::Lookup(place) | Op::Remove(place) | Op::Rmdir(place), Status::NoEntry) => {
                self.tree.note_absent(*place);
            }
            (Op::Mkdir(place, _), Status::Exists) => drop(self.tree.note_existed(*place, Kind::Directory)?),
            (
                Op::Create(place, _) | Op::Symlink { place, .. } | Op::Mknod(place) | Op::Link(_, place),
                Status::Exists,
            ) => {
                self.tree.note_existed(*place, Kind::Regular)?;
            }
            (Op::Rmdir(place), Status::NotEmpty) => drop(self.tree.note_existed(*place, Kind::Directory)?),
            _ => {}
        }
        Ok(())
    }

    fn success(&mut self, op: &Op, results: &Decoder<'_>, learned: &mut Learned) -> Result<(), LeftOut> {
        use nfs3::*;
        op.files().into_iter().for_each(|file| self.tree.note_exists(file));
        match op {
            Op::Getattr(file) => {
                let found = ok::<GetattrOk>(results)?.attributes;
                self.tree.note_attributes(*file, Some(&found));
            }
            Op::Setattr(file, _) => self.tree.note_wcc(*file, &ok::<WccData>(results)?),
            Op::Lookup(place) => {
                let LookupOk { object, attributes, .. } = ok::<LookupOk>(results)?;
                let file = self.tree.note_found(*place, self.server, object.into(), self.call)?;
                self.tree.note_attributes(file, attributes.as_ref());
                learned.file = Some(file);
            }
            Op::Access(file, _) => self.attributes(*file, ok::<AccessOk>(results)?.attributes),
            Op::Readlink(file) => self.attributes(*file, ok::<ReadlinkOk>(results)?.attributes),
            Op::Read { file, offset, .. } => {
                // The data need not be captured.
                let head = ok::<ReadHead>(results)?;
                self.attributes(*file, head.attributes);
                self.tree.note_read(*file, offset.saturating_add(head.count.into()));
            }
            Op::Write { file, .. } => self.tree.note_wcc(*file, &ok::<WriteOk>(results)?.file_wcc),
            Op::Commit { file, .. } => self.tree.note_wcc(*file, &ok::<CommitOk>(results)?.file_wcc),
            Op::Readdir { dir, .. } => learned.cookie = self.listing(*dir, results)?,
            Op::Readdirplus { dir, .. } => learned.cookie = self.plus_listing(*dir, results)?,
            Op::Null | Op::Fsstat(_) | Op::Fsinfo(_) | Op::Pathconf(_) => {}
            _ => learned.file = self.change_of_names(op, results)?,
        }
        Ok(())
    }

    /// Learns from a change of names. Returns the file that was made.
    fn change_of_names(&mut self, op: &Op, results: &Decoder<'_>) -> Result<Option<FileId>, LeftOut> {
        match op {
            Op::Create(place, how) => {
                let file = self.made(*place, Kind::Regular, results)?;
                if matches!(**how, CreateHow::Unchecked(set) if set.size.is_some()) {
                    self.tree.note_resize(file);
                }
                return Ok(Some(file));
            }
            Op::Mkdir(place, _) => return self.made(*place, Kind::Directory, results).map(Some),
            Op::Symlink { place, .. } => return self.made(*place, Kind::Symlink, results).map(Some),
            Op::Mknod(place) => return self.made(*place, Kind::Regular, results).map(Some),
            Op::Remove(place) => self.removed(*place, Kind::Regular)?,
            Op::Rmdir(place) => self.removed(*place, Kind::Directory)?,
            Op::Rename(from, to) => {
                let moved = self.tree.note_existed(*from, Kind::Regular)?;
                self.tree.note_absent(*from);
                self.tree.note_bound(*to, moved);
            }
            Op::Link(file, place) => self.tree.note_bound(*place, Some(*file)),
            _ => {}
        }
        Ok(None)
    }

    fn attributes(&mut self, file: FileId, attributes: PostOpAttr) {
        self.tree.note_attributes(file, attributes.as_ref());
    }

    fn made(&mut self, place: Place, kind: Kind, results: &Decoder<'_>) -> Result<FileId, LeftOut> {
        // A reply without a handle, or one that was not captured, has made a file all the same.
        let handle = ok::<CreateOk>(results).ok().and_then(|made| made.object);
        self.tree.note_made(place, handle.map(|handle| (self.server, handle.into())), kind, self.call)
    }

    fn removed(&mut self, place: Place, kind: Kind) -> Result<(), LeftOut> {
        self.tree.note_existed(place, kind)?;
        self.tree.note_absent(place);
        Ok(())
    }

    /// Learns the entries of a listing as far as they were captured. Returns where it goes on.
    fn listing(&mut self, dir: FileId, results: &Decoder<'_>) -> Result<Option<u64>, LeftOut> {
        let (mut from, mut cookie) = (self.list_head(dir, results)?, None);
        while from.bool()? {
            let entry = nfs3::DirEntry::decode(&mut from)?;
            self.listed(dir, entry.name)?;
            cookie = Some(entry.cookie);
        }
        Ok(cookie)
    }

    fn plus_listing(&mut self, dir: FileId, results: &Decoder<'_>) -> Result<Option<u64>, LeftOut> {
        let (mut from, mut cookie) = (self.list_head(dir, results)?, None);
        while from.bool()? {
            let DirEntryPlus { entry, attributes, handle } = DirEntryPlus::decode(&mut from)?;
            match handle {
                Some(handle) if !matches!(entry.name, b"." | b"..") => {
                    let place = self.tree.place(dir, entry.name)?;
                    let file = self.tree.note_found(place, self.server, handle.into(), self.call)?;
                    self.attributes(file, attributes);
                }
                _ => self.listed(dir, entry.name)?,
            }
            cookie = Some(entry.cookie);
        }
        Ok(cookie)
    }

    /// Learns from what precedes the entries.
    fn list_head<'a>(&mut self, dir: FileId, results: &Decoder<'a>) -> Result<Decoder<'a>, LeftOut> {
        let mut from = results.clone();
        nfs3::Status::decode(&mut from)?;
        self.attributes(dir, nfs3::ReaddirHead::decode(&mut from)?.dir_attributes);
        Ok(from)
    }

    /// Notes an entry without a handle.
    fn listed(&mut self, dir: FileId, name: &[u8]) -> Result<(), LeftOut> {
        let place = self.tree.place(dir, name)?;
        self.tree.note_existed(place, Kind::Regular)?;
        Ok(())
    }
}

/// The results of a procedure that succeeded, or the first part of them.
fn ok<'a, T: Decode<'a>>(results: &Decoder<'a>) -> Result<T, LeftOut> {
    let mut from = results.clone();
    nfs3::Status::decode(&mut from)?;
    Ok(T::decode(&mut from)?)
}
