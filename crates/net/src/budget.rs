//! How much memory and how many connections clients may take.
//!
//! The memory is that of what was received and not answered, of calls that wait, and of replies that the peer has not
//! taken. The budget never ends anything that has begun: it says whether a client has *room*. A client without room is
//! served in small steps: each of its connections receives one small message, and gets one small reply, at a time. So a
//! client that is over its share slows down itself, and no connection stops.
//!
//! Half of the memory is there for whoever needs it first. The other half is divided evenly among the clients, so that
//! those who came early leave something to the others. Clients without exports, *strangers*, have a small part of it
//! together.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Limits;

/// Which part of all memory strangers have together, and which part each of them.
const STRANGERS_PART: usize = 8;
const STRANGER_PART: usize = 32;

/// How much must have been held for its memory to be given back to the system.
const RELEASE_BYTES: usize = 8 << 20;

/// How many connections are so many that some of them make room for clients with fewer, if any are.
pub(crate) type ManyConnections = Option<usize>;

/// What all clients of a server hold.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: usize,
    client_bytes: usize,
    /// How many connections all clients may have, and how many each of them.
    connections: usize,
    client_connections: usize,
    held: AtomicUsize,
    held_by_strangers: AtomicUsize,
    /// The most that was held since much of it was freed.
    peak: AtomicUsize,
    /// How many clients have exports.
    friends: AtomicUsize,
    clients: Mutex<HashMap<IpAddr, Arc<ClientBudget>>>,
}

/// A client, by its address, for as long as it has connections.
#[derive(Debug)]
pub(crate) struct ClientBudget {
    budget: Arc<Budget>,
    address: IpAddr,
    /// Whether it had no export when its first connection came.
    pub(crate) is_stranger: bool,
    connections: AtomicUsize,
    held: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Arc<Budget> {
        Arc::new(Budget {
            bytes: limits.memory_bytes,
            client_bytes: limits.client_memory_bytes(),
            connections: limits.max_connections,
            client_connections: limits.max_connections_per_client(),
            held: AtomicUsize::new(0),
            held_by_strangers: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            friends: AtomicUsize::new(0),
            clients: Mutex::new(HashMap::new()),
        })
    }

    /// Takes note of one more connection of the client at `address`, unless it has as many as a client may have. A
    /// connection of the server's own making is never refused.
    pub(crate) fn join(
        self: &Arc<Budget>,
        address: IpAddr,
        is_own: bool,
        is_friend: impl FnOnce() -> bool,
    ) -> Option<ConnectionAccount> {
        let mut clients = self.lock();
        let client = clients.entry(address).or_insert_with(|| Arc::new(ClientBudget::new(self, address, !is_friend())));
        if !is_own && client.connections.load(Relaxed) >= self.client_connections {
            return None;
        }
        client.connections.fetch_add(1, Relaxed);
        Some(ConnectionAccount { charge: MemoryCharge::new(client) })
    }

    /// How many connections a client must have to make room for one of the client at `address`: more than its even part
    /// of all. None when that one has its own even part already.
    pub(crate) fn many_connections(&self, address: IpAddr) -> ManyConnections {
        let clients = self.lock();
        let own = clients.get(&address.to_canonical()).map_or(0, |client| client.connections.load(Relaxed));
        let even_part = self.connections / (clients.len() + usize::from(own == 0));
        (own < even_part).then_some(even_part)
    }

    fn leave(&self, client: &ClientBudget) {
        let mut clients = self.lock();
        if client.connections.fetch_sub(1, Relaxed) == 1 {
            clients.remove(&client.address);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Arc<ClientBudget>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether much more was held than is held now; said once.
    pub(crate) fn has_freed(&self) -> bool {
        let (held, peak) = (self.held.load(Relaxed), self.peak.load(Relaxed));
        let has_freed = peak >= RELEASE_BYTES && held < peak / 2;
        if has_freed {
            self.peak.store(held, Relaxed);
        }
        has_freed
    }

    /// Whether so little is held by all clients that none of them can be without room.
    #[inline]
    fn is_calm(&self) -> bool {
        self.held.load(Relaxed) < self.client_bytes.min(self.bytes / STRANGER_PART)
    }
}

impl ClientBudget {
    fn new(budget: &Arc<Budget>, address: IpAddr, is_stranger: bool) -> ClientBudget {
        budget.friends.fetch_add(usize::from(!is_stranger), Relaxed);
        ClientBudget {
            budget: Arc::clone(budget),
            address,
            is_stranger,
            connections: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
        }
    }

    /// Whether the client has more than `count` connections.
    pub(crate) fn has_more_than(&self, count: usize) -> bool {
        self.connections.load(Relaxed) > count
    }

    /// Whether the client may take as much memory as a message or a reply needs.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.budget.is_calm() || self.is_below_its_share()
    }

    #[cold]
    fn is_below_its_share(&self) -> bool {
        let Budget { bytes, client_bytes, .. } = *self.budget;
        let own = self.held.load(Relaxed);
        if self.is_stranger {
            let strangers = self.budget.held_by_strangers.load(Relaxed);
            return own < client_bytes.min(bytes / STRANGER_PART) && strangers < bytes / STRANGERS_PART;
        }
        let half = bytes / 2;
        let even_part = half / self.budget.friends.load(Relaxed).max(1);
        own < client_bytes && (self.budget.held.load(Relaxed) < half || own < even_part)
    }

    fn change(&self, from: usize, to: usize) {
        let change = |held: &AtomicUsize| {
            if to > from { held.fetch_add(to - from, Relaxed) } else { held.fetch_sub(from - to, Relaxed) }
        };
        change(&self.held);
        let before = change(&self.budget.held);
        if to > from && before + to - from >= RELEASE_BYTES {
            self.budget.peak.fetch_max(before + to - from, Relaxed);
        }
        if self.is_stranger {
            change(&self.budget.held_by_strangers);
        }
    }
}

impl Drop for ClientBudget {
    fn drop(&mut self) {
        self.budget.friends.fetch_sub(usize::from(!self.is_stranger), Relaxed);
    }
}

/// Memory that a client holds, until this is dropped.
#[derive(Debug)]
pub(crate) struct MemoryCharge {
    client: Arc<ClientBudget>,
    bytes: usize,
}

impl MemoryCharge {
    /// Nothing is charged to `client` yet.
    pub(crate) fn new(client: &Arc<ClientBudget>) -> MemoryCharge {
        MemoryCharge { client: Arc::clone(client), bytes: 0 }
    }

