//! Makes room for new clients and sessions, so that no origin locks the others out.
//!
//! A client ID costs a caller only one request and no rights. So an origin with too many loses its own: unconfirmed
//! ones first, then those without state. Other origins are not affected.
//!
//! State that outlives its lease ([`crate::expiry`]) must not keep others of its origin out either: it ends when a
//! request of the origin lacks room.

use std::time::Duration;

use crate::core::Core;
use crate::origin::{Sessions, reply_bytes};
use crate::{ChannelAttributes, ClientId, Limits, Origin, State, StateError};

/// The most clients that one request ends for room.
const MOST_ENDED: usize = 8;

/// The part of a common resource that one origin may have.
pub(crate) fn share_of(all: usize) -> usize {
    (all / 4).max(1)
}

impl State {
    /// Runs a request of a client as [`State::with_room`] does.
    pub(crate) fn with_room_for<T>(
        &self,
        now: Duration,
        client: ClientId,
        request: impl FnMut(&mut Core) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        self.with_room(now, |core| core.origin_of(client.number()), request)
    }

    /// Runs a request of `origin`. While it lacks room, clients of the origin whose leases are over end, and it runs
    /// again.
    ///
    /// # Errors
    /// Those of the request; `Delay` while ended clients still have state, or more of them may end.
    pub(crate) fn with_room<T>(
        &self,
        now: Duration,
        origin: impl FnOnce(&Core) -> Option<Origin>,
        mut request: impl FnMut(&mut Core) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let mut core = self.core();
        let mut answer = request(&mut core);
        if !matches!(answer, Err(StateError::Resource)) {
            return answer;
        }
        let Some(origin) = origin(&core) else { return answer };
        for _ in 0..MOST_ENDED {
            let ended = core.end_overdue_of(now, origin);
            let goes_on = core.remove_ended(now);
            if ended || goes_on {
                answer = request(&mut core);
            }
            match answer {
                Err(StateError::Resource) if ended => {}
                Err(StateError::Resource) if goes_on => return Err(StateError::Delay),
                answer => return answer,
            }
        }
        Err(StateError::Delay)
    }
}

impl Core {
    /// Makes room for a new client. It evicts a client of the same origin if that has too many, else one of the largest
    /// origin if the table is full.
    ///
    /// # Errors
    /// [`StateError::Delay`] when all candidates hold state.
    pub(crate) fn make_room_for_client(&mut self, now: Duration, origin: Origin) -> Result<(), StateError> {
        let Limits { clients, unconfirmed_per_origin, .. } = *self.limits();
        if self.origins.unconfirmed(origin) >= unconfirmed_per_origin {
            self.drop_oldest_unconfirmed(origin);
        }
        if self.origins.size(origin) >= share_of(clients) && !self.drop_one_of(now, origin) {
            return Err(StateError::Delay);
        }
        if self.clients.len() < clients {
            return Ok(());
        }
        let largest = self.origins.largest();
        if largest.into_iter().any(|origin| self.drop_one_of(now, origin)) { Ok(()) } else { Err(StateError::Delay) }
    }

    /// Evicts a client of an origin that is unconfirmed, holds no state, or whose lease is over.
    fn drop_one_of(&mut self, now: Duration, origin: Origin) -> bool {
        if self.drop_oldest_unconfirmed(origin) {
            return true;
        }
        let some = self.origins.some_confirmed(origin);
        some.into_iter().any(|number| self.drop_if_useless(now, number))
    }

    fn drop_oldest_unconfirmed(&mut self, origin: Origin) -> bool {
        let oldest = self.origins.oldest_unconfirmed(origin);
        let id = oldest.and_then(|number| Some(self.clients.get(&number)?.id));
        id.inspect(|id| self.drop_client(*id)).is_some()
    }

    fn drop_if_useless(&mut self, now: Duration, number: u32) -> bool {
        let Some(client) = self.clients.get(&number) else { return false };
        let id = client.id;
        if !self.has_state(number) {
            self.release_record(id);
            self.drop_client(id);
            return true;
        }
        self.end_if_overdue(now, number)
    }

    /// Ends a client of an origin whose lease is over; false when there is none among some of them.
    fn end_overdue_of(&mut self, now: Duration, origin: Origin) -> bool {
        let some = self.origins.some_confirmed(origin);
        some.into_iter().any(|number| self.end_if_overdue(now, number))
    }

    fn end_if_overdue(&mut self, now: Duration, number: u32) -> bool {
        let lease = self.limits().lease;
        let Some(client) = self.clients.get(&number) else { return false };
        let id = client.id;
        // If its record cannot be removed, the client stays.
        client.is_overdue(now, lease) && self.expire(now, number, lease).is_ok() && self.client(id).is_err()
    }

    /// The number of slots that a new session of a client may have.
    ///
    /// # Errors
    /// [`StateError::Resource`] when there are too many sessions, of its origin or in total.
    pub(crate) fn room_for_session(&self, id: ClientId, fore: &ChannelAttributes) -> Result<u32, StateError> {
        let limits = self.limits();
        let most =
            Sessions { count: limits.sessions, slots: limits.slots as usize, reply_bytes: limits.reply_cache_bytes };
        let share = Sessions {
            count: share_of(most.count),
            slots: share_of(most.slots),
            reply_bytes: share_of(most.reply_bytes),
        };
        let (all, origin) = (self.origins.all, self.client(id)?.account.origin);
        let own = self.origins.held(origin);
        if own.count >= share.count || all.count >= most.count {
            return Err(StateError::Resource);
        }
        let bytes = reply_bytes(fore, limits);
        let room = own.room(share, bytes).min(all.room(most, bytes));
        Ok(u32::try_from(room).unwrap_or(u32::MAX).max(1))
    }
}
