//! One turn of a loop: what happened to the sockets, and the connections' turns in the order of [`crate::order`].
//!
//! Busy connections are watched by an epoll instance of their own, which the loop's is told of by a single event: so
//! looking for calm connections between two turns of busy ones costs the same however many busy ones are ready.

use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::Loop;
use super::poller::{Events, Poller, Token};
use crate::Service;
use crate::close_reason::CloseReason;
use crate::connection::{Ready, TurnWork};
use crate::order::{ClientKey, Clients, MAX_HELD_ALONE, Quantum, TurnQueue};
use crate::slab::SlabKey;

/// For how long busy connections have turns before the loop looks for calm ones again; a turn that has begun goes on.
const LOOK_INTERVAL: Duration = Duration::from_micros(50);

/// How often the loop looks, while it is busy, for connections that are as busy or as calm as those that it serves,
/// when there are several clients: the look tells of every connection that is ready, which takes a while when there are
/// many.
const LOOK_AMONG_CLIENTS_INTERVAL: Duration = Duration::from_micros(250);

/// For how many turns of busy connections a calm one counts as being about after its own: one that sends its next
/// request when it has the reply is back long before.
const CALM_ABOUT_TURNS: u32 = 256;

/// Who waits for a turn, and what else decides whose turn it is.
pub(super) struct TurnOrder {
    /// Whether calm connections go before busy ones and clients take turns, or all connections go in one line.
    pub(super) is_fair: bool,
    clients: Clients,
    calm: TurnQueue<SlabKey>,
    busy: TurnQueue<SlabKey>,
    /// Watches the busy connections.
    pub(super) busy_poller: Poller,
    busy_events: Events,
    /// Whether busy connections are ready that are not in `busy` yet.
    more_are_busy: bool,
    /// When it looks for calm ones again, between turns of busy ones.
    next_look: Instant,
    /// When it looks for calm ones again, between turns of calm ones of several clients.
    next_look_among_clients: Instant,
    /// When it looks for busy ones again, if there are several clients.
    next_look_at_busy: Instant,
    /// How many turns of busy connections there were since the last one of a calm connection.
    busy_turns: u32,
}

impl TurnOrder {
    /// Nobody waits.
    pub(super) fn new(busy_poller: Poller, is_fair: bool) -> TurnOrder {
        let now = Instant::now();
        TurnOrder {
            is_fair,
            clients: Clients::default(),
            calm: TurnQueue::new(),
            busy: TurnQueue::new(),
            busy_poller,
            busy_events: Events::new(),
            more_are_busy: false,
            next_look: now,
            next_look_among_clients: now,
            next_look_at_busy: now,
            busy_turns: CALM_ABOUT_TURNS,
        }
    }

    /// Takes note of a connection of the client at `address`. Without fairness, all are of one client.
    pub(super) fn join(&mut self, address: IpAddr) -> ClientKey {
        self.clients.join(self.client_at(address))
    }

    /// Takes note that a connection of the client at `address` is closed.
    pub(super) fn leave(&mut self, address: IpAddr) {
        self.clients.leave(self.client_at(address));
    }

    fn client_at(&self, address: IpAddr) -> IpAddr {
        if self.is_fair { address } else { IpAddr::from([0, 0, 0, 0]) }
    }

    fn is_empty(&self) -> bool {
        self.calm.is_empty() && self.busy.is_empty()
    }

    /// How much the next busy connection may do.
    fn next_busy_quantum(&mut self) -> Quantum {
        if self.busy_turns >= CALM_ABOUT_TURNS {
            return Quantum::WHOLE;
        }
        self.busy_turns += 1;
        Quantum::SHORT
    }
}

impl<S: Service + ?Sized> Loop<S> {
    /// Waits once and does everything that is due: every connection that waits has a turn.
    pub(super) fn turn(&mut self) -> io::Result<()> {
        let timeout = if self.order.is_empty() { self.timeout() } else { Some(Duration::ZERO) };
        self.look(timeout)?;
        self.serve_calm()?;
        if self.order.more_are_busy {
            self.look_at_busy()?;
        }
        self.serve_busy()?;
        self.timers();
        Ok(())
    }

