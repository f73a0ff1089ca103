use std::time::Duration;

/// What carries the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP, with record marking.
    Stream,
    /// UDP: a datagram is a message.
    Datagram,
}

impl Transport {
    /// The one that this is not.
    pub(crate) fn other(self) -> Transport {
        match self {
            Transport::Stream => Transport::Datagram,
            Transport::Datagram => Transport::Stream,
        }
    }

    /// What stands before each message, in bytes.
    pub(crate) fn mark_bytes(self) -> usize {
        match self {
            Transport::Stream => 4,
            Transport::Datagram => 0,
        }
    }
}

/// When to send a call again, and when to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How long the first send is given.
    pub first_timeout: Duration,
    /// How often a call is given more time before it fails.
    pub retransmissions: u32,
    /// Whether calls never fail for want of a reply.
    pub is_hard: bool,
}

impl Retry {
    /// The shortest time between two sends.
    pub const MIN_TIMEOUT: Duration = Duration::from_millis(10);
    /// The longest time between two sends.
    pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);
    /// The longest time between two sends over datagrams.
    pub const MAX_DATAGRAM_TIMEOUT: Duration = Duration::from_secs(60);

    /// How long a call waits in all before it fails, or `None` when it never does.
    pub fn patience(&self, transport: Transport) -> Option<Duration> {
        let next = |last: &Duration| Some(self.next_timeout(transport, *last));
        let waits = std::iter::successors(Some(self.first_timeout), next).take(self.retransmissions as usize + 1);
        (!self.is_hard).then(|| waits.fold(Duration::ZERO, Duration::saturating_add))
    }

    /// How long the next send is given: twice as long over datagrams, where a time-out may mean congestion; longer by
    /// the first time over a stream, which has its own retransmission.
    pub(crate) fn next_timeout(&self, transport: Transport, last: Duration) -> Duration {
        match transport {
            Transport::Datagram => (last * 2).min(Self::MAX_DATAGRAM_TIMEOUT),
            Transport::Stream => (last + self.first_timeout).min(Self::MAX_TIMEOUT),
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
    /// When to send again.
    pub retry: Retry,
}

impl Config {
    /// The most that [`Config::max_pending`] can be.
    pub const MOST_PENDING: usize = 1 << 16;
}