    /// So many bytes are charged to `client`.
    pub(crate) fn of(client: &Arc<ClientBudget>, bytes: usize) -> MemoryCharge {
        let mut charge = MemoryCharge::new(client);
        charge.set(bytes);
        charge
    }

    /// Takes note of how much is held now.
    #[inline]
    pub(crate) fn set(&mut self, bytes: usize) {
        if bytes != self.bytes {
            self.client.change(self.bytes, bytes);
            self.bytes = bytes;
        }
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// What a connection holds, and the connection itself.
#[derive(Debug)]
pub(crate) struct ConnectionAccount {
    charge: MemoryCharge,
}

impl ConnectionAccount {
    /// Whose it is.
    pub(crate) fn client(&self) -> &Arc<ClientBudget> {
        &self.charge.client
    }

    /// Whether the client may take as much memory as a message or a reply needs.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.charge.client.has_room()
    }

    /// Takes note of how much the connection holds now.
    #[inline]
    pub(crate) fn set(&mut self, bytes: usize) {
        self.charge.set(bytes);
    }
}

impl Drop for ConnectionAccount {
    fn drop(&mut self) {
        self.charge.set(0);
        self.charge.client.budget.leave(&self.charge.client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn budget() -> Arc<Budget> {
        let limits = Limits { memory_bytes: 64 * MIB, max_connections_per_client: Some(2), ..Limits::default() };
        Budget::new(&limits)
    }

    fn join(budget: &Arc<Budget>, last: u8, is_friend: bool) -> ConnectionAccount {
        budget.join(IpAddr::from([10, 0, 0, last]), false, || is_friend).expect("it has few connections")
    }

    #[test]
    fn client_over_its_share_has_no_room_and_the_others_have() {
        let budget = budget();
        let (mut greedy, second, other) = (join(&budget, 1, true), join(&budget, 1, true), join(&budget, 2, true));
        greedy.set(16 * MIB);
        assert!(!greedy.has_room() && !second.has_room() && other.has_room());
        greedy.set(16 * MIB - 1);
        assert!(second.has_room());
    }

    #[test]
    fn much_is_freed_when_much_less_is_held_than_before() {
        let budget = budget();
        let mut account = join(&budget, 1, true);
        account.set(RELEASE_BYTES);
        assert!(!budget.has_freed());
        account.set(0);
        assert_eq!([(); 2].map(|()| budget.has_freed()), [true, false]);
        account.set(RELEASE_BYTES - 1);
        account.set(0);
        assert!(!budget.has_freed(), "it was little");
    }

    #[test]
    fn late_client_has_room_though_early_ones_hold_half_of_the_memory() {
        let budget = budget();
        let mut early: Vec<ConnectionAccount> = (0..3).map(|number| join(&budget, number, true)).collect();
        early.iter_mut().for_each(|account| account.set(16 * MIB - 1));
        let mut late = join(&budget, 9, true);
        assert!(late.has_room() && early.iter().all(|account| !account.has_room()));
        late.set(8 * MIB);
        assert!(!late.has_room(), "its even part is a quarter of the other half");
    }

    #[test]
    fn strangers_have_a_small_part_together_and_leave_the_rest_to_clients_with_exports() {
        let budget = budget();
        let mut strangers: Vec<ConnectionAccount> = (0..4).map(|number| join(&budget, number, false)).collect();
        strangers.iter_mut().for_each(|account| account.set(2 * MIB));
        assert!(strangers.iter().all(|account| !account.has_room()));
        assert!(!join(&budget, 9, false).has_room() && join(&budget, 10, true).has_room());
    }

    #[test]
    fn clients_with_more_than_their_even_part_make_room_for_one_with_less() {
        let limits = Limits { max_connections: 12, max_connections_per_client: Some(6), ..Limits::default() };
        let budget = Budget::new(&limits);
        let held: Vec<ConnectionAccount> = [1, 1, 1, 1, 1, 2].map(|last| join(&budget, last, true)).into();
        let many = |last| budget.many_connections(IpAddr::from([10, 0, 0, last]));
        assert_eq!((many(1), many(2), many(3)), (Some(6), Some(6), Some(4)));
        assert!(held[0].client().has_more_than(4) && !held[5].client().has_more_than(4));
        let _more = join(&budget, 1, true);
        assert_eq!((many(1), many(2)), (None, Some(6)), "it has its even part");
    }

    #[test]
    fn client_has_so_many_connections_and_is_forgotten_with_its_last_one() {
        let budget = budget();
        let address = IpAddr::from([10, 0, 0, 1]);
        let (one, mut two) = (join(&budget, 1, true), join(&budget, 1, true));
        assert!(budget.join(address, false, || true).is_none());
        assert!(budget.join(address, true, || true).is_some(), "the server's own are not refused");
        two.set(5);
        drop((one, two));
        assert!(budget.lock().is_empty());
        assert_eq!((budget.held.load(Relaxed), budget.friends.load(Relaxed)), (0, 0));
    }
}
