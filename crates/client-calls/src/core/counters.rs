/// The counters of a connection since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Calls made.
    pub calls: u64,
    /// Calls that got a reply.
    pub replies: u64,
    /// Sends of a call after its first.
    pub retransmissions: u64,
    /// Timeouts of calls.
    pub timeouts: u64,
    /// Replies that no call waited for: late, duplicate or never requested.
    pub unexpected: u64,
    /// Messages that are no valid reply, and calls by the server that were dropped.
    pub invalid: u64,
    /// Lost streams that were replaced.
    pub reconnects: u64,
    /// Errors of a datagram socket that nobody listens on the server's port.
    pub refusals: u64,
}

impl Counters {
    /// The counts after `earlier`.
    pub(crate) fn since(&self, earlier: &Counters) -> Counters {
        Counters {
            calls: self.calls.saturating_sub(earlier.calls),
            replies: self.replies.saturating_sub(earlier.replies),
            retransmissions: self.retransmissions.saturating_sub(earlier.retransmissions),
            timeouts: self.timeouts.saturating_sub(earlier.timeouts),
            unexpected: self.unexpected.saturating_sub(earlier.unexpected),
            invalid: self.invalid.saturating_sub(earlier.invalid),
            reconnects: self.reconnects.saturating_sub(earlier.reconnects),
            refusals: self.refusals.saturating_sub(earlier.refusals),
        }
    }
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.calls = self.calls.saturating_add(other.calls);
        self.replies = self.replies.saturating_add(other.replies);
        self.retransmissions = self.retransmissions.saturating_add(other.retransmissions);
        self.timeouts = self.timeouts.saturating_add(other.timeouts);
        self.unexpected = self.unexpected.saturating_add(other.unexpected);
        self.invalid = self.invalid.saturating_add(other.invalid);
        self.reconnects = self.reconnects.saturating_add(other.reconnects);
        self.refusals = self.refusals.saturating_add(other.refusals);
    }
}
