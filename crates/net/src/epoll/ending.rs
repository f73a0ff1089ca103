//! Timers, silent connections, and the end of the server.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::Loop;
use crate::Service;
use crate::connection::{CloseReason, Interest};
use crate::slots::Key;
use crate::sys;

/// While the server ends, how often it is looked whether peers have acknowledged their last answers.
const ENDING_TICK: Duration = Duration::from_millis(5);

/// How many times per idle time-out the connections are looked through for silent ones, and the shortest time between.
const SWEEPS_PER_TIMEOUT: u32 = 4;
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(20);

/// When a loop has to look after its connections, and when it has to end.
pub(super) struct Ending {
    idle_timeout: Option<Duration>,
    next_sweep: Option<Instant>,
    deadline: Option<Instant>,
}

impl Ending {
    pub(super) fn new(idle_timeout: Option<Duration>) -> Ending {
        let mut ending = Ending { idle_timeout, next_sweep: None, deadline: None };
        ending.plan_sweep(Instant::now());
        ending
    }

    fn plan_sweep(&mut self, now: Instant) {
        let interval = self.idle_timeout.map(|timeout| (timeout / SWEEPS_PER_TIMEOUT).max(MIN_SWEEP_INTERVAL));
        self.next_sweep = interval.map(|interval| now + interval);
    }
}

impl<S: Service + ?Sized> Loop<S> {
    /// How long the loop may wait for events; `None` means without end.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let now = self.bench.now;
        let tick = self.ending.deadline.map(|deadline| deadline.min(now + ENDING_TICK));
        let times = [tick, self.ending.next_sweep, self.acceptor.paused_until()];
        let next = times.into_iter().flatten().min()?;
        Some(next.saturating_duration_since(now))
    }

    /// Does what is due by the clock.
    pub(super) fn timers(&mut self) {
        let now = self.bench.now;
        if self.ending.next_sweep.is_some_and(|time| time <= now) {
            self.close_silent(now);
            self.ending.plan_sweep(now);
        }
        self.resume_accepting(now);
        if self.bench.draining {
            self.settle_all();
        }
    }

    fn close_silent(&mut self, now: Instant) {
        let Some(timeout) = self.ending.idle_timeout else { return };
        for index in 0..self.connections.end() {
            let Some(key) = self.connections.key_at(index) else { continue };
            let silent = self.connections.get_mut(key).is_some_and(|connection| {
                connection.calls.is_empty() && now.saturating_duration_since(connection.last_active) >= timeout
            });
            if silent {
                self.close(key, CloseReason::Idle);
            }
        }
    }

    /// Reads nothing more from now on, and ends by `deadline`.
    pub(super) fn begin_to_end(&mut self, deadline: Instant) {
        self.ending.deadline = Some(self.ending.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        if !self.bench.draining {
            self.bench.draining = true;
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
    /// unread input resets the connection, and a reset destroys what is still on its way.
    pub(super) fn close_acknowledged(&mut self, key: Key) {
        let socket = self.connections.get_mut(key).and_then(|connection| connection.socket.as_ref());
        match socket.map(|socket| sys::unacknowledged_bytes(socket.as_fd())) {
            Some(Ok(1..)) => self.watch(key, Interest { readable: false, writable: false }),
            _ => self.close(key, CloseReason::Shutdown),
        }
    }

    /// Closes whatever is left when the loop ends.
    pub(super) fn close_all(&mut self) {
        for index in 0..self.connections.end() {
            let Some(key) = self.connections.key_at(index) else { continue };
            self.close(key, CloseReason::Shutdown);
            if let Some(connection) = self.connections.remove(key) {
                tracing::warn!(peer = %connection.peer.address, "calls were still being answered when the server ended");
                self.bench.engine.service.disconnected(&connection.peer, connection.is_delivered);
            }
        }
    }
}
