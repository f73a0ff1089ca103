//! One turn of one connection: one receive, all its messages answered, one send.

use std::io::{IoSlice, IoSliceMut};
use std::num::NonZero;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use buffer::{Buffer, Output, Pool};
use rustix::io::Errno;
use rustix::net::{self, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags};

use crate::Service;
use crate::answer::{Deferring, StreamTurn, TurnEnd, TurnProgress};
use crate::blocking::{self, BlockingJob, CallJob, FetchJob, MAX_FETCH_BYTES, ReplyRoute};
use crate::connection::{CloseReason, Connection, Ready, Unread, WaitingCalls};
use crate::hub::{Engine, LoopShared};
use crate::order::Quantum;
use crate::outbox::{self, FileWay, MAX_SLICES, Next};
use crate::slab::SlabKey;
use crate::spare::SpareBuffers;

/// How many bytes one receive brings at most.
const RECEIVE_BYTES: usize = 256 << 10;

/// How many bytes one receive brings of a message that is likely to be large: enough for the head of every message.
const HEAD_BYTES: usize = 1 << 10;

/// How many bytes of a file without `sendfile` are read for one send, and how many zeros take the place of missing
/// ones.
const FILE_READ_BYTES: usize = 64 << 10;

/// How many free outputs a loop keeps, and how much memory each may have.
const POOLED_OUTPUTS: usize = 8;
const POOLED_OUTPUT_BYTES: usize = 2 << 20;

static ZEROS: [u8; FILE_READ_BYTES] = [0; FILE_READ_BYTES];

/// The tools that a loop uses on one connection after the other.
pub(super) struct LoopContext<S: ?Sized> {
    pub(super) engine: Arc<Engine<S>>,
    pub(super) loop_index: usize,
    /// Whether the server ends, so that no socket is to be read.
    pub(super) draining: bool,
    /// The time of the last wait or receive, whichever was later: the clock is read no more often than needed.
    pub(super) now: Instant,
    pub(super) outputs: Pool,
    pub(super) spare: SpareBuffers,
    /// How much the present turn may do.
    pub(super) quantum: Quantum,
    /// Where receives go; only what is left of a message stays with its connection.
    pub(super) receive: Buffer,
    max_given: usize,
    /// How often received messages were answered so far, each time with a number of its own.
    batches: u64,
}

/// Messages that are answered one after the other: by whom, and since when they are there.
struct MessageBatch {
    worker: usize,
    now: Instant,
    number: Option<NonZero<u64>>,
}

/// How far a send has come.
pub(super) enum Sent {
    /// So many bytes went out, and more may.
    Bytes(usize),
    /// So many went out, and the socket takes no more now.
    Blocked(usize),
}

impl<S: Service + ?Sized> LoopContext<S> {
    pub(super) fn new(engine: Arc<Engine<S>>, loop_index: usize) -> LoopContext<S> {
        LoopContext {
            // Enough for no thread to run out of work while the loop is busy, few enough for other connections.
            max_given: engine.hub.limits.blocking_threads * 2,
            engine,
            loop_index,
            draining: false,
            now: Instant::now(),
            outputs: Pool::new(POOLED_OUTPUTS, POOLED_OUTPUT_BYTES),
            spare: SpareBuffers::default(),
            quantum: Quantum::WHOLE,
            receive: Buffer::with_capacity(RECEIVE_BYTES),
            batches: 0,
        }
    }

    pub(super) fn shared(&self) -> &LoopShared {
        &self.engine.hub.loops[self.loop_index]
    }

    /// Does what the connection can do now. An error means that it has to be closed.
    pub(super) fn turn(&mut self, connection: &mut Connection, key: SlabKey, ready: Ready) -> Result<(), CloseReason> {
        let result = self.take_in(connection, ready);
        // While an earlier send waits for room, another one would only be told so again.
        if ready.writable || !connection.interest.writable {
            self.flush(connection)?;
        } else {
            connection.outbox.slim(&mut self.outputs);
        }
        result?;
        self.fetch_evicted(connection, key);
        self.give_calls(connection, key);
        Ok(())
    }

