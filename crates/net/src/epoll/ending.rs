//! Timers, silent connections, and the end of the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Loop;
use crate::channel::Channel;
use crate::close_reason::CloseReason;
use crate::connection::{Connection, Interest};
use crate::slab::SlabKey;
use crate::{Limits, Service};

/// While the server ends, how often it is looked whether peers have acknowledged their last answers.
const ENDING_TICK: Duration = Duration::from_millis(5);

/// How many times per time-out the connections are looked through for silent and stalled ones, and the shortest time
/// between.
const SWEEPS_PER_TIMEOUT: u32 = 4;
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(20);

/// When a loop has to look after its connections, and when it has to end.
pub(super) struct Ending {
    sweep_interval: Duration,
    next_sweep: Instant,
    deadline: Option<Instant>,
}

impl Ending {
    pub(super) fn new(limits: &Limits) -> Ending {
        let timeout = limits.idle_timeout.map_or(limits.stall_timeout, |idle| idle.min(limits.stall_timeout));
        let sweep_interval = (timeout / SWEEPS_PER_TIMEOUT).max(MIN_SWEEP_INTERVAL);
        Ending { sweep_interval, next_sweep: Instant::now() + sweep_interval, deadline: None }
    }
}

impl<S: Service + ?Sized> Loop<S> {
    /// How long the loop may wait for events; `None` means without end.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let now = self.context.now;
        let tick = self.ending.deadline.map(|deadline| deadline.min(now + ENDING_TICK));
        let times = [tick, Some(self.ending.next_sweep), self.acceptor.paused_until(), self.starving.next_look()];
        let next = times.into_iter().flatten().min()?;
        Some(next.saturating_duration_since(now))
    }

    /// Does what is due by the clock.
    pub(super) fn timers(&mut self) {
        let now = self.context.now;
        if self.ending.next_sweep <= now {
            self.close_silent(now);
            // What a burst has left there would be kept for ever; what is needed is there again at once.
            self.context.spare.clear();
            self.context.outputs.clear();
            self.context.engine.hub.complaints.log_old(now);
            self.ending.next_sweep = now + self.ending.sweep_interval;
        }
        self.feed(now);
        self.resume_accepting(now);
        if self.context.draining {
            self.settle_all();
        }
    }

    fn close_silent(&mut self, now: Instant) {
        let engine = Arc::clone(&self.context.engine);
        for index in 0..self.connections.end() {
            let Some(key) = self.connections.key_at(index) else { continue };
            let Some(connection) = self.connections.get_mut(key) else { continue };
            if is_silent(connection, engine.hub.limits.idle_timeout, now) {
                self.close(key, CloseReason::Idle);
            } else if connection.is_stalled(&engine.hub.limits, now) {
                self.close(key, CloseReason::Stalled);
            }
        }
    }

    /// Reads nothing more from now on, and ends by `deadline`.
    pub(super) fn begin_to_end(&mut self, deadline: Instant) {
        self.ending.deadline = Some(self.ending.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        if !self.context.draining {
            self.context.draining = true;
            self.stop_accepting();
            self.stop_reading_datagrams();
            self.settle_all();
        }
    }

    /// Whether everything is finished, or the time for it is over.
    pub(super) fn is_over(&self) -> bool {
        let finished = self.connections.len() == 0 && self.datagrams.are_finished();
        self.ending.deadline.is_some_and(|deadline| finished || deadline <= Instant::now())
    }

    fn settle_all(&mut self) {
        for index in 0..self.connections.end() {
            if let Some(key) = self.connections.key_at(index) {
                self.settle(key);
            }
        }
    }

    /// Closes a connection of which everything was sent as soon as the peer has acknowledged it: closing a socket with
    /// unread input resets the connection, and a reset destroys what is still in flight.
    pub(super) fn close_acknowledged(&mut self, key: SlabKey) {
        let channel = self.connections.get_mut(key).and_then(|connection| connection.channel.as_ref());
        match channel.map(Channel::unacknowledged_bytes) {
            Some(Ok(1..)) => self.watch(key, Interest { readable: false, writable: false }),
            _ => self.close(key, CloseReason::Shutdown),
        }
    }

    /// Closes whatever is left when the loop ends.
    pub(super) fn close_all(&mut self) {
        for index in 0..self.connections.end() {
            let Some(key) = self.connections.key_at(index) else { continue };
            self.close(key, CloseReason::Shutdown);
            if let Some(connection) = self.connections.get_mut(key) {
                tracing::warn!(peer = %connection.peer.address, "calls were still being answered when the server ended");
                self.forget(key);
            }
        }
    }
}

fn is_silent(connection: &Connection, timeout: Option<Duration>, now: Instant) -> bool {
    let silence = now.saturating_duration_since(connection.last_active);
    connection.calls.is_empty() && timeout.is_some_and(|timeout| silence >= timeout)
}
