//! In which order connections have their turns.
//!
//! A loop has two kinds of connections. A *calm* one asks for little at a time, such as a client that sends its next
//! request when it has the reply to the last one; a *busy* one has many requests, or large ones, in every turn. Calm
//! connections go first: before each turn of a busy one, every calm connection that has something to do has a turn.
//! Within a kind, clients (addresses) take turns, and the connections of a client take its turns in the order in which
//! they asked for them, so that a client gains nothing by more connections.
//!
//! Nothing here knows sockets or the clock.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// How many messages a calm connection has in one turn at most.
const CALM_MESSAGES: u64 = 4;

/// How many bytes, in and out, a calm connection moves in one turn at most: those of a READ of 256 KiB with its
/// headers.
const CALM_BYTES: usize = (256 << 10) + 4096;

/// After how many calm turns in a row a busy connection is calm again.
const CALM_TURNS: u32 = 16;

/// Whether a connection is calm or busy, by what its last turns were like.
#[derive(Debug, Default)]
pub(crate) struct Load {
    is_busy: bool,
    calm_turns: u32,
}

impl Load {
    /// Whether the connection is a busy one.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Takes note of a turn in which so many messages were found and so many bytes moved.
    pub(crate) fn note(&mut self, messages: u64, bytes: usize) {
        if messages > CALM_MESSAGES || bytes > CALM_BYTES {
            self.is_busy = true;
            self.calm_turns = 0;
        } else if self.is_busy {
            self.calm_turns += 1;
            self.is_busy = self.calm_turns < CALM_TURNS;
        }
    }
}

/// A client among those that have connections to a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientKey(usize);

/// The clients that have connections to a loop.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    known: HashMap<IpAddr, (ClientKey, usize)>,
    free: Vec<ClientKey>,
    /// How many keys were ever given out.
    given: usize,
}

impl Clients {
    /// Takes note of one more connection of the client at `address`.
    pub(crate) fn join(&mut self, address: IpAddr) -> ClientKey {
        if let Some((key, connections)) = self.known.get_mut(&address) {
            *connections += 1;
            return *key;
        }
        let key = self.free.pop().unwrap_or(ClientKey(self.given));
        self.given = self.given.max(key.0 + 1);
        self.known.insert(address, (key, 1));
        key
    }

    /// Takes note that a connection of the client at `address` is closed.
    pub(crate) fn leave(&mut self, address: IpAddr) {
        let Some((key, connections)) = self.known.get_mut(&address) else { return };
        *connections -= 1;
        if *connections == 0 {
            self.free.push(*key);
            self.known.remove(&address);
        }
    }

    /// Whether there is more than one.
    pub(crate) fn are_several(&self) -> bool {
        self.known.len() > 1
    }
}

/// How much one turn of a connection may do before it is the next connection's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quantum {
    /// How many messages are answered.
    pub(crate) messages: u64,
    /// How many bytes of answers are made; the answer that reaches the limit may go beyond it. It bounds the memory
    /// that a batch of small calls with large answers takes.
    pub(crate) answer_bytes: usize,
    /// How many bytes are sent; one send may go beyond it.
    pub(crate) send_bytes: usize,
    /// For how long the first answer waits for others to leave with it.
    pub(crate) max_held: Duration,
}

/// For how long the first answer waits while no other connection wants a turn. Otherwise a client would have nothing to
/// do until all that it asked for is done, and then the server until the client has taken all answers.
pub(crate) const MAX_HELD_ALONE: Duration = Duration::from_micros(30);

impl Quantum {
    /// A turn that nobody is kept waiting by: as much as one receive brings.
    pub(crate) const WHOLE: Quantum =
        Quantum { messages: u64::MAX, answer_bytes: 1 << 20, send_bytes: 2 << 20, max_held: Duration::MAX };

    /// A turn of a busy connection while there are calm ones about, which is over in a tenth of a millisecond or so.
    pub(crate) const SHORT: Quantum =
        Quantum { messages: 16, answer_bytes: 128 << 10, send_bytes: 256 << 10, max_held: Duration::MAX };

    /// A turn of a connection whose client has no memory left: one reply, unless several are tiny.
    pub(crate) const SCARCE: Quantum =
        Quantum { messages: 16, answer_bytes: 4 << 10, send_bytes: 256 << 10, max_held: Duration::MAX };