    fn take_in(&mut self, connection: &mut Connection, ready: Ready) -> Result<(), CloseReason> {
        let limits = &self.engine.hub.limits;
        let may_receive = !self.draining && connection.may_receive(limits);
        if connection.unread.whole_left && connection.may_answer(limits) {
            self.answer_left(connection)
        } else if may_receive && (ready.readable || ready.hangup) {
            self.receive(connection)
        } else if ready.hangup {
            // It can neither be read, which would show the error, nor be answered any more.
            Err(CloseReason::Broken(Errno::CONNRESET.into()))
        } else {
            Ok(())
        }
    }

    /// Receives once, or of large messages until a turn's bytes have come, so that their answers leave together.
    fn receive(&mut self, connection: &mut Connection) -> Result<(), CloseReason> {
        if !connection.unread.is_to_be_kept(RECEIVE_BYTES) {
            let expects_large = connection.unread.expects_large();
            self.receive_shared(connection)?;
            if !expects_large {
                return Ok(());
            }
        }
        let mut received = 0;
        while received < RECEIVE_BYTES
            && connection.unread.is_to_be_kept(RECEIVE_BYTES)
            && !connection.unread.whole_left
            && (connection.has_room || connection.unread.may_grow())
        {
            match self.receive_rest(connection)? {
                0 => break,
                count => received += count,
            }
        }
        Ok(())
    }

    /// Receives into the loop's buffer: as much as it holds, or the head of what is likely to be a large message.
    fn receive_shared(&mut self, connection: &mut Connection) -> Result<(), CloseReason> {
        let unread = &mut connection.unread;
        let (needed, expects_large) = (unread.needed, unread.expects_large());
        let most = if connection.has_room { usize::MAX } else { unread.scarce_room() };
        self.receive.clear();
        if !unread.is_empty() {
            unread.move_to(&mut self.receive, &mut self.spare);
        }
        let room = self.receive.capacity() - self.receive.len();
        let room = if expects_large { room.min(HEAD_BYTES) } else { room };
        let count = receive_once(connection, self.receive.space(room.min(most).max(1)));
        self.receive.advance(*count.as_ref().unwrap_or(&0));
        if !self.note_received(connection, count)? || self.receive.len() < needed {
            if !self.receive.is_empty() {
                connection.unread.keep(self.receive.as_slice(), needed, 0, &mut self.spare);
            }
            return Ok(());
        }
        self.answer_received(connection)
    }

    /// Receives more of a large message into the connection's own buffer, and the head of the next one behind it into
    /// the loop's. Says how much came, or 0 when the socket holds no more.
    fn receive_rest(&mut self, connection: &mut Connection) -> Result<usize, CloseReason> {
        let Connection { unread, socket, .. } = connection;
        let Some(socket) = socket else { return Ok(0) };
        self.receive.clear();
        let place = unread.space(&mut self.spare);
        let room = place.len();
        let result = receive_both(socket, place, self.receive.space(HEAD_BYTES));
        let count = *result.as_ref().unwrap_or(&0);
        unread.received(count.min(room));
        self.receive.advance(count.saturating_sub(room));
        if self.note_received(connection, result)? && connection.unread.len() >= connection.unread.needed {
            connection.unread.prove(connection.unread.needed);
            self.answer_left(connection)?;
        }
        self.take_next_head(connection)?;
        Ok(if count < room + HEAD_BYTES { 0 } else { count })
    }

    /// Does with what came behind a large message as if it had been received by itself.
    fn take_next_head(&mut self, connection: &mut Connection) -> Result<(), CloseReason> {
        if self.receive.is_empty() {
            return Ok(());
        }
        if connection.unread.is_empty() && connection.may_answer(&self.engine.hub.limits) {
            return self.answer_received(connection);
        }
        // It has to wait behind a message that was not whole, or may not be answered now.
        connection.unread.append(self.receive.as_slice());
        connection.unread.whole_left = true;
        Ok(())
    }

