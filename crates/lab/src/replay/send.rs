//! Does one call of a capture over a connection, with the handles and names of the replay.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Instant;

use bytes::Bytes;
use client::proto::Operation;
use client::proto::nfs3::{self, CookieVerifier, FileHandle, Res};
use client::v4::Client;
use client::{Connection, Handle, Status};
use futures_util::future::LocalBoxFuture;

use super::capture::Call;
use super::ids::{FileId, Place, StateId};
use super::invented::{name, target};
use super::left_out::LeftOut;
use super::op::{NODE, Op};
use super::opens::{Change, Opens, OwnerTurn};
use crate::bench::lane::submit;

/// What the server answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: Status,
    pub moved_bytes: u64,
    /// The handle of the file that was found or made.
    pub object: Option<Handle>,
    /// The handles of files in the results of a COMPOUND.
    pub handles: Vec<(FileId, Handle)>,
    /// The cookie of the last entry of a listing, if it has one, and the verifier.
    pub listed: Option<(Option<u64>, CookieVerifier)>,
    /// The opens and locks that were made, changed or ended.
    pub states: Vec<(StateId, Change)>,
    /// The next sequence numbers of owners, if they are not those that follow.
    pub turns: Vec<OwnerTurn>,
}

/// Over what a connection of the capture is replayed.
#[derive(Debug)]
pub(super) enum Line {
    V3(Connection),
    /// A client of NFSv4 over one of its connections, and its number.
    V4(Client, u32),
}

/// Where a listing goes on: a cookie and its verifier.
pub(super) type Position = (u64, CookieVerifier);

/// The end of a call.
#[derive(Debug)]
pub(super) struct Ended {
    pub number: u32,
    pub began: Instant,
    pub result: client::Result<Answer>,
    pub submitted: Instant,
    pub at: Instant,
}

/// What calls of the capture stand for in the replay.
#[derive(Debug)]
pub(super) struct Map<'c> {
    pub handles: Vec<Option<Handle>>,
    /// Where listings go on, by the directory and the captured cookie.
    pub positions: HashMap<(FileId, u64), Position>,
    /// What is written.
    pub payload: &'c Bytes,
    pub opens: Opens<'c>,
}

/// A call that is sent when it is first polled.
pub(super) type Sent<'c> = LocalBoxFuture<'c, client::Result<Answer>>;

pub(super) const OK: Answer = Answer {
    status: Status::Ok,
    moved_bytes: 0,
    object: None,
    handles: Vec::new(),
    listed: None,
    states: Vec::new(),
    turns: Vec::new(),
};

impl<'c> Map<'c> {
    pub(super) fn known(&self, file: FileId) -> Result<Handle, LeftOut> {
        self.handles.get(file.0 as usize).copied().flatten().ok_or(LeftOut::NoFile)
    }

    fn handle(&self, file: FileId) -> Result<FileHandle, LeftOut> {
        FileHandle::new(self.known(file)?.as_bytes()).ok_or(LeftOut::NoFile)
    }

    fn place(&self, place: Place) -> Result<(FileHandle, Vec<u8>), LeftOut> {
        Ok((self.handle(place.dir)?, name(place.name)))
    }

    pub(super) fn position(&self, dir: FileId, cookie: u64) -> Result<Position, LeftOut> {
        match cookie {
            0 => Ok((0, CookieVerifier::default())),
            cookie => self.positions.get(&(dir, cookie)).copied().ok_or(LeftOut::NoPosition),
        }
    }