    /// What is left of it after so many messages with answers of so many bytes.
    pub(crate) fn without(self, messages: u64, answer_bytes: usize) -> Quantum {
        Quantum {
            messages: self.messages.saturating_sub(messages),
            answer_bytes: self.answer_bytes.saturating_sub(answer_bytes),
            ..self
        }
    }

    /// The same, but with no more than `messages` messages.
    pub(crate) fn with_messages(self, messages: u64) -> Quantum {
        Quantum { messages: self.messages.min(messages), ..self }
    }
}

/// Connections of one kind that wait for their turns.
#[derive(Debug)]
pub(crate) struct TurnQueue<T> {
    /// Clients with a connection that waits, each once; the first one is next.
    ring: VecDeque<ClientKey>,
    /// What waits, by client: found by the key's number and kept when empty, since every turn of a loop looks here.
    waiting: Vec<VecDeque<T>>,
    len: usize,
}

impl<T> TurnQueue<T> {
    /// Nobody waits.
    pub(crate) fn new() -> TurnQueue<T> {
        TurnQueue { ring: VecDeque::new(), waiting: Vec::new(), len: 0 }
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Lets a connection of `client` wait. One that waits already must not be put in again.
    pub(crate) fn push(&mut self, client: ClientKey, connection: T) {
        if self.waiting.len() <= client.0 {
            self.waiting.resize_with(client.0 + 1, VecDeque::new);
        }
        let queue = &mut self.waiting[client.0];
        if queue.is_empty() {
            self.ring.push_back(client);
        }
        queue.push_back(connection);
        self.len += 1;
    }

    /// Whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let client = self.ring.pop_front()?;
        let queue = &mut self.waiting[client.0];
        let connection = queue.pop_front();
        if !queue.is_empty() {
            self.ring.push_back(client);
        }
        self.len -= usize::from(connection.is_some());
        connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn client_with_many_connections_gets_no_more_turns_than_one_with_a_single_connection() {
        let mut clients = Clients::default();
        let (many, one) = (clients.join(address(1)), clients.join(address(2)));
        let mut turns = TurnQueue::new();
        for number in 0..64 {
            turns.push(many, number);
        }
        turns.push(one, 100);
        let order: Vec<i32> = std::iter::from_fn(|| turns.pop()).collect();
        assert_eq!(order[..4], [0, 100, 1, 2]);
        assert_eq!((order.len(), turns.len(), turns.is_empty()), (65, 0, true));
    }

    #[test]
    fn connections_of_a_client_have_turns_in_the_order_in_which_they_asked() {
        let mut clients = Clients::default();
        let client = clients.join(address(1));
        let mut turns = TurnQueue::new();
        turns.push(client, 'a');
        turns.push(client, 'b');
        assert_eq!(turns.pop(), Some('a'));
        turns.push(client, 'a');
        assert_eq!([turns.pop(), turns.pop(), turns.pop()], [Some('b'), Some('a'), None]);
    }

    #[test]
    fn client_is_known_until_its_last_connection_is_closed_and_its_place_is_used_again() {
        let mut clients = Clients::default();
        let first = clients.join(address(1));
        assert_eq!(clients.join(address(1)), first);
        let second = clients.join(address(2));
        clients.leave(address(1));
        assert!(clients.are_several());
        clients.leave(address(1));
        assert!(!clients.are_several() && clients.join(address(3)) == first && first != second);
    }

    #[test]
    fn connection_is_busy_from_its_first_deep_turn_until_many_calm_ones_came_in_a_row() {
        let mut load = Load::default();
        load.note(CALM_MESSAGES, CALM_BYTES);
        assert!(!load.is_busy());
        load.note(CALM_MESSAGES + 1, 0);
        for _ in 1..CALM_TURNS {
            load.note(1, 100);
        }
        assert!(load.is_busy());
        load.note(1, CALM_BYTES + 1);
        for _ in 1..CALM_TURNS {
            load.note(1, 100);
        }
        assert!(load.is_busy(), "calm turns count only in a row");
        load.note(1, 100);
        assert!(!load.is_busy());
    }
}