    /// Takes note of a receive; says whether it brought anything.
    fn note_received(&mut self, connection: &mut Connection, count: Result<usize, Errno>) -> Result<bool, CloseReason> {
        match count {
            Ok(0) => {
                connection.ended_by_peer = true;
                Ok(false)
            }
            Ok(count) => {
                self.now = Instant::now();
                connection.last_active = self.now;
                connection.last_received = self.now;
                connection.work.bytes += count;
                self.shared().counters.bytes_in.add(count as u64);
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(CloseReason::Broken(error.into())),
        }
    }

    /// A number for the messages that are answered next.
    fn next_batch(&mut self) -> MessageBatch {
        self.batches += 1;
        MessageBatch { worker: self.loop_index, now: self.now, number: NonZero::new(self.batches) }
    }

    /// Answers what is in the loop's receive buffer; what is left stays with the connection.
    fn answer_received(&mut self, connection: &mut Connection) -> Result<(), CloseReason> {
        let mut output = self.outputs.take();
        let batch = self.next_batch();
        let turn = self.engine.turn(connection, batch, self.quantum);
        let Connection { calls, unread, has_room, .. } = &mut *connection;
        let mut deferring = Deferring { calls, spare: &mut self.spare };
        let progress = turn.answer(self.receive.as_mut_slice(), &mut output, &mut deferring);
        if progress.messages > 0 {
            unread.prove(progress.consumed / progress.messages as usize);
        }
        let rest = &self.receive.as_slice()[progress.consumed..];
        if !rest.is_empty() && !matches!(progress.end, TurnEnd::Close(_)) {
            let needed = progress.needed();
            let bulk_at = if Unread::is_large_size(needed) { self.engine.service.bulk_at(rest) } else { 0 };
            unread.keep(rest, needed, bulk_at, &mut self.spare);
            unread.admit(*has_room);
        }
        self.finish_turn(connection, output, progress)
    }

    /// Answers what is in the connection's own buffer.
    fn answer_left(&mut self, connection: &mut Connection) -> Result<(), CloseReason> {
        let mut output = self.outputs.take();
        let batch = self.next_batch();
        let turn = self.engine.turn(connection, batch, self.quantum);
        let Connection { calls, unread, .. } = &mut *connection;
        let mut deferring = Deferring { calls, spare: &mut self.spare };
        let progress = turn.answer(unread.as_mut_slice(), &mut output, &mut deferring);
        unread.consume(progress.consumed, &mut self.spare);
        unread.needed = progress.needed();
        self.finish_turn(connection, output, progress)
    }

    fn finish_turn(
        &mut self,
        connection: &mut Connection,
        output: Output,
        progress: TurnProgress,
    ) -> Result<(), CloseReason> {
        connection.work.messages += progress.messages;
        connection.work.bytes += output.len();
        self.queue(connection, output);
        self.shared().counters.messages.add(progress.messages);
        connection.unread.whole_left = matches!(progress.end, TurnEnd::Limit) && !connection.unread.is_empty();
        match progress.end {
            TurnEnd::Close(reason) => Err(reason),
            TurnEnd::Needs(needed) => self.check_size(connection, needed),
            TurnEnd::Limit => Ok(()),
        }
    }

    /// Refuses a large message of a client without exports, which has nothing to say that takes so much memory.
    fn check_size(&self, connection: &mut Connection, needed: usize) -> Result<(), CloseReason> {
        let limit = self.engine.hub.limits.max_stranger_message_bytes;
        if needed <= limit || connection.may_be_large {
            return Ok(());
        }
        // It may have got an export since its first connection came.
        connection.may_be_large = self.engine.service.trusts(connection.peer.address.ip());
        if connection.may_be_large {
            return Ok(());
        }
        let why =
            format!("a message of {needed} bytes from a client without exports is larger than the limit of {limit}");
        Err(CloseReason::BadFrame(why))
    }

    /// Puts an output behind what the connection has to send.
    pub(super) fn queue(&mut self, connection: &mut Connection, output: Output) {
        let output = if self.engine.hub.policy.send_path.copies { self.copied(output) } else { output };
        connection.outbox.push(output, &mut self.outputs);
    }

    fn copied(&mut self, output: Output) -> Output {
        let mut copy = self.outputs.take();
        outbox::copy(&output, &mut copy);
        self.shared().counters.bytes_copied.add(output.bytes.len() as u64);
        self.outputs.give(output);
        copy
    }

    /// Gives waiting calls to the blocking threads, as long as the peer takes the answers.
    fn give_calls(&mut self, connection: &mut Connection, key: SlabKey) {
        let service = Arc::clone(&self.engine.service);
        let continues = |previous: &[u8], next: &[u8]| service.continues_run(previous, next);
        while connection.may_give(&self.engine.hub.limits)
            && let Some(WaitingCalls { messages, lane, received }) = connection.calls.give(self.max_given, continues)
        {
            let job = CallJob {
                loop_index: self.loop_index,
                origin: ReplyRoute::Connection(key),
                lane,
                peer: connection.peer,
                client: Some(Arc::clone(connection.account.client())),
                messages,
                received,
                output: self.outputs.take(),
            };
            blocking::submit(&self.engine, BlockingJob::Call(job));
        }
    }

    /// Has a blocking thread read what has to be sent next, if that was evicted from memory.
    fn fetch_evicted(&mut self, connection: &mut Connection, key: SlabKey) {
        let Some((file, offset_bytes, length)) = connection.outbox.begin_fetch(MAX_FETCH_BYTES) else { return };
        let (loop_index, peer) = (self.loop_index, connection.peer.address);
        blocking::submit(
            &self.engine,
            BlockingJob::Fetch(FetchJob { loop_index, key, peer, file, offset_bytes, length }),
        );
    }

    /// Sends what the socket takes.
    fn flush(&mut self, connection: &mut Connection) -> Result<(), CloseReason> {
        let mut total = 0;
        while total < self.quantum.send_bytes && !connection.outbox.is_empty() {
            match self.send_next(connection)? {
                Sent::Bytes(count) => total += count,
                Sent::Blocked(count) => {
                    total += count;
                    connection.outbox.slim(&mut self.outputs);
                    break;
                }
            }
        }
        connection.note_sent(total, self.now);
        if total > 0 {
            connection.last_active = self.now;
            self.shared().counters.bytes_out.add(total as u64);
        }
        Ok(())
    }

    fn send_next(&mut self, connection: &mut Connection) -> Result<Sent, CloseReason> {
        match connection.outbox.next() {
            None => Ok(Sent::Bytes(0)),
            Some(Next::Bytes) if self.engine.hub.policy.send_path.is_plain() => self.send_bytes(connection),
            Some(Next::Bytes) => self.send_fragments(connection),
            Some(Next::Fetched { bytes, more }) => {
                self.shared().counters.count_send(1);
                let sent = send(connection, bytes, more)?;
                Ok(self.note_file_sent(connection, sent))
            }
            Some(Next::File { way: FileWay::Sendfile, .. }) => self.send_file(connection),
            Some(Next::File { way: FileWay::Read, .. }) => self.send_read_file(connection),
            Some(Next::File { way: FileWay::Fetch | FileWay::Fetching, .. }) => Ok(Sent::Blocked(0)),
            Some(Next::File { way: FileWay::Zeros, length, more, .. }) => {
                let zeros = &ZEROS[..length.min(FILE_READ_BYTES)];
                self.shared().counters.count_send(1);
                let sent = send(connection, zeros, more)?;
                self.shared().counters.zero_bytes.add(sent.bytes() as u64);
                Ok(self.note_file_sent(connection, sent))
            }
        }
    }

    fn send_bytes(&mut self, connection: &mut Connection) -> Result<Sent, CloseReason> {
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        let (filled, more) = connection.outbox.gather(&mut slices);
        let slices = &slices[..filled];
        self.shared().counters.count_send(filled);
        let sent =
            if let [only] = slices { send(connection, only, more)? } else { send_all(connection, slices, more)? };
        connection.outbox.sent_bytes(sent.bytes(), &mut self.outputs);
        Ok(sent)
    }

    fn send_file(&mut self, connection: &mut Connection) -> Result<Sent, CloseReason> {
        let (Some(socket), Some(Next::File { file, offset_bytes, length, .. })) =
            (&connection.socket, connection.outbox.next())
        else {
            return Ok(Sent::Bytes(0));
        };
        if !file.is_resident(offset_bytes, length) {
            connection.outbox.set_file_way(FileWay::Fetch);
            return Ok(Sent::Blocked(0));
        }
        self.shared().counters.sendfiles.add(1);
        let mut offset = offset_bytes;
        match rustix::fs::sendfile(socket, file.as_fd(), Some(&mut offset), length) {
            Ok(0) => connection.outbox.set_file_way(FileWay::Zeros),
            Ok(count) => {
                self.shared().counters.sendfile_bytes.add(count as u64);
                return Ok(self.note_file_sent(connection, Sent::Bytes(count)));
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(Sent::Blocked(0)),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => connection.outbox.set_file_way(FileWay::Read),
            Err(error @ (Errno::PIPE | Errno::CONNRESET | Errno::TIMEDOUT | Errno::HOSTUNREACH | Errno::NOTCONN)) => {
                return Err(CloseReason::Broken(error.into()));
            }
            Err(error) => return Err(CloseReason::File(error.into())),
        }
        Ok(Sent::Bytes(0))
    }

    fn send_read_file(&mut self, connection: &mut Connection) -> Result<Sent, CloseReason> {
        let Some(Next::File { file, offset_bytes, length, more, .. }) = connection.outbox.next() else {
            return Ok(Sent::Bytes(0));
        };
        self.receive.clear();
        let place = self.receive.space(length.min(FILE_READ_BYTES));
        match rustix::io::pread(file.as_fd(), &mut *place, offset_bytes) {
            Ok(0) => connection.outbox.set_file_way(FileWay::Zeros),
            Ok(count) => {
                self.engine.hub.loops[self.loop_index].counters.count_send(1);
                let sent = send(connection, &place[..count], more || count < length)?;
                return Ok(self.note_file_sent(connection, sent));
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(CloseReason::File(error.into())),
        }
        Ok(Sent::Bytes(0))
    }

    fn note_file_sent(&mut self, connection: &mut Connection, sent: Sent) -> Sent {
        connection.outbox.sent_file(sent.bytes(), &mut self.outputs);
        sent
    }
}

impl<S: Service + ?Sized> Engine<S> {
    fn turn(&self, connection: &Connection, batch: MessageBatch, quantum: Quantum) -> StreamTurn<'_, S> {
        let quantum = if connection.has_room { quantum } else { Quantum::SCARCE };
        let MessageBatch { worker, now, number } = batch;
        StreamTurn {
            service: &*self.service,
            limits: &self.hub.limits,
            peer: connection.peer,
            worker,
            now,
            batch: number,
            unsent_bytes: connection.outbox.unsent_bytes(),
            quantum: quantum.with_messages(self.hub.policy.send_path.messages_per_turn()),
            is_scarce: !connection.has_room,
        }
    }
}

impl Sent {
    /// How many bytes went out.
    pub(super) fn bytes(&self) -> usize {
        let (Sent::Bytes(count) | Sent::Blocked(count)) = self;
        *count
    }
}

impl TurnProgress {
    fn needed(&self) -> usize {
        if let TurnEnd::Needs(needed) = self.end { needed } else { 0 }
    }
}

fn receive(socket: impl AsFd, place: &mut [u8]) -> Result<usize, Errno> {
    net::recv(socket, place, RecvFlags::DONTWAIT).map(|(count, _)| count)
}

/// Receives into one place and, when that is full, into another one.
fn receive_both(socket: impl AsFd, place: &mut [u8], next: &mut [u8]) -> Result<usize, Errno> {
    let mut places = [IoSliceMut::new(place), IoSliceMut::new(next)];
    let received = net::recvmsg(socket, &mut places, &mut RecvAncillaryBuffer::default(), RecvFlags::DONTWAIT)?;
    Ok(received.bytes)
}

fn receive_once(connection: &Connection, place: &mut [u8]) -> Result<usize, Errno> {
    connection.socket.as_ref().map_or(Err(Errno::AGAIN), |socket| receive(socket, place))
}

pub(super) fn send(connection: &Connection, bytes: &[u8], more: bool) -> Result<Sent, CloseReason> {
    let Some(socket) = &connection.socket else { return Ok(Sent::Blocked(0)) };
    outcome(net::send(socket, bytes, flags(more)), bytes.len())
}

pub(super) fn send_all(connection: &Connection, slices: &[IoSlice<'_>], more: bool) -> Result<Sent, CloseReason> {
    let Some(socket) = &connection.socket else { return Ok(Sent::Blocked(0)) };
    let wanted = slices.iter().map(|slice| slice.len()).sum();
    outcome(net::sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), flags(more)), wanted)
}

/// A closed peer is an error here, never a signal.
fn flags(more: bool) -> SendFlags {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    if more { flags | SendFlags::MORE } else { flags }
}

fn outcome(result: Result<usize, Errno>, wanted: usize) -> Result<Sent, CloseReason> {
    match result {
        Ok(count) if count < wanted => Ok(Sent::Blocked(count)),
        Ok(count) => Ok(Sent::Bytes(count)),
        Err(Errno::AGAIN) => Ok(Sent::Blocked(0)),
        Err(Errno::INTR) => Ok(Sent::Bytes(0)),
        Err(error) => Err(CloseReason::Broken(error.into())),
    }
}
