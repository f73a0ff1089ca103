//! The opens, locks and delegations of a capture, and the clients that hold them.

use std::collections::HashMap;
use std::net::IpAddr;

use client::proto::nfs4::{ArgOp, ClientId, Locker, SessionId, Stateid};

use super::ids::StateId;
use super::left_out::LeftOut;
use super::tree::{Latest, Tree, Users};

/// The most opens, locks and delegations, and the most sessions.
const MAX_STATES: usize = 1_000_000;
const MAX_SESSIONS: usize = 1 << 16;
/// An open, a lock or a delegation of the capture.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The call whose reply has it; nothing if it is older than the capture.
    pub made_by: Option<u32>,
    /// Of a delegation, the open that it was granted with: the replay takes no delegations.
    pub open: Option<StateId>,
    /// The last calls that changed it.
    pub changed_by: Latest,
    /// The connections that used it.
    pub users: Users,
}

/// The states of a capture.
#[derive(Debug, Default)]
pub(super) struct States {
    all: Vec<State>,
    by_stateid: HashMap<(IpAddr, [u8; 12]), StateId>,
}

impl States {
    /// The number of a stateid; nothing if it stands for no state of its own.
    pub(super) fn number(&mut self, server: IpAddr, stateid: &Stateid) -> Result<Option<StateId>, LeftOut> {
        if stateid.other == [0; 12] || stateid.other == [0xff; 12] {
            return Ok(None);
        }
        let next = StateId(self.all.len() as u32);
        if next.0 as usize >= MAX_STATES && !self.by_stateid.contains_key(&(server, stateid.other)) {
            return Err(LeftOut::TooMany);
        }
        let number = *self.by_stateid.entry((server, stateid.other)).or_insert(next);
        if number == next {
            self.all.push(State::default());
        }
        Ok(Some(number))
    }

    /// Notes that a call made a state. Returns its number.
    pub(super) fn note_made(
        &mut self,
        server: IpAddr,
        stateid: &Stateid,
        call: u32,
    ) -> Result<Option<StateId>, LeftOut> {
        let number = self.number(server, stateid)?;
        if let Some(number) = number {
            self[number].made_by.get_or_insert(call);
        }
        Ok(number)
    }
}

impl std::ops::Index<StateId> for States {
    type Output = State;

    fn index(&self, state: StateId) -> &State {
        &self.all[state.0 as usize]
    }
}

impl std::ops::IndexMut<StateId> for States {
    fn index_mut(&mut self, state: StateId) -> &mut State {
        &mut self.all[state.0 as usize]
    }
}

/// What numbers are given in.
pub(super) struct Numbering<'t> {
    pub tree: &'t mut Tree,
    pub states: &'t mut States,
    pub server: IpAddr,
}

/// The stateids in the arguments of an operation.
pub(super) fn stateids<'o>(operation: &'o mut ArgOp<'_>) -> Vec<&'o mut Stateid> {
    match operation {
        ArgOp::Close(close) => vec![&mut close.open_stateid],
        ArgOp::Lock(lock) => match &mut lock.locker {
            Locker::Existing { lock_stateid, .. } => vec![lock_stateid],
            Locker::New { open_stateid, .. } => vec![open_stateid],
        },
        ArgOp::Locku(unlock) => vec![&mut unlock.stateid],
        ArgOp::OpenConfirm(confirm) => vec![&mut confirm.stateid],
        ArgOp::OpenDowngrade(downgrade) => vec![&mut downgrade.stateid],
        ArgOp::Read(read) => vec![&mut read.stateid],
        ArgOp::ReadPlus(read) => vec![&mut read.stateid],
        ArgOp::Seek(seek) => vec![&mut seek.stateid],
        ArgOp::Setattr(set) => vec![&mut set.stateid],
        ArgOp::Write(write) => vec![&mut write.stateid],
        ArgOp::Allocate(range) => vec![&mut range.stateid],
        ArgOp::Deallocate(range) => vec![&mut range.stateid],
        ArgOp::IoAdvise(advise) => vec![&mut advise.stateid],
        ArgOp::FreeStateid(free) => vec![&mut free.stateid],
        ArgOp::Copy(copy) => vec![&mut copy.source_stateid, &mut copy.destination_stateid],
        ArgOp::Clone(clone) => vec![&mut clone.source_stateid, &mut clone.destination_stateid],
        _ => Vec::new(),
    }
}

/// The clients of a capture: from 4.1 on, those of its sessions.
#[derive(Debug, Default)]
pub(super) struct Clients {
    count: u32,
    sessions: HashMap<(IpAddr, SessionId), u32>,
    ids: HashMap<(IpAddr, ClientId), u32>,
}

impl Clients {
    /// The number of the client of a session; nothing if there are too many.
    pub(super) fn of_session(&mut self, server: IpAddr, session: SessionId) -> Option<u32> {
        let is_full = self.sessions.len() >= MAX_SESSIONS;
        numbered(&mut self.sessions, (server, session), &mut self.count, is_full)
    }

    /// The number of a client id; nothing if there are too many.
    pub(super) fn of_id(&mut self, server: IpAddr, client: ClientId) -> Option<u32> {
        let is_full = self.ids.len() >= MAX_SESSIONS;
        numbered(&mut self.ids, (server, client), &mut self.count, is_full)
    }

    /// Notes that a session is one of this client.
    pub(super) fn note_session(&mut self, server: IpAddr, session: SessionId, client: ClientId) {
        if let Some(number) = self.of_id(server, client)
            && self.sessions.len() < MAX_SESSIONS
        {
            self.sessions.insert((server, session), number);
        }
    }

    /// The number of a client that nothing else is known of.
    pub(super) fn new_one(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }
}

fn numbered<K: std::hash::Hash + Eq>(
    known: &mut HashMap<K, u32>,
    key: K,
    count: &mut u32,
    is_full: bool,
) -> Option<u32> {
    match known.get(&key) {
        Some(number) => Some(*number),
        None if is_full => None,
        None => {
            *count += 1;
            known.insert(key, *count - 1);
            Some(*count - 1)
        }
    }
}
