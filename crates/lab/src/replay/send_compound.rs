//! Does a captured COMPOUND in a session of the replay, or with its owners.

use client::Handle;
use client::proto::nfs4::{
    self, ArgOp, Locker, LocktArgs, OpenArgs, OpenConfirmArgs, PutfhArgs, RESULT_CONFIRM, ReadPlusSegment, ReaddirArgs,
    ReleaseLockownerArgs, Res, ResOp, ResOr, StateOwner, Stateid, WANT_NO_DELEG, WriteArgs,
};
use client::v4::{Caller, Client, Reply, Request};

use super::compound::Compound;
use super::ids::{FileId, StateId};
use super::left_out::LeftOut;
use super::opens::{Change, Live, Owner, OwnerTurn};
use super::send::{Answer, Map, OK, Sent};
use super::states::stateids;

/// The owners whose numbers a COMPOUND of NFSv4.0 takes, and the numbers.
type Turns = Vec<OwnerTurn>;

impl<'c> Map<'c> {
    /// A COMPOUND of the client of this number.
    pub(super) fn compound(
        &mut self,
        compound: &'c Compound,
        client: Client,
        holder: u32,
    ) -> Result<Sent<'c>, LeftOut> {
        let (mut operations, mut turns) = (Vec::new(), Turns::new());
        for (mut operation, current) in compound.operations().zip(&compound.current) {
            if !client.minor_version().has_sessions() {
                self.number(&mut operation, holder, &mut turns)?;
            }
            self.opens.fill_in(&mut operation, client.minor_version().has_sessions())?;
            operations.push(self.fill_in(operation, *current, &client)?);
        }
        Ok(Box::pin(async move {
            let name = compound.main.name();
            let request = Request { name, operations: &operations, write: None, is_kept: compound.is_kept };
            let reply = client.call(&request).await?;
            let mut answer = answer(compound, &reply, turns.clone(), holder);
            confirm(compound, &client, &reply, turns, &mut answer).await?;
            Ok(answer)
        }))
    }

    /// Replaces what stands for handles, clients, data and cookies.
    fn fill_in(&self, operation: ArgOp<'c>, current: Option<FileId>, client: &Client) -> Result<ArgOp<'c>, LeftOut> {
        let own = |owner: StateOwner<'c>| StateOwner { client: client.client_id(), ..owner };
        Ok(match operation {
            ArgOp::Putfh(put) => {
                let file = FileId::decode(&put.object).ok_or(LeftOut::NoFile)?;
                ArgOp::Putfh(PutfhArgs { object: self.known(file)?.into() })
            }
            ArgOp::Write(write) => {
                let count = write.data.first_chunk().map_or(0, |count| u32::from_be_bytes(*count));
                let data = self.payload.get(..count as usize).ok_or(LeftOut::TooLarge)?;
                ArgOp::Write(WriteArgs { data, ..write })
            }
            ArgOp::Readdir(readdir) => {
                let (cookie, verifier) = match current {
                    Some(dir) => self.position(dir, readdir.cookie)?,
                    None => return Err(LeftOut::NoPosition),
                };
                ArgOp::Readdir(ReaddirArgs { cookie, verifier, ..readdir })
            }
            ArgOp::Open(open) => {
                let wanted = if client.minor_version().has_sessions() { WANT_NO_DELEG } else { 0 };
                let share_access = open.share_access | wanted;
                ArgOp::Open(OpenArgs { share_access, owner: own(open.owner), ..open })
            }
            ArgOp::Lock(mut lock) => {
                if let Locker::New { owner, .. } = &mut lock.locker {
                    *owner = own(*owner);
                }
                ArgOp::Lock(lock)
            }
            ArgOp::Lockt(test) => ArgOp::Lockt(LocktArgs { owner: own(test.owner), ..test }),
            ArgOp::ReleaseLockowner(release) => {
                ArgOp::ReleaseLockowner(ReleaseLockownerArgs { owner: own(release.owner) })
            }
            other => other,
        })
    }

    /// Gives a request of NFSv4.0 the next numbers of its owners.
    fn number(&mut self, operation: &mut ArgOp<'_>, holder: u32, turns: &mut Turns) -> Result<(), LeftOut> {
        let named = |owner: &StateOwner<'_>| (holder, Box::from(owner.owner));
        let owner = match operation {
            ArgOp::Open(open) => Some(named(&open.owner)),
            ArgOp::Close(close) => Some(self.opens.owner(&close.open_stateid)?),
            ArgOp::OpenConfirm(confirm) => Some(self.opens.owner(&confirm.stateid)?),
            ArgOp::OpenDowngrade(downgrade) => Some(self.opens.owner(&downgrade.stateid)?),
            ArgOp::Locku(unlock) => Some(self.opens.owner(&unlock.stateid)?),
            ArgOp::Lock(lock) => Some(match &lock.locker {
                Locker::Existing { lock_stateid, .. } => self.opens.owner(lock_stateid)?,
                Locker::New { open_stateid, .. } => self.opens.owner(open_stateid)?,
            }),
            _ => None,
        };
        let mut take = |owner: Owner| {
            let turn = self.opens.take_turn(&owner);
            turns.push((owner, turn));
            turn
        };
        match (operation, owner) {
            (ArgOp::Open(open), Some(owner)) => open.seqid = take(owner),
            (ArgOp::Close(close), Some(owner)) => close.seqid = take(owner),
            (ArgOp::OpenConfirm(confirm), Some(owner)) => confirm.seqid = take(owner),
            (ArgOp::OpenDowngrade(downgrade), Some(owner)) => downgrade.seqid = take(owner),
            (ArgOp::Locku(unlock), Some(owner)) => unlock.seqid = take(owner),
            (ArgOp::Lock(lock), Some(owner)) => match &mut lock.locker {
                Locker::Existing { lock_seqid, .. } => *lock_seqid = take(owner),
                Locker::New { open_seqid, lock_seqid, owner: locker, .. } => {
                    *open_seqid = take(owner);
                    *lock_seqid = take(named(locker));
                }
            },
            _ => {}
        }
        Ok(())
    }
}

