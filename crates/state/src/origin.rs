//! Groups clients by origin, and counts what each origin has. `room.rs` limits it.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};

use crate::{ChannelAttributes, Limits};

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
    pub all: Sessions,
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
    pub count: usize,
    pub slots: usize,
    /// The most bytes of their cached replies.
    pub reply_bytes: usize,
}

impl Sessions {
    /// The resources of one session with so many slots.
    pub(crate) fn of(slots: usize, fore: &ChannelAttributes, limits: &Limits) -> Sessions {
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
    pub(crate) fn room(&self, most: Sessions, bytes_per_slot: usize) -> usize {
        let bytes = most.reply_bytes.saturating_sub(self.reply_bytes);
        most.slots.saturating_sub(self.slots).min(bytes / bytes_per_slot)
    }
}

/// The most bytes of one slot's cached reply.
pub(crate) fn reply_bytes(fore: &ChannelAttributes, limits: &Limits) -> usize {
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

    pub(crate) fn add_session(&mut self, origin: Origin, session: Sessions) {
        self.all.add(session);
        self.by_origin.entry(origin).or_default().held.add(session);
    }

    pub(crate) fn remove_session(&mut self, origin: Origin, session: Sessions) {
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

    pub(crate) fn size(&self, origin: Origin) -> usize {
        self.by_origin.get(&origin).map_or(0, OriginClients::len)
    }

    pub(crate) fn unconfirmed(&self, origin: Origin) -> usize {
        self.by_origin.get(&origin).map_or(0, |crowd| crowd.unconfirmed.len())
    }

    pub(crate) fn oldest_unconfirmed(&self, origin: Origin) -> Option<u32> {
        self.by_origin.get(&origin)?.unconfirmed.first().copied()
    }

    /// The sessions of an origin.
    pub(crate) fn held(&self, origin: Origin) -> Sessions {
        self.by_origin.get(&origin).map_or(Sessions::default(), |crowd| crowd.held)
    }

    /// The origins with the most clients.
    pub(crate) fn largest(&self) -> Vec<Origin> {
        self.by_size.iter().rev().take(MOST_ORIGINS).map(|(_, origin)| *origin).collect()
    }

    /// Some confirmed clients of an origin, different ones at each call.
    pub(crate) fn some_confirmed(&mut self, origin: Origin) -> Vec<u32> {
        let Some(crowd) = self.by_origin.get_mut(&origin) else { return Vec::new() };
        let from = crowd.look_from;
        let round = crowd.confirmed.range(from..).chain(crowd.confirmed.range(..from));
        let some: Vec<u32> = round.take(MOST_LOOKS).copied().collect();
        crowd.look_from = some.last().map_or(0, |last| last.wrapping_add(1));
        some
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
