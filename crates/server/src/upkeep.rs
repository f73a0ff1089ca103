//! What a server does by the clock, and when a connection or a lease of the host has ended.

use std::time::Duration;

use peer::Peer;

use crate::callout::Destination;
use crate::in_steps::BETWEEN_STEPS;
use crate::server::Server;
use crate::{nlm, nsm};

impl Server {
    /// Runs the maintenance of the file systems. Call it every few seconds from a thread that may block.
    pub fn maintain(&self) {
        for export in self.exports.load().iter() {
            export.file_system.maintain();
        }
    }

    /// Runs all timers: leases and the grace period end, copies of expired clients stop, the server's calls are
    /// retransmitted or time out, and idle files are closed. Call it about every second from a thread that may block.
    pub fn tick(&self, now: Duration) {
        while self.state.tick(now) {
            (self.settings.pause)(BETWEEN_STEPS);
        }
        self.recall_leased(now);
        self.files.sweep(now);
        self.files.make_room_for(self.connections.count(), now);
        self.replay.expire_earlier(now);
        self.tick_callouts(now);
        self.retry_callbacks(now);
        self.sweep_copies(now);
        nlm::retry(self, now);
        nsm::send_notices(self, now);
    }

    /// Reports a closed connection: its deferred calls are dropped, and calls of the server over it fail.
    /// `is_delivered` is whether the client had acknowledged all replies.
    pub fn disconnected(&self, peer: &Peer, is_delivered: bool, now: Duration) {
        if is_delivered {
            self.connections.delivered(peer.connection);
        }
        self.paused.forget(peer.address);
        self.state.connection_closed(peer.connection);
        self.unreachable(&Destination::Connection(peer.connection), now);
    }

    /// Sets what runs on a thread of its own when a lease is broken, and should call [`Server::recall_leased`] at once:
    /// a local process waits. Without it, [`Server::tick`] does that.
    pub fn on_broken_lease(&self, wake: Box<dyn Fn() + Send + Sync>) {
        self.broken_leases.set_wake(wake);
    }

    /// Recalls the delegations of files whose leases are broken.
    pub fn recall_leased(&self, now: Duration) {
        for file in self.broken_leases.take() {
            let exports = self.exports.load();
            let break_time = exports.showing(&file).and_then(|exported| exported.export.file_system.lease_break_time());
            // Without the export, nobody knows how much time is left.
            self.state.lease_broken(now, &file, break_time.unwrap_or_default());
        }
    }
}
