//! A loop that waits for its sockets with epoll.

mod accept;
mod busy_poll;
mod datagrams;
mod delivery;
mod ending;
mod fragments;
mod poller;
mod starving;
mod stream;
mod turn;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use accept::Acceptor;
use busy_poll::BusyPoll;
use datagrams::Datagrams;
use ending::Ending;
use poller::{Events, Poller, Token};
use starving::Starving;
use stream::LoopContext;
use turn::TurnOrder;

use crate::answer::ServiceAnswer;
use crate::bind::{DatagramSocket, Listener};
use crate::close_reason::CloseReason;
use crate::complaints::{Complaint, Complaints};
use crate::connection::{Accepted, Connection, Course, Interest, Ready};
use crate::hub::Engine;
use crate::jobs::{DoneJob, Fetched, ReplyRoute};
use crate::mailbox::LoopMessage;
use crate::slab::{Slab, SlabKey};
use crate::{Service, ServiceError, Verdict};

/// The sockets that all loops serve.
#[derive(Clone)]
pub(crate) struct Sockets {
    pub(crate) listeners: Arc<[Listener]>,
    pub(crate) datagrams: Arc<[DatagramSocket]>,
}

/// What a loop needs of the kernel, made before its thread is.
pub(crate) struct Prepared {
    poller: Poller,
    /// Watches the busy connections, and is watched by the other one.
    busy_poller: Poller,
}

/// Makes what a loop needs of the kernel, so that a lack of it is known when the server starts.
pub(crate) fn prepare<S: ?Sized>(engine: &Engine<S>, index: usize, sockets: &Sockets) -> io::Result<Prepared> {
    let (poller, busy_poller) = (Poller::new()?, Poller::new()?);
    poller.add_poller(&busy_poller, Token::Busy)?;
    let reading = Interest { readable: true, writable: false };
    poller.add(engine.hub.loops[index].mailbox.wake_fd(), Token::Mailbox, reading)?;
    for (number, datagrams) in sockets.datagrams.iter().enumerate() {
        poller.add_shared(&datagrams.socket, Token::Datagrams(number), reading)?;
    }
    for (number, listener) in sockets.listeners.iter().enumerate() {
        poller.add_shared(&listener.socket, Token::Listener(number), reading)?;
    }
    Ok(Prepared { poller, busy_poller })
}

/// Runs the loop `index` on this thread until the server ends.
pub(crate) fn run<S: Service + ?Sized>(engine: Arc<Engine<S>>, index: usize, sockets: Sockets, prepared: Prepared) {
    let mut the_loop = Loop {
        poller: prepared.poller,
        busy_poll: BusyPoll::new(engine.hub.policy.busy_poll),
        events: Events::new(),
        connections: Slab::new(),
        by_number: HashMap::new(),
        order: TurnOrder::new(prepared.busy_poller, engine.hub.policy.is_fair),
        inbox: Vec::new(),
        acceptor: Acceptor::new(sockets.listeners),
        datagrams: Datagrams::new(sockets.datagrams),
        ending: Ending::new(&engine.hub.limits),
        starving: Starving::default(),
        context: LoopContext::new(engine, index),
    };
    while !the_loop.is_over() {
        if let Err(error) = the_loop.turn() {
            tracing::error!(%error, "an event loop cannot wait for its sockets and ends");
            break;
        }
    }
    the_loop.close_all();
}

struct Loop<S: ?Sized> {
    poller: Poller,
    busy_poll: BusyPoll,
    events: Events,
    connections: Slab<Connection>,
    /// Where the open connections are, by their numbers.
    by_number: HashMap<u64, SlabKey>,
    order: TurnOrder,
    inbox: Vec<LoopMessage>,
    acceptor: Acceptor,
    datagrams: Datagrams,
    ending: Ending,
    starving: Starving,
    context: LoopContext<S>,
}

