//! A wire with a clock of its own that treats datagrams as badly as its seed says.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use testing::Random;

/// Something that happens at a time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A datagram reaches the server.
    ToServer { client: usize, message: Vec<u8> },
    /// A deferred call is carried out by a thread that may wait.
    FromPool { client: usize, message: Vec<u8> },
    /// A datagram reaches a client.
    ToClient { client: usize, message: Vec<u8> },
    /// A client has waited long enough for the reply to a call.
    Timeout { client: usize, xid: u32 },
}

pub struct Wire {
    pub random: Random,
    /// Of a hundred datagrams, how many are lost.
    lost_percent: u64,
    /// Of a hundred datagrams, how many come twice.
    doubled_percent: u64,
    max_delay_ms: u64,
    pub now_ms: u64,
    pub lost: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    next_number: u64,
}

impl Wire {
    pub fn new(seed: u64) -> Wire {
        let mut random = Random(seed);
        let (lost_percent, doubled_percent) = (random.below(35), random.below(35));
        let max_delay_ms = random.of(&[1, 20, 300, 2000]);
        let events = BinaryHeap::new();
        Wire { random, lost_percent, doubled_percent, max_delay_ms, now_ms: 0, lost: 0, events, next_number: 0 }
    }

    /// Lets `event` happen after `delay_ms`.
    pub fn schedule(&mut self, delay_ms: u64, event: Event) {
        self.events.push(Reverse((self.now_ms + delay_ms, self.next_number, event)));
        self.next_number += 1;
    }

    /// Sends a datagram, which may get lost, or come late, or twice.
    pub fn send(&mut self, datagram: impl Fn() -> Event) {
        if self.random.below(100) < self.lost_percent {
            self.lost += 1;
        } else {
            self.deliver(&datagram);
        }
        if self.random.below(100) < self.doubled_percent {
            self.deliver(&datagram);
        }
    }

    fn deliver(&mut self, datagram: &impl Fn() -> Event) {
        let delay_ms = self.random.below(self.max_delay_ms + 1);
        self.schedule(delay_ms, datagram());
    }

    /// What happens next, and lets its time come.
    pub fn next(&mut self) -> Option<Event> {
        let Reverse((at_ms, _, event)) = self.events.pop()?;
        self.now_ms = at_ms;
        Some(event)
    }
}
