//! The opens and locks of a replay, and the sequence numbers of their owners.

use std::collections::{HashMap, HashSet};

use client::proto::nfs4::{ArgOp, Stateid};

use super::ids::StateId;
use super::left_out::LeftOut;
use super::states::{States, stateids};

/// An owner of a client: NFSv4.0 numbers its requests (RFC 7530 §9.1.7).
pub(super) type Owner = (u32, Box<[u8]>);

/// An owner, and the number of its next request.
pub(super) type OwnerTurn = (Owner, u32);

/// An open or a lock of the replay.
#[derive(Debug, Clone)]
pub(super) struct Live {
    pub stateid: Stateid,
    pub owner: Owner,
}

/// What a reply does to an open or a lock.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// It is new, or known with this stateid.
    Is(Live),
    /// It has this stateid now.
    Becomes(Stateid),
    /// It is over.
    Ends,
}

/// The opens and locks of the replay.
#[derive(Debug)]
pub(super) struct Opens<'c> {
    captured: &'c States,
    live: HashMap<StateId, Live>,
    /// Opens whose CLOSE is in flight.
    closing: HashSet<StateId>,
    turns: HashMap<Owner, u32>,
    /// How many operations were done without the open that they had in the capture.
    pub without_open: u64,
}

impl<'c> Opens<'c> {
    pub(super) fn new(captured: &'c States) -> Opens<'c> {
        Opens { captured, live: HashMap::new(), closing: HashSet::new(), turns: HashMap::new(), without_open: 0 }
    }

    /// The state here for one of the capture; for a delegation, the open that it was granted with.
    pub(super) fn get(&self, state: StateId) -> Option<&Live> {
        let of_delegation = || self.captured[state].open.filter(|open| !self.closing.contains(open));
        self.live.get(&state).or_else(|| self.live.get(&of_delegation()?))
    }

    /// The owner of the state that a captured stateid has the number of.
    pub(super) fn owner(&self, captured: &Stateid) -> Result<Owner, LeftOut> {
        let live = StateId::decode(captured).and_then(|state| self.get(state));
        live.map(|live| live.owner.clone()).ok_or(LeftOut::NoState)
    }

    /// The number of the next request of an owner, which takes it.
    pub(super) fn take_turn(&mut self, owner: &Owner) -> u32 {
        let next = self.turns.entry(owner.clone()).or_insert(1);
        let turn = *next;
        *next = next.wrapping_add(1);
        turn
    }

    /// Replaces the numbers in the place of stateids. Without its open, an operation on data uses none.
    pub(super) fn fill_in(&mut self, operation: &mut ArgOp<'_>, has_sessions: bool) -> Result<(), LeftOut> {
        let needs_state = matches!(
            operation,
            ArgOp::Close(_)
                | ArgOp::FreeStateid(_)
                | ArgOp::Lock(_)
                | ArgOp::Locku(_)
                | ArgOp::OpenConfirm(_)
                | ArgOp::OpenDowngrade(_)
        );
        let is_close = matches!(operation, ArgOp::Close(_));
        for stateid in stateids(operation) {
            let Some(state) = StateId::decode(stateid) else { continue };
            if is_close {
                self.closing.insert(state);
            }
            *stateid = match self.get(state) {
                Some(live) if stateid.seqid == 0 && has_sessions => Stateid { seqid: 0, ..live.stateid },
                Some(live) => live.stateid,
                None if needs_state => return Err(LeftOut::NoState),
                None => {
                    self.without_open += 1;
                    Stateid::ANONYMOUS
                }
            };
        }
        Ok(())
    }

    /// Learns from the answer to a call.
    pub(super) fn learn(&mut self, changes: Vec<(StateId, Change)>, turns: Vec<OwnerTurn>) {
        self.turns.extend(turns);
        for (state, change) in changes {
            match (change, self.live.get(&state)) {
                (Change::Ends, _) => drop(self.live.remove(&state)),
                (Change::Is(live), known) if !known.is_some_and(|known| is_newer(known, &live.stateid)) => {
                    self.live.insert(state, live);
                    self.closing.remove(&state);
                }
                (Change::Becomes(stateid), Some(known)) if !is_newer(known, &stateid) => {
                    let owner = known.owner.clone();
                    self.live.insert(state, Live { stateid, owner });
                }
                _ => {}
            }
        }
    }
}

/// Whether a stateid is known that the server gave later: replies may come in another order.
fn is_newer(known: &Live, stateid: &Stateid) -> bool {
    known.stateid.other == stateid.other && known.stateid.seqid > stateid.seqid
}

#[cfg(test)]
mod tests {
    use client::proto::nfs4::{CloseArgs, ReadArgs};

    use super::*;

    fn stateid(number: u8) -> Stateid {
        Stateid { seqid: 1, other: [number; 12] }
    }

    #[test]
    fn what_used_a_delegation_uses_its_open_until_that_is_closed() {
        let (mut states, server) = (States::default(), std::net::Ipv4Addr::LOCALHOST.into());
        let open = states.note_made(server, &stateid(1), 0).unwrap().unwrap();
        let delegation = states.note_made(server, &stateid(2), 0).unwrap().unwrap();
        states[delegation].open = Some(open);
        let mut opens = Opens::new(&states);
        let live = Live { stateid: stateid(7), owner: (0, Box::default()) };
        opens.learn(vec![(open, Change::Is(live))], Vec::new());
        let read = |stateid| ArgOp::Read(ReadArgs { stateid, offset: 0, count: 1 });
        let close = |open_stateid| ArgOp::Close(CloseArgs { seqid: 0, open_stateid });
        let fill_in = |opens: &mut Opens<'_>, mut operation| opens.fill_in(&mut operation, true).map(|()| operation);

        let used = fill_in(&mut opens, read(delegation.encode(0)));
        assert_eq!((used, opens.without_open), (Ok(read(Stateid { seqid: 0, ..stateid(7) })), 0));
        assert_eq!(fill_in(&mut opens, close(open.encode(1))), Ok(close(stateid(7))));
        let used = fill_in(&mut opens, read(delegation.encode(0)));
        assert_eq!((used, opens.without_open), (Ok(read(Stateid::ANONYMOUS)), 1));
        assert_eq!(fill_in(&mut opens, close(delegation.encode(1))), Err(LeftOut::NoState));
    }
}
