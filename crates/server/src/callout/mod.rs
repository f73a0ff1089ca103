//! Calls that the server makes: NFSv4 callbacks, and notifications of the lock and status protocols to other hosts.
//!
//! A call waits in [`Callouts`] until the owner of the sockets fetches it ([`Server::next_transmit`]). Its reply
//! returns by [`Server::take_reply`] and runs the closure that was queued with the call. Each call ends exactly once:
//! by its reply, by the end of its path, or by its deadline.

mod call;
mod table;

use std::time::Duration;

use peer::Peer;
use rpc::Reply;

pub(crate) use call::{Callout, CalloutError, CalloutResult, OwnCredential, Timeouts};
pub use call::{Destination, Transmit};
pub(crate) use table::Callouts;

use crate::server::{Server, Then};

impl Server {
    /// The next message that the server sends by itself, if any. Callers ask after each message that they answered or
    /// took, and after each tick. When there is nothing to send, it only reads two shared numbers.
    pub fn next_transmit(&self, now: Duration) -> Option<Transmit> {
        self.send_events(now);
        self.callouts.next_transmit()
    }

    /// Takes a reply to one of the server's calls; ignores any other message.
    pub fn take_reply(&self, peer: &Peer, message: &[u8], now: Duration) {
        let Ok(reply) = Reply::parse(message) else { return };
        let Some(then) = self.callouts.take(reply.xid, peer) else {
            tracing::debug!(peer = %peer.address, xid = %reply.xid, "a reply that nobody waits for");
            return;
        };
        match reply.outcome {
            rpc::CallResult::Success(results) => then(self, Ok(results.rest()), now),
            rpc::CallResult::Rejected(why) => then(self, Err(CalloutError::Rejected(why)), now),
        }
    }

    /// Fails the calls that wait for replies from `destination`, since nothing can be sent there.
    pub fn unreachable(&self, destination: &Destination, now: Duration) {
        for then in self.callouts.fail(destination) {
            then(self, Err(CalloutError::Unreachable), now);
        }
    }

    /// Queues a call; `then` runs with its result unless this returns an error.
    pub(crate) fn call_out(&self, callout: Callout, now: Duration, then: Then) -> Result<(), CalloutError> {
        self.callouts.add(callout, now, then)
    }

    /// Retransmits calls that are due, and ends those that timed out.
    pub(crate) fn tick_callouts(&self, now: Duration) {
        for then in self.callouts.tick(now) {
            then(self, Err(CalloutError::TimedOut), now);
        }
    }
}