    /// The call of this number, which is sent when it is first polled.
    pub(super) fn call(&mut self, number: u32, op: &'c Op, line: &Line) -> Result<LocalBoxFuture<'c, Ended>, LeftOut> {
        let call = match (line, op) {
            (Line::V4(client, holder), Op::Compound(compound)) => self.compound(compound, client.clone(), *holder)?,
            (Line::V3(connection), op) => self.answer(op, connection.clone())?,
            (Line::V4(..), _) => return Err(LeftOut::Version(client::Version::V3)),
        };
        let began = Instant::now();
        Ok(Box::pin(async move {
            let (result, submitted) = submit(pin!(call)).await;
            Ended { number, began, result, submitted, at: Instant::now() }
        }))
    }

    /// Learns from the answer to a call.
    pub(super) fn learn(&mut self, call: &Call, answer: Answer) {
        let Answer { object, handles, listed, states, turns, .. } = answer;
        let found = call.file().zip(object);
        for (file, handle) in found.into_iter().chain(handles) {
            self.handles[file.0 as usize].get_or_insert(handle);
        }
        self.opens.learn(states, turns);
        if let (Some((dir, cookie)), Some(captured), Some((last, verifier))) = (call.op.listed(), call.cookie(), listed)
        {
            let from = self.positions.get(&(dir, cookie)).map_or(0, |(cookie, _)| *cookie);
            self.positions.insert((dir, captured), (last.unwrap_or(from), verifier));
        }
    }

    fn answer(&self, op: &Op, connection: Connection) -> Result<Sent<'c>, LeftOut> {
        use nfs3::*;
        Ok(match op {
            Op::Null => Box::pin(send::<Null>(connection, ())),
            Op::Getattr(file) => Box::pin(send::<Getattr>(connection, GetattrArgs { object: self.handle(*file)? })),
            Op::Setattr(file, set) => {
                let arguments = SetattrArgs { object: self.handle(*file)?, attributes: **set, guard: None };
                Box::pin(send::<Setattr>(connection, arguments))
            }
            Op::Access(file, access) => {
                Box::pin(send::<Access>(connection, AccessArgs { object: self.handle(*file)?, access: *access }))
            }
            Op::Fsstat(file) => Box::pin(send::<Fsstat>(connection, FsArgs { object: self.handle(*file)? })),
            Op::Fsinfo(file) => Box::pin(send::<Fsinfo>(connection, FsArgs { object: self.handle(*file)? })),
            Op::Pathconf(file) => Box::pin(send::<Pathconf>(connection, FsArgs { object: self.handle(*file)? })),
            Op::Commit { file, offset, count } => {
                let arguments = CommitArgs { file: self.handle(*file)?, offset: *offset, count: *count };
                Box::pin(send::<Commit>(connection, arguments))
            }
            Op::Readlink(file) => {
                let arguments = ReadlinkArgs { symlink: self.handle(*file)? };
                Box::pin(send::<Readlink>(connection, arguments))
            }
            Op::Read { file, offset, count } => {
                let arguments = ReadArgs { file: self.handle(*file)?, offset: *offset, count: *count };
                Box::pin(send::<Read>(connection, arguments))
            }
            Op::Write { file, offset, count, stable } => {
                let (file, offset, count, stable) = (self.handle(*file)?, *offset, *count, *stable);
                let data = self.payload.slice(..count as usize);
                Box::pin(async move {
                    let arguments = WriteArgs { file, offset, count, stable, data: &data };
                    send::<Write>(connection, arguments).await
                })
            }
            Op::Readdir { dir, cookie, count } => {
                let (cookie, verifier) = self.position(*dir, *cookie)?;
                let arguments = ReaddirArgs { dir: self.handle(*dir)?, cookie, verifier, count: *count };
                Box::pin(send::<Readdir>(connection, arguments))
            }
            Op::Readdirplus { dir, cookie, dir_count, max_count } => {
                let (cookie, verifier) = self.position(*dir, *cookie)?;
                let (dir_count, max_count) = (*dir_count, *max_count);
                let arguments = ReaddirplusArgs { dir: self.handle(*dir)?, cookie, verifier, dir_count, max_count };
                Box::pin(send::<Readdirplus>(connection, arguments))
            }
            _ => return self.naming(op, connection),
        })
    }

