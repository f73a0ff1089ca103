//! The seqids of NFSv4.0 owners (RFC 7530 §9.1.7): an operation runs in its owner's order, and a retransmitted one gets
//! the earlier reply. From NFSv4.1 on, sessions do this.
//!
//! The operations themselves do not handle seqids.

use buffer::{Buffer, Output};
use proto::nfs4::{
    CloseArgs, FileHandle, LockArgs, Locker, LockuArgs, OpenArgs, OpenConfirmArgs, OpenDowngradeArgs, Stateid, Status,
};
use state::{ClientId, OwnerTurn, SeqidOwner, SeqidTurn};
use xdr::{Decode, Decoder, Encode, Encoder};

use super::compound::Compound;
use super::failure::{Failure, OpResult};
use super::state_error::inner;
use crate::fault::Fault;

/// Runs an operation of NFSv4.0 in its owner's order.
pub(super) fn in_order<A: HasSeqid>(
    compound: &mut Compound<'_>,
    args: &A,
    output: &mut Output,
    operation: impl FnOnce(&mut Compound<'_>, &A, &mut Output) -> OpResult<()>,
) -> OpResult<()> {
    match args.seqids().begin(compound)? {
        SeqidStart::Repeated(kept) => repeat(compound, &kept, output),
        SeqidStart::Turns(turns) => {
            let start = output.bytes.len();
            let outcome = operation(compound, args, output);
            turns.finish(compound, &outcome, &output.bytes.as_slice()[start..]);
            outcome
        }
    }
}

/// The arguments of an operation with a seqid.
pub(super) trait HasSeqid {
    /// The seqids with their owners.
    fn seqids(&self) -> OwnerSeqids<'_>;
}

/// The seqid of a request with its owner; a LOCK with a new lock owner has two.
pub(super) struct OwnerSeqids<'a> {
    first: (SeqidOwner<'a>, u32),
    second: Option<(SeqidOwner<'a>, u32)>,
}

impl HasSeqid for OpenArgs<'_> {
    fn seqids(&self) -> OwnerSeqids<'_> {
        let owner = SeqidOwner::OpenOwner { client: ClientId(self.owner.client.0), name: self.owner.owner };
        OwnerSeqids { first: (owner, self.seqid), second: None }
    }
}

impl HasSeqid for OpenConfirmArgs {
    fn seqids(&self) -> OwnerSeqids<'_> {
        OwnerSeqids::of_stateid(&self.stateid, self.seqid)
    }
}

impl HasSeqid for OpenDowngradeArgs {
    fn seqids(&self) -> OwnerSeqids<'_> {
        OwnerSeqids::of_stateid(&self.stateid, self.seqid)
    }
}

impl HasSeqid for CloseArgs {
    fn seqids(&self) -> OwnerSeqids<'_> {
        OwnerSeqids::of_stateid(&self.open_stateid, self.seqid)
    }
}

impl HasSeqid for LockuArgs {
    fn seqids(&self) -> OwnerSeqids<'_> {
        OwnerSeqids::of_stateid(&self.stateid, self.seqid)
    }
}

impl HasSeqid for LockArgs<'_> {
    fn seqids(&self) -> OwnerSeqids<'_> {
        OwnerSeqids::of_lock(&self.locker)
    }
}

impl<'a> OwnerSeqids<'a> {
    fn of_stateid(stateid: &Stateid, seqid: u32) -> OwnerSeqids<'a> {
        OwnerSeqids { first: (SeqidOwner::Stateid(inner(stateid)), seqid), second: None }
    }

    /// The first LOCK of a lock owner also counts for the open owner (RFC 7530 §16.10.4).
    fn of_lock(locker: &Locker<'a>) -> OwnerSeqids<'a> {
        match locker {
            Locker::Existing { lock_stateid, lock_seqid } => {
                OwnerSeqids { first: (SeqidOwner::Stateid(inner(lock_stateid)), *lock_seqid), second: None }
            }
            Locker::New { open_seqid, open_stateid, lock_seqid, owner } => {
                let locker = SeqidOwner::LockOwner { client: ClientId(owner.client.0), name: owner.owner };
                let first = (SeqidOwner::Stateid(inner(open_stateid)), *open_seqid);
                OwnerSeqids { first, second: Some((locker, *lock_seqid)) }
            }
        }
    }

    fn begin(&self, compound: &Compound<'_>) -> OpResult<SeqidStart> {
        let (state, now) = (&compound.cx.server.state, compound.cx.request.now);
        let first = match state.seqid_begin(now, self.first.0, self.first.1)? {
            SeqidTurn::Replay(kept) => return Ok(SeqidStart::Repeated(kept)),
            SeqidTurn::Execute(turn) => turn,
        };
        let Some((owner, seqid)) = self.second else {
            return Ok(SeqidStart::Turns(OwnerTurns { first, second: None }));
        };
        match state.seqid_begin(now, owner, seqid)? {
            SeqidTurn::Execute(second) => Ok(SeqidStart::Turns(OwnerTurns { first, second: Some(second) })),
            // The open owner's request is new, so the lock owner's cannot be a retransmission.
            SeqidTurn::Replay(_) => Err(Status::BadSeqid.into()),
        }
    }
}

enum SeqidStart {
    /// The request ran before; this was kept of it.
    Repeated(Box<[u8]>),
    /// The request is next in order.
    Turns(OwnerTurns),
}

/// The turns of a request.
struct OwnerTurns {
    first: OwnerTurn,
    second: Option<OwnerTurn>,
}

impl OwnerTurns {
    /// Ends the turns. A deferred request counts as not sent: it runs again with the same seqid.
    fn finish(self, compound: &Compound<'_>, outcome: &OpResult<()>, results: &[u8]) {
        let (status, body) = match outcome {
            Ok(()) => (Status::Ok, results),
            Err(Failure::Status(status)) => (*status, [].as_slice()),
            Err(Failure::Explained(status, body)) => (*status, body.as_slice()),
            Err(Failure::Defer | Failure::Replay(_)) => return,
        };
        let kept = keep(compound, status, body);
        let (state, now) = (&compound.cx.server.state, compound.cx.request.now);
        for turn in std::iter::once(self.first).chain(self.second) {
            state.seqid_finish(now, turn, status.uses_seqid(), kept.as_slice());
        }
    }
}

/// Encodes an operation's result for a replay: its status, the current file handle after it, and its body.
fn keep(compound: &Compound<'_>, status: Status, body: &[u8]) -> Buffer {
    let mut kept = Buffer::new();
    let mut to = Encoder::new(&mut kept);
    status.encode(&mut to);
    match compound.current() {
        Ok(node) => to.opaque(node.wire_handle().as_bytes()),
        Err(_) => to.opaque(&[]),
    }
    kept.put(body);
    kept
}

/// Replays a result. Operations that follow an OPEN in the COMPOUND continue with the opened file.
fn repeat(compound: &mut Compound<'_>, kept: &[u8], output: &mut Output) -> OpResult<()> {
    let mut from = Decoder::new(kept);
    let (status, handle) = head(&mut from).map_err(|_| Status::ServerFault)?;
    if status != Status::Ok {
        return Err(Failure::Explained(status, from.rest().to_vec()));
    }
    let cx = compound.cx;
    let (exported, handle) = cx.exports.resolve(handle).map_err(Fault::from)?;
    compound.set_current(exported, handle)?;
    output.bytes.put(from.rest());
    Ok(())
}

fn head<'a>(from: &mut Decoder<'a>) -> xdr::Result<(Status, &'a [u8])> {
    Ok((Status::decode(from)?, from.opaque(FileHandle::MAX_BYTES)?))
}
