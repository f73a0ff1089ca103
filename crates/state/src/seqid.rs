//! The request sequences of NFSv4.0 owners, with the replay of the last reply (RFC 7530 §9.1.7, §9.1.8).

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::core::Core;
use crate::file::Body;
use crate::ids::{OwnerId, StateKey};
use crate::owner::OwnerKind;
use crate::stateid_table::StateidStatus;
use crate::{ClientId, State, StateError, Stateid};

#[derive(Debug, Default)]
pub(crate) struct Seqid {
    last: Option<u32>,
    reply: Box<[u8]>,
    turn: Weak<()>,
    /// The open that the last request closed, kept so that a retransmitted CLOSE finds its owner.
    pub(crate) closed: Option<StateKey>,
}

impl Seqid {
    pub(crate) fn is_busy(&self) -> bool {
        self.turn.strong_count() > 0
    }
}

/// The owner whose sequence a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeqidOwner<'a> {
    /// An open owner by name: OPEN.
    OpenOwner {
        /// Its client.
        client: ClientId,
        /// Its name.
        name: &'a [u8],
    },
    /// A lock owner by name: LOCK with a new lock owner, in addition to the open owner's turn.
    LockOwner {
        /// Its client.
        client: ClientId,
        /// Its name.
        name: &'a [u8],
    },
    /// The owner of an open or of locks: CLOSE, OPEN_CONFIRM, OPEN_DOWNGRADE, LOCK, LOCKU.
    Stateid(Stateid),
}

/// The handling of a request with a seqid.
#[derive(Debug)]
pub enum SeqidTurn {
    /// It is the next one: execute it and pass its reply to [`State::seqid_finish`].
    Execute(OwnerTurn),
    /// It is a retransmission: send this encoded reply of the operation. If that belongs to another operation, answer
    /// NFS4ERR_BAD_SEQID.
    Replay(Box<[u8]>),
}

/// An owner whose request is executing; its other requests wait. If it is dropped, the request counts as not sent.
#[derive(Debug)]
pub struct OwnerTurn {
    owner: OwnerId,
    seqid: u32,
    _busy: Arc<()>,
}

impl State {
    /// Begins a request of an NFSv4.0 owner, and renews the client's lease.
    ///
    /// # Errors
    /// [`StateError::BadSeqid`], [`StateError::Delay`] while another request of the owner is executing, and errors of
    /// the client ID or the stateid.
    pub fn seqid_begin(&self, now: Duration, owner: SeqidOwner<'_>, seqid: u32) -> Result<SeqidTurn, StateError> {
        let (SeqidOwner::OpenOwner { client, .. } | SeqidOwner::LockOwner { client, .. }) = owner else {
            return self.core().seqid_begin(now, owner, seqid);
        };
        self.with_room_for(now, client, |core| core.seqid_begin(now, owner, seqid))
    }

    /// Ends a request with the encoded reply of its operation. `advances` is false for the statuses that do not advance
    /// the sequence (RFC 7530 §9.1.7).
    pub fn seqid_finish(&self, now: Duration, turn: OwnerTurn, advances: bool, reply: &[u8]) {
        let mut core = self.core();
        let Some(owner) = core.owners.get_mut(turn.owner) else { return };
        owner.used = now;
        if let (true, Some(sequence)) = (advances, owner.seqid.as_mut()) {
            sequence.last = Some(turn.seqid);
            sequence.reply = reply.into();
        }
    }
}

impl Core {
    fn seqid_begin(&mut self, now: Duration, by: SeqidOwner<'_>, seqid: u32) -> Result<SeqidTurn, StateError> {
        let id = self.seqid_owner(now, by)?;
        let confirmed = self.owners.get(id).is_some_and(|owner| owner.confirmed);
        let is_open = matches!(by, SeqidOwner::OpenOwner { .. });
        let owner = self.owners.get_mut(id).ok_or(StateError::BadStateid)?;
        owner.used = now;
        let sequence = owner.seqid.get_or_insert_default();
        if sequence.is_busy() {
            return Err(StateError::Delay);
        }
        match sequence.last {
            Some(last) if seqid == last => return Ok(SeqidTurn::Replay(sequence.reply.clone())),
            Some(last) if seqid != next(last) => {
                // A delayed request may have created an owner that was never confirmed: a new OPEN resets it (RFC 7530
                // §16.18.5).
                if confirmed || !is_open {
                    return Err(StateError::BadSeqid);
                }
                self.start_over(now, id);
            }
            _ => {}
        }
        let busy = Arc::new(());
        let closed = match self.owners.get_mut(id).map(|owner| owner.seqid.get_or_insert_default()) {
            Some(sequence) => {
                sequence.turn = Arc::downgrade(&busy);
                sequence.closed.take()
            }
            None => None,
        };
        if let Some(key) = closed {
            self.remove_state(now, key);
        }
        Ok(SeqidTurn::Execute(OwnerTurn { owner: id, seqid, _busy: busy }))
    }

    fn seqid_owner(&mut self, now: Duration, by: SeqidOwner<'_>) -> Result<OwnerId, StateError> {
        match by {
            SeqidOwner::OpenOwner { client, name } => {
                self.live_client(now, client)?;
                self.owner(now, OwnerKind::Open, client.number(), name)
            }
            SeqidOwner::LockOwner { client, name } => {
                self.live_client(now, client)?;
                let id = self.owner(now, OwnerKind::Lock, client.number(), name)?;
                if let Some(owner) = self.owners.get_mut(id) {
                    owner.confirmed = true;
                }
                Ok(id)
            }
            SeqidOwner::Stateid(stateid) => self.seqid_owner_of(now, stateid),
        }
    }

    /// The owner of a stateid, which may be closed, old or revoked. The operation checks that later, since EXPIRED
    /// advances the sequence too (RFC 7530 §9.1.7). Fails if the owner was removed.
    fn seqid_owner_of(&mut self, now: Duration, stateid: Stateid) -> Result<OwnerId, StateError> {
        self.locate(&stateid)?;
        if let Some(client) = self.clients.get(&stateid.key().client()) {
            client.lease.renew(now);
        }
        match self.states.get(&stateid.key()) {
            Some(held) if matches!(held.body, Body::Delegation(_)) => Err(StateError::BadStateid),
            Some(held) if held.status == StateidStatus::Expired && self.owners.get(held.owner).is_none() => {
                Err(StateError::Expired)
            }
            Some(held) => Ok(held.owner),
            None => Err(StateError::BadStateid),
        }
    }

    /// Cancels the opens of an unconfirmed owner.
    fn start_over(&mut self, now: Duration, id: OwnerId) {
        let Some(owner) = self.owners.get_mut(id) else { return };
        owner.seqid = Some(Box::default());
        let opens: Vec<_> = owner.states.iter().copied().collect();
        for key in opens {
            self.remove_state(now, key);
        }
    }
}

/// NFSv4.0 seqids skip nothing: the maximum is followed by 0 (RFC 7530 §9.1.3).
fn next(seqid: u32) -> u32 {
    seqid.wrapping_add(1)
}