    /// A call with names.
    fn naming(&self, op: &Op, connection: Connection) -> Result<Sent<'c>, LeftOut> {
        use nfs3::*;
        Ok(match op {
            Op::Lookup(place) => {
                let (dir, name) = self.place(*place)?;
                Box::pin(async move {
                    let what = DirOp { dir, name: &name };
                    send::<Lookup>(connection, LookupArgs { what }).await
                })
            }
            Op::Remove(place) => {
                let (dir, name) = self.place(*place)?;
                Box::pin(async move {
                    let object = DirOp { dir, name: &name };
                    send::<Remove>(connection, RemoveArgs { object }).await
                })
            }
            Op::Rmdir(place) => {
                let (dir, name) = self.place(*place)?;
                Box::pin(async move {
                    let object = DirOp { dir, name: &name };
                    send::<Rmdir>(connection, RmdirArgs { object }).await
                })
            }
            Op::Rename(from, to) => {
                let ((from_dir, from), (to_dir, to)) = (self.place(*from)?, self.place(*to)?);
                Box::pin(async move {
                    let (from, to) = (DirOp { dir: from_dir, name: &from }, DirOp { dir: to_dir, name: &to });
                    send::<Rename>(connection, RenameArgs { from, to }).await
                })
            }
            Op::Link(file, place) => {
                let (file, (dir, name)) = (self.handle(*file)?, self.place(*place)?);
                Box::pin(async move {
                    let arguments = LinkArgs { file, link: DirOp { dir, name: &name } };
                    send::<Link>(connection, arguments).await
                })
            }
            _ => return self.making(op, connection),
        })
    }

    /// A call that makes a file.
    fn making(&self, op: &Op, connection: Connection) -> Result<Sent<'c>, LeftOut> {
        use nfs3::*;
        Ok(match op {
            Op::Create(place, how) => {
                let ((dir, name), how) = (self.place(*place)?, **how);
                Box::pin(async move {
                    let arguments = CreateArgs { place: DirOp { dir, name: &name }, how };
                    send::<Create>(connection, arguments).await
                })
            }
            Op::Mkdir(place, set) => {
                let ((dir, name), attributes) = (self.place(*place)?, **set);
                Box::pin(async move {
                    let arguments = MkdirArgs { place: DirOp { dir, name: &name }, attributes };
                    send::<Mkdir>(connection, arguments).await
                })
            }
            Op::Symlink { place, target_bytes } => {
                let ((dir, name), target) = (self.place(*place)?, target(*target_bytes as usize));
                Box::pin(async move {
                    let place = DirOp { dir, name: &name };
                    let arguments = SymlinkArgs { place, attributes: Sattr::default(), target: &target };
                    send::<Symlink>(connection, arguments).await
                })
            }
            Op::Mknod(place) => {
                let (dir, name) = self.place(*place)?;
                Box::pin(async move {
                    let arguments = MknodArgs { place: DirOp { dir, name: &name }, what: NODE };
                    send::<Mknod>(connection, arguments).await
                })
            }
            other => return Err(LeftOut::Procedure(other.procedure() as u32)),
        })
    }
}

async fn send<O>(connection: Connection, arguments: O::Arguments<'_>) -> client::Result<Answer>
where
    O: Operation,
    for<'a> O::Reply<'a>: Results,
{
    Ok(connection.call::<O>(&arguments).await?.decode()?.answer())
}

/// The results of a procedure.
trait Results {
    fn answer(&self) -> Answer;
}

impl Results for () {
    fn answer(&self) -> Answer {
        OK
    }
}

impl<T: Success, F> Results for Res<T, F> {
    fn answer(&self) -> Answer {
        match self {
            Res::Ok(ok) => ok.answer(),
            Res::Fail(status, _) => Answer { status: (*status).into(), ..OK },
        }
    }
}

/// The results of a procedure that succeeded.
trait Success {
    fn answer(&self) -> Answer {
        OK
    }
}

impl Success for nfs3::GetattrOk {}
impl Success for nfs3::WccData {}
impl Success for nfs3::AccessOk {}
impl Success for nfs3::ReadlinkOk<'_> {}
impl Success for nfs3::RenameWcc {}
impl Success for nfs3::LinkAttributes {}
impl Success for nfs3::FsstatOk {}
impl Success for nfs3::FsinfoOk {}
impl Success for nfs3::PathconfOk {}
impl Success for nfs3::CommitOk {}

impl Success for nfs3::LookupOk {
    fn answer(&self) -> Answer {
        Answer { object: Some(self.object.into()), ..OK }
    }
}

impl Success for nfs3::CreateOk {
    fn answer(&self) -> Answer {
        Answer { object: self.object.map(Handle::from), ..OK }
    }
}

impl Success for nfs3::ReadOk<'_> {
    fn answer(&self) -> Answer {
        Answer { moved_bytes: self.data.len() as u64, ..OK }
    }
}

impl Success for nfs3::WriteOk {
    fn answer(&self) -> Answer {
        Answer { moved_bytes: self.count.into(), ..OK }
    }
}

impl Success for nfs3::ReaddirOk<'_> {
    fn answer(&self) -> Answer {
        let last = self.entries.last();
        Answer { listed: Some((last.map(|entry| entry.cookie), self.head.verifier)), ..OK }
    }
}

impl Success for nfs3::ReaddirplusOk<'_> {
    fn answer(&self) -> Answer {
        let last = self.entries.last();
        Answer { listed: Some((last.map(|plus| plus.entry.cookie), self.head.verifier)), ..OK }
    }
}
