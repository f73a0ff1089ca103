//! Groups clients by origin and limits each origin, so that others get their part.
//!
//! A client ID costs a caller only one request and no rights. So an origin with too many loses its own: unconfirmed
//! ones first, then those without state. Other origins are not affected.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use crate::core::Core;
use crate::{ChannelAttributes, ClientId, Limits, StateError};

/// The most clients of an origin to check for one that can be evicted, and the most origins.
const MOST_LOOKS: usize = 64;
const MOST_ORIGINS: usize = 8;

/// The origin of a client: an IPv4 address, or a /64 network of IPv6, the least that one host has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(IpAddr);

impl Origin {
    /// The origin of a caller.
    pub fn of(address: IpAddr) -> Origin {
        Origin(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
            v4 => v4,
        })
    }
}

/// The clients of each origin.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    by_origin: HashMap<Origin, OriginClients>,
    /// All origins by their number of clients.
    by_size: BTreeSet<(usize, Origin)>,
    all: Sessions,
}

/// The clients of one origin, by number and so by age.
#[derive(Debug, Default)]
struct OriginClients {
    unconfirmed: BTreeSet<u32>,
    confirmed: BTreeSet<u32>,
    /// The position of the search for a client to evict.
    look_from: u32,
    held: Sessions,
}

/// The resources of sessions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sessions {
    count: usize,
    slots: usize,
    /// The most bytes of their cached replies.
    reply_bytes: usize,
}

impl Sessions {
    /// The resources of one session.
    fn of(fore: &ChannelAttributes, limits: &Limits) -> Sessions {
        let slots = fore.max_requests as usize;
        Sessions { count: 1, slots, reply_bytes: slots * reply_bytes(fore, limits) }
    }

    fn add(&mut self, other: Sessions) {
        self.count += other.count;
        self.slots += other.slots;
        self.reply_bytes += other.reply_bytes;
    }

    fn subtract(&mut self, other: Sessions) {
        self.count = self.count.saturating_sub(other.count);
        self.slots = self.slots.saturating_sub(other.slots);
        self.reply_bytes = self.reply_bytes.saturating_sub(other.reply_bytes);
    }

    /// The number of additional slots of `bytes_per_slot` that fit within `most`.
    fn room(&self, most: Sessions, bytes_per_slot: usize) -> usize {
        let bytes = most.reply_bytes.saturating_sub(self.reply_bytes);
        most.slots.saturating_sub(self.slots).min(bytes / bytes_per_slot)
    }
}

/// The most bytes of one slot's cached reply.
fn reply_bytes(fore: &ChannelAttributes, limits: &Limits) -> usize {
    fore.max_response_cached_bytes.max(limits.always_cached_bytes).max(1) as usize
}

impl OriginClients {
    fn len(&self) -> usize {
        self.unconfirmed.len() + self.confirmed.len()
    }
}

impl Origins {
    pub(crate) fn enter(&mut self, origin: Origin, client: u32) {
        self.change(origin, |crowd| crowd.unconfirmed.insert(client));
    }

    pub(crate) fn confirm(&mut self, origin: Origin, client: u32) {
        self.change(origin, |crowd| crowd.unconfirmed.remove(&client) && crowd.confirmed.insert(client));
    }

    pub(crate) fn leave(&mut self, origin: Origin, client: u32) {
        self.change(origin, |crowd| crowd.unconfirmed.remove(&client) || crowd.confirmed.remove(&client));
    }

    pub(crate) fn add_session(&mut self, origin: Origin, fore: &ChannelAttributes, limits: &Limits) {
        let session = Sessions::of(fore, limits);
        self.all.add(session);
        self.by_origin.entry(origin).or_default().held.add(session);
    }

    pub(crate) fn remove_session(&mut self, origin: Origin, fore: &ChannelAttributes, limits: &Limits) {
        let session = Sessions::of(fore, limits);
        self.all.subtract(session);
        if let Some(crowd) = self.by_origin.get_mut(&origin) {
            crowd.held.subtract(session);
        }
    }

    fn change(&mut self, origin: Origin, change: impl FnOnce(&mut OriginClients) -> bool) {
        let crowd = self.by_origin.entry(origin).or_default();
        self.by_size.remove(&(crowd.len(), origin));
        change(crowd);
        match crowd.len() {
            0 => drop(self.by_origin.remove(&origin)),
            size => drop(self.by_size.insert((size, origin))),
        }
    }

    fn size(&self, origin: Origin) -> usize {
        self.by_origin.get(&origin).map_or(0, OriginClients::len)
    }

    fn unconfirmed(&self, origin: Origin) -> usize {
        self.by_origin.get(&origin).map_or(0, |crowd| crowd.unconfirmed.len())
    }

    fn oldest_unconfirmed(&self, origin: Origin) -> Option<u32> {
        self.by_origin.get(&origin)?.unconfirmed.first().copied()
    }

    /// The origins with the most clients.
    fn largest(&self) -> Vec<Origin> {
        self.by_size.iter().rev().take(MOST_ORIGINS).map(|(_, origin)| *origin).collect()
    }

    /// Some confirmed clients of an origin, different ones at each call.
    fn some_confirmed(&mut self, origin: Origin) -> Vec<u32> {
        let Some(crowd) = self.by_origin.get_mut(&origin) else { return Vec::new() };
        let from = crowd.look_from;
        let round = crowd.confirmed.range(from..).chain(crowd.confirmed.range(..from));
        let some: Vec<u32> = round.take(MOST_LOOKS).copied().collect();
        crowd.look_from = some.last().map_or(0, |last| last.wrapping_add(1));
        some
    }
}

/// The part of a common resource that one origin may have.
pub(crate) fn share_of(all: usize) -> usize {
    (all / 4).max(1)
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
        let lease = self.limits().lease;
        let Some(client) = self.clients.get(&number) else { return false };
        let id = client.id;
        if !self.has_state(number) {
            self.release_record(id);
            self.drop_client(id);
            return true;
        }
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
        let own = self.origins.by_origin.get(&origin).map_or(Sessions::default(), |crowd| crowd.held);
        if own.count >= share.count || all.count >= most.count {
            return Err(StateError::Resource);
        }
        let bytes = reply_bytes(fore, limits);
        let room = own.room(share, bytes).min(all.room(most, bytes));
        Ok(u32::try_from(room).unwrap_or(u32::MAX).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_host_are_one_origin() {
        let of = |text: &str| Origin::of(text.parse().unwrap());
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    }
}
