//! Distinguishes a retransmission over another connection from a call of another process behind the same address.

use std::time::Duration;

use crate::connections::Delivery;
use crate::replay::{CallState, ReplayCache, ReplayKey};
use crate::request::Request;
use crate::server::Server;

/// How often to check for the acknowledgement of a reply, and the interval of the checks: one second in all. A live
/// client acknowledges within half a second (RFC 1122 §4.2.3.2) plus the travel time of its packets.
const LOOKS: u32 = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

impl Server {
    /// Distinguishes a retransmission from a call of another process, when the same bytes arrived over another
    /// connection. This may block.
    pub(crate) fn begin_elsewhere(&self, replay: &ReplayCache, key: &ReplayKey, request: &Request<'_>) -> CallState {
        let (own, now) = (request.peer.connection, request.now);
        for _ in 0..LOOKS {
            let (connection, is_answered) = match replay.begin(key, own, now) {
                CallState::Elsewhere { connection, is_answered } => (connection, is_answered),
                seen => return seen,
            };
            match self.connections.delivery(connection, now) {
                Delivery::Delivered if is_answered => replay.replace(key, connection),
                Delivery::Lost if is_answered => replay.adopt(key, own),
                _ => (self.settings.pause)(BETWEEN_LOOKS),
            }
        }
        match replay.begin(key, own, now) {
            // Nobody acknowledged the reply: the client has abandoned that connection.
            CallState::Elsewhere { is_answered: true, .. } => {
                replay.adopt(key, own);
                replay.begin(key, own, now)
            }
            CallState::Elsewhere { .. } => CallState::InProgress,
            seen => seen,
        }
    }
}
