use std::time::Duration;

use peer::Transport;
use rpc::record;

/// When to retransmit a call, and when to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The timeout of the first send.
    pub first_timeout: Duration,
    /// How often a call gets more time before it fails.
    pub retransmissions: u32,
    /// Whether calls wait for a reply for ever.
    pub is_hard: bool,
}

impl Retry {
    /// The shortest time between two sends.
    pub const MIN_TIMEOUT: Duration = Duration::from_millis(10);
    /// The longest time between two sends.
    pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);
    /// The longest time between two sends over datagrams.
    pub const MAX_DATAGRAM_TIMEOUT: Duration = Duration::from_secs(60);

    /// How long a call waits in all before it fails; `None` for ever.
    pub fn patience(&self, transport: Transport) -> Option<Duration> {
        let next = |last: &Duration| Some(self.next_timeout(transport, *last));
        let waits = std::iter::successors(Some(self.first_timeout), next).take(self.retransmissions as usize + 1);
        (!self.is_hard).then(|| waits.fold(Duration::ZERO, Duration::saturating_add))
    }

    /// The timeout of the next send. Over datagrams it doubles, since a timeout may mean congestion. A stream
    /// retransmits by itself, so there it grows by the first timeout.
    pub(crate) fn next_timeout(&self, transport: Transport, last: Duration) -> Duration {
        match transport {
            Transport::Udp => (last * 2).min(Self::MAX_DATAGRAM_TIMEOUT),
            Transport::Tcp => (last + self.first_timeout).min(Self::MAX_TIMEOUT),
        }
    }
}

/// How a connection behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// What carries the calls.
    pub transport: Transport,
    /// The most calls at once, 1 to [`Config::MOST_PENDING`].
    pub max_pending: usize,
    /// When to retransmit.
    pub retry: Retry,
}

impl Config {
    /// The largest [`Config::max_pending`].
    pub const MOST_PENDING: usize = 1 << 16;

    /// The length of the mark before each message, in bytes.
    pub(crate) fn mark_bytes(&self) -> usize {
        match self.transport {
            Transport::Tcp => record::MARK_BYTES,
            Transport::Udp => 0,
        }
    }
}