    /// Lets a connection wait for a turn, for what it is ready for.
    #[inline]
    pub(super) fn enqueue(&mut self, key: SlabKey, ready: Ready) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.ready |= ready;
        if !connection.queued {
            connection.queued = true;
            let order = &mut self.order;
            let turns = if connection.watched_as_busy { &mut order.busy } else { &mut order.calm };
            turns.push(connection.client, key);
        }
    }

    /// Waits for events, no longer than `timeout`; lets connections wait for their turns and does everything else.
    fn look(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let sleeps = &self.context.engine.hub.loops[self.context.loop_index].counters.sleeps;
        let count = self.busy_poll.wait(&self.poller, &mut self.events, timeout, sleeps)?;
        self.context.now = Instant::now();
        self.order.next_look = self.context.now + LOOK_INTERVAL;
        self.order.next_look_among_clients = self.context.now + LOOK_AMONG_CLIENTS_INTERVAL;
        for index in 0..count {
            let (token, ready) = self.events.get(index);
            match token {
                Token::Connection(key) => self.enqueue(key, ready),
                Token::Datagrams(socket) => self.datagram_turn(socket, ready),
                Token::Listener(listener) => self.accept(listener),
                Token::Mailbox => self.read_mailbox(),
                Token::Busy => self.order.more_are_busy = true,
            }
        }
        Ok(())
    }

    /// Lets the busy connections that are ready wait for their turns.
    fn look_at_busy(&mut self) -> io::Result<()> {
        let count = self.order.busy_poller.wait(&mut self.order.busy_events, Some(Duration::ZERO))?;
        self.order.more_are_busy = false;
        self.order.next_look_at_busy = self.context.now + LOOK_AMONG_CLIENTS_INTERVAL;
        for index in 0..count {
            if let (Token::Connection(key), ready) = self.order.busy_events.get(index) {
                self.enqueue(key, ready);
            }
        }
        Ok(())
    }

    /// Gives each calm connection that waits now a turn.
    fn serve_calm(&mut self) -> io::Result<()> {
        self.context.quantum = Quantum::WHOLE;
        for _ in 0..self.order.calm.len() {
            let Some(key) = self.order.calm.pop() else { break };
            self.connection_turn(key);
            if self.order.clients.are_several() && self.order.next_look_among_clients <= self.context.now {
                self.look(Some(Duration::ZERO))?;
            }
        }
        Ok(())
    }

    /// Gives each busy connection that waits now a turn, and calm ones theirs in between.
    fn serve_busy(&mut self) -> io::Result<()> {
        for _ in 0..self.order.busy.len() {
            let Some(key) = self.order.busy.pop() else { break };
            self.context.quantum = self.order.next_busy_quantum();
            self.connection_turn(key);
            self.context.now = Instant::now();
            if self.order.next_look <= self.context.now {
                self.look_between_busy()?;
            }
        }
        Ok(())
    }

    fn look_between_busy(&mut self) -> io::Result<()> {
        self.look(Some(Duration::ZERO))?;
        self.serve_calm()?;
        if self.order.clients.are_several() && self.order.next_look_at_busy <= self.context.now {
            self.look_at_busy()?;
        }
        Ok(())
    }

    fn connection_turn(&mut self, key: SlabKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.queued = false;
        let ready = std::mem::take(&mut connection.ready);
        if connection.channel.is_none() {
            return;
        }
        connection.begin_turn();
        let is_alone = self.order.is_empty() && !self.order.more_are_busy;
        self.context.quantum.max_held = if is_alone { MAX_HELD_ALONE } else { Duration::MAX };
        // A lack of memory for what comes over it costs a connection its end, and not the loop.
        let turn = AssertUnwindSafe(|| self.context.turn(connection, key, ready));
        let done = catch_unwind(turn).unwrap_or(Err(CloseReason::Panic));
        let work = connection.end_turn(self.context.now);
        if work != TurnWork::default() && self.order.is_fair && !connection.load.is_busy() {
            self.order.busy_turns = 0;
        }
        match done {
            Ok(()) => self.settle(key),
            Err(reason) => self.close(key, reason),
        }
    }
}