/// What a reply says of the files, opens and locks of the capture.
fn answer(compound: &Compound, reply: &Reply, turns: Turns, holder: u32) -> Answer {
    let mut answer = Answer { status: reply.status().into(), ..OK };
    let (mut last, results) = (None, reply.all_results());
    for ((operation, current), result) in compound.operations().zip(&compound.current).zip(results) {
        note_files(&mut answer, *current, &result);
        answer.states.extend(change(compound, &operation, &result, holder));
        last = Some(operation);
    }
    // A request that did not come to its owner's turn leaves the number to the next one.
    let status = reply.status();
    if status != nfs4::Status::Ok && !(status.uses_seqid() && last.is_some_and(|last| has_turn(&last))) {
        answer.turns = turns;
    }
    answer
}

/// Whether NFSv4.0 numbers these requests of an owner.
fn has_turn(operation: &ArgOp<'_>) -> bool {
    matches!(
        operation,
        ArgOp::Open(_)
            | ArgOp::Close(_)
            | ArgOp::OpenConfirm(_)
            | ArgOp::OpenDowngrade(_)
            | ArgOp::Lock(_)
            | ArgOp::Locku(_)
    )
}

fn note_files(answer: &mut Answer, current: Option<FileId>, result: &ResOp<'_>) {
    match result {
        ResOp::Getfh(Res::Ok(handle)) => {
            answer.handles.extend(current.map(|file| (file, Handle::from(*handle))));
        }
        ResOp::Read(Res::Ok(ok)) => answer.moved_bytes = ok.data.len() as u64,
        ResOp::Write(Res::Ok(ok)) => answer.moved_bytes = ok.count.into(),
        ResOp::ReadPlus(Res::Ok(ok)) => answer.moved_bytes = ok.segments.iter().map(segment_bytes).sum(),
        ResOp::Readdir(Res::Ok(ok)) => {
            answer.listed = Some((ok.entries.last().map(|entry| entry.cookie), ok.head.verifier));
        }
        _ => {}
    }
}

fn segment_bytes(segment: &ReadPlusSegment<'_>) -> u64 {
    match segment {
        ReadPlusSegment::Data { data, .. } => data.len() as u64,
        ReadPlusSegment::Hole { length, .. } => *length,
    }
}

/// The open or lock that an operation makes, changes or ends.
fn change(compound: &Compound, operation: &ArgOp<'_>, result: &ResOp<'_>, holder: u32) -> Option<(StateId, Change)> {
    let mut used = operation.clone();
    let used = stateids(&mut used).first().and_then(|stateid| StateId::decode(stateid));
    let is = |stateid: Stateid, owner: &StateOwner<'_>| {
        Some((compound.made?, Change::Is(Live { stateid, owner: (holder, owner.owner.into()) })))
    };
    match (operation, result) {
        (ArgOp::Open(open), ResOp::Open(Res::Ok(ok))) => is(ok.stateid, &open.owner),
        (ArgOp::Lock(lock), ResOp::Lock(ResOr::Ok(ok))) => match &lock.locker {
            Locker::New { owner, .. } => is(ok.stateid, owner),
            Locker::Existing { .. } => Some((used?, Change::Becomes(ok.stateid))),
        },
        (_, ResOp::Close(Res::Ok(_)) | ResOp::FreeStateid(Res::Ok(()))) => Some((used?, Change::Ends)),
        (_, ResOp::Locku(Res::Ok(now)) | ResOp::OpenDowngrade(Res::Ok(now)) | ResOp::OpenConfirm(Res::Ok(now))) => {
            Some((used?, Change::Becomes(*now)))
        }
        _ => None,
    }
}

/// Confirms an open that the server of the capture took without: it knew the owner from before.
async fn confirm(
    compound: &Compound,
    client: &Client,
    reply: &Reply,
    turns: Turns,
    answer: &mut Answer,
) -> client::Result<()> {
    let asks = reply.all_results().any(|result| match result {
        ResOp::Open(Res::Ok(ok)) => ok.flags & RESULT_CONFIRM != 0,
        _ => false,
    });
    let (Some((_, Change::Is(live))), Some((_, handle)), Some((owner, turn))) =
        (answer.states.first_mut(), answer.handles.last(), turns.into_iter().next())
    else {
        return Ok(());
    };
    if !asks || compound.is_confirmed_later {
        return Ok(());
    }
    let arguments = OpenConfirmArgs { stateid: live.stateid, seqid: turn.wrapping_add(1) };
    let operations = [ArgOp::Putfh(PutfhArgs { object: (*handle).into() }), ArgOp::OpenConfirm(arguments)];
    let reply = client.call(&Request::changing("OPEN_CONFIRM", &operations)).await?;
    if let Some(ResOp::OpenConfirm(Res::Ok(stateid))) = reply.all_results().last() {
        live.stateid = stateid;
    }
    answer.turns = vec![(owner, turn.wrapping_add(2))];
    Ok(())
}