impl<S: Service + ?Sized> Loop<S> {
    /// Sees to it that the connection has its next turn when it needs one, or closes it.
    fn settle(&mut self, key: SlabKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.has_room = connection.account.has_room();
        if !connection.has_room {
            self.starve(key);
        }
        let Some(connection) = self.connections.get_mut(key) else { return };
        match connection.course(&self.context.engine.hub.limits, self.context.draining) {
            Course::Wait(interest) => self.watch(key, interest),
            Course::TurnAgain(interest) => {
                self.watch(key, interest);
                self.enqueue(key, Ready::default());
            }
            Course::Over if connection.ended_by_peer => self.close(key, CloseReason::Peer),
            Course::Over => self.close_acknowledged(key),
        }
    }

    fn watch(&mut self, key: SlabKey, interest: Interest) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let is_busy = self.order.is_fair && connection.load.is_busy();
        if connection.interest == interest && connection.watched_as_busy == is_busy {
            return;
        }
        let Some(channel) = &connection.channel else { return };
        let socket = channel.socket();
        let token = Token::Connection(key);
        let pollers = [&self.poller, &self.order.busy_poller];
        let (old, new) = (pollers[usize::from(connection.watched_as_busy)], pollers[usize::from(is_busy)]);
        let result = if connection.watched_as_busy == is_busy {
            old.modify(socket, token, interest)
        } else {
            old.remove(socket).and_then(|()| new.add(socket, token, interest))
        };
        match result {
            Ok(()) => (connection.interest, connection.watched_as_busy) = (interest, is_busy),
            Err(error) => self.close(key, CloseReason::Broken(error)),
        }
    }

    /// Begins to serve an accepted connection.
    fn adopt(&mut self, accepted: Accepted) {
        let interest = Interest { readable: !self.context.draining, writable: false };
        let client = self.order.join(accepted.peer.address.ip());
        let number = accepted.peer.connection;
        let mut connection = Connection::new(accepted, client, self.context.now);
        connection.interest = interest;
        let key = self.connections.insert(connection);
        self.by_number.insert(number, key);
        self.context.shared().counters.accepted.add(1);
        let Some(channel) = self.connections.get_mut(key).and_then(|connection| connection.channel.as_ref()) else {
            return;
        };
        match self.poller.add(channel.socket(), Token::Connection(key), interest) {
            Ok(()) => self.settle(key),
            Err(error) => self.close(key, CloseReason::Broken(error)),
        }
    }

    /// Closes a connection; it is forgotten as soon as none of its calls is with a blocking thread.
    fn close(&mut self, key: SlabKey, reason: CloseReason) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.is_delivered |= connection.is_delivered_at(&reason);
        if connection.channel.take().is_none() {
            return;
        }
        log_close(connection, &reason, &self.context.engine.hub.complaints, self.context.now);
        self.by_number.remove(&connection.peer.connection);
        self.order.leave(connection.peer.address.ip());
        connection.unread.release(&mut self.context.spare);
        connection.unread.whole_left = false;
        connection.outbox.clear();
        connection.calls.forget_waiting();
        connection.end_turn(self.context.now);
        self.context.shared().counters.closed(&reason);
        self.forget_if_done(key);
    }

    fn forget_if_done(&mut self, key: SlabKey) {
        let done = |connection: &mut Connection| connection.channel.is_none() && connection.calls.given() == 0;
        if self.connections.get_mut(key).is_some_and(done) {
            self.forget(key);
        }
    }

    /// Forgets a connection. The service hears of it last: on hearing of it, it may open the next one.
    fn forget(&mut self, key: SlabKey) {
        let Some(connection) = self.connections.remove(key) else { return };
        let (peer, is_delivered) = (connection.peer, connection.is_delivered);
        drop(connection);
        self.context.engine.hub.leave(self.context.loop_index);
        self.context.engine.service.disconnected(&peer, is_delivered);
    }

    fn read_mailbox(&mut self) {
        let mut inbox = std::mem::take(&mut self.inbox);
        self.context.shared().mailbox.take(&mut inbox);
        for message in inbox.drain(..) {
            match message {
                LoopMessage::Accepted(accepted) => self.adopt(accepted),
                LoopMessage::Done(done) => self.take_back(done),
                LoopMessage::Fetched(fetched) => self.take_fetched(fetched),
                LoopMessage::Send { connection, bytes } => self.send_own(connection, &bytes),
                LoopMessage::SendDatagram(datagram) => self.datagrams.add_own(&datagram),
                LoopMessage::AskDelivery { connection, since, tell } => {
                    // Whoever asked may have given up by now.
                    let _ = tell.send(self.delivery(connection, since));
                }
                LoopMessage::MakeRoom(many) => self.make_room(many),
                LoopMessage::Shutdown { deadline } => self.begin_to_end(deadline),
            }
        }
        self.inbox = inbox;
        self.send_datagrams();
    }

    /// Puts bytes of the service's own behind what a connection has to send, if it is still open.
    fn send_own(&mut self, number: u64, bytes: &[u8]) {
        let Some(&key) = self.by_number.get(&number) else { return };
        let Some(connection) = self.connections.get_mut(key) else { return };
        let mut output = self.context.outputs.take();
        output.bytes.put(bytes);
        self.context.queue(connection, output);
        self.enqueue(key, Ready::default());
    }

    /// Takes a call back from a blocking thread.
    fn take_back(&mut self, done: DoneJob) {
        self.context.shared().counters.deferred.add(done.messages.len() as u64);
        match done.origin {
            ReplyRoute::Connection(key) => self.take_back_call(key, done),
            ReplyRoute::Datagram { socket, source } => {
                let reply = datagrams::Late { socket, source, to: done.peer.address, output: &done.output };
                self.datagrams.take_back(&reply, &done.asked, &self.context.engine.hub.loops[self.context.loop_index]);
                self.context.spare.give_all(done.messages);
                self.context.outputs.give(done.output);
            }
        }
    }

    /// Goes on sending a connection's replies with bytes that a blocking thread has read.
    fn take_fetched(&mut self, fetched: Fetched) {
        let Fetched { key, bytes } = fetched;
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.channel.is_none() {
            return;
        }
        match bytes {
            Ok(bytes) => {
                self.context.shared().counters.fetched_bytes.add(bytes.len() as u64);
                connection.outbox.put_fetched(bytes);
                connection.end_turn(self.context.now);
                self.enqueue(key, Ready::default());
            }
            Err(error) => self.close(key, CloseReason::File(error)),
        }
    }

    fn take_back_call(&mut self, key: SlabKey, done: DoneJob) {
        // The connection's entry stays until all its calls are back.
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.calls.came_back(&done.messages, done.lane);
        self.context.spare.give_all(done.messages);
        // Until here the answer was charged by itself; from here on it is among what the connection has to send.
        drop(done.charge);
        if connection.channel.is_none() {
            self.context.outputs.give(done.output);
            return self.forget_if_done(key);
        }
        connection.last_active = self.context.now;
        self.context.queue(connection, done.output);
        connection.end_turn(self.context.now);
        match done.asked {
            ServiceAnswer::Verdict(Verdict::Answered | Verdict::Silent) => self.enqueue(key, Ready::default()),
            ServiceAnswer::Verdict(Verdict::Upgrade) => {
                connection.is_upgrading = true;
                self.enqueue(key, Ready::default());
            }
            ServiceAnswer::Verdict(Verdict::Close(why)) => self.close(key, CloseReason::Service(why)),
            ServiceAnswer::Verdict(Verdict::WouldBlock(_)) => {
                self.close(key, CloseReason::Service(ServiceError::WouldNotWait));
            }
            ServiceAnswer::Panicked => self.close(key, CloseReason::Panic),
        }
    }
}

fn log_close(connection: &Connection, reason: &CloseReason, complaints: &Complaints, now: Instant) {
    let peer = connection.peer.address;
    let is_wrong = match reason {
        CloseReason::BadFrame(_)
        | CloseReason::Service(_)
        | CloseReason::File(_)
        | CloseReason::Panic
        | CloseReason::Stalled => true,
        CloseReason::Peer
        | CloseReason::Broken(_)
        | CloseReason::Idle
        | CloseReason::Evicted
        | CloseReason::Shutdown => false,
    };
    if is_wrong && complaints.is_new(peer.ip(), Complaint::Closed, now) {
        tracing::warn!(%peer, %reason, "connection closed");
    } else {
        tracing::debug!(%peer, %reason, "connection closed");
    }
}
