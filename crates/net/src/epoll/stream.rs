//! One turn of one connection: one receive, all its messages answered, and one send, or several if nobody else waits.

use std::io::{self, IoSlice};
use std::num::NonZero;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer::{Buffer, Output};
use rustix::io::Errno;

use crate::answer::{Deferring, StreamTurn, TurnEnd, TurnProgress};
use crate::blocking;
use crate::calls::WaitingCalls;
use crate::channel::{Channel, FileSent, Sent};
use crate::close_reason::CloseReason;
use crate::connection::{Connection, Ready, Unread};
use crate::hub::{Engine, LoopShared};
use crate::jobs::{BlockingJob, CallJob, FetchJob, MAX_FETCH_BYTES, ReplyRoute};
use crate::order::Quantum;
use crate::outbox::{self, FileWay, MAX_SLICES, Next, Outbox};
use crate::outputs::Outputs;
use crate::slab::SlabKey;
use crate::spare::SpareBuffers;
use crate::{FrameError, Service, ServiceError};

/// How many bytes one receive brings at most.
const RECEIVE_BYTES: usize = 256 << 10;

/// How many bytes one receive brings of a message that is likely to be large: enough for the head of every message.
const HEAD_BYTES: usize = 1 << 10;

/// How many bytes of a file without `sendfile` are read for one send, and how many zeros take the place of missing
/// ones.
const FILE_READ_BYTES: usize = 64 << 10;

static ZEROS: [u8; FILE_READ_BYTES] = [0; FILE_READ_BYTES];

/// The tools that a loop uses on one connection after the other.
pub(super) struct LoopContext<S: ?Sized> {
    pub(super) engine: Arc<Engine<S>>,
    pub(super) loop_index: usize,
    /// Whether the server ends, so that no socket is to be read.
    pub(super) draining: bool,
    /// The time of the last wait or receive, whichever was later: the clock is read no more often than needed.
    pub(super) now: Instant,
    pub(super) outputs: Outputs,
    pub(super) spare: SpareBuffers,
    /// How much the present turn may do.
    pub(super) quantum: Quantum,
    /// Where receives go; only what is left of a message stays with its connection.
    pub(super) receive: Buffer,
    /// Where bytes are copied to be sent.
    pub(super) copied: Buffer,
    max_given: usize,
    /// How often received messages were answered so far, each time with a number of its own.
    batches: u64,
}

/// Messages that are answered one after the other: by whom, and since when they are there.
#[derive(Clone, Copy)]
struct MessageBatch {
    worker: usize,
    now: Instant,
    number: Option<NonZero<u64>>,
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
            outputs: Outputs::new(),
            spare: SpareBuffers::default(),
            quantum: Quantum::WHOLE,
            receive: Buffer::with_capacity(RECEIVE_BYTES),
            copied: Buffer::new(),
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
        self.upgrade(connection)?;
        self.fetch_evicted(connection, key);
        self.give_calls(connection, key);
        Ok(())
    }

    fn take_in(&mut self, connection: &mut Connection, ready: Ready) -> Result<(), CloseReason> {
        let limits = &self.engine.hub.limits;
        let may_receive = !self.draining && connection.may_receive(limits);
        if connection.unread.whole_left && connection.may_answer(limits) {
            self.answer_left(connection)
        } else if may_receive && (ready.readable || ready.hangup || connection.holds_input()) {
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
        let count = receive(connection, self.receive.space(room.min(most).max(1)));
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
        let Connection { unread, channel, .. } = connection;
        let Some(channel) = channel else { return Ok(0) };
        self.receive.clear();
        let place = unread.space(&mut self.spare);
        let room = place.len();
        let result = channel.receive_both(place, self.receive.space(HEAD_BYTES));
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
        if connection.is_upgrading {
            return Err(CloseReason::BadFrame(FrameError::BeforeUpgrade));
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
    #[inline]
    fn note_received(&mut self, connection: &mut Connection, count: io::Result<usize>) -> Result<bool, CloseReason> {
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
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(CloseReason::Broken(error)),
        }
    }

    /// A number for the messages that are answered next.
    fn next_batch(&mut self) -> MessageBatch {
        self.batches += 1;
        MessageBatch { worker: self.loop_index, now: self.now, number: NonZero::new(self.batches) }
    }

    /// Answers what is in the loop's receive buffer, and sends first answers while later ones are made. What is left
    /// stays with the connection.
    fn answer_received(&mut self, connection: &mut Connection) -> Result<(), CloseReason> {
        let (mut batch, mut quantum, mut begin) = (self.next_batch(), self.quantum, 0);
        loop {
            let mut output = self.outputs.take();
            let turn = self.engine.turn(connection, batch, quantum);
            let Connection { calls, unread, .. } = &mut *connection;
            let mut deferring = Deferring { calls, spare: &mut self.spare };
            let progress = turn.answer(&mut self.receive.as_mut_slice()[begin..], &mut output, &mut deferring);
            if progress.messages > 0 {
                unread.prove(progress.consumed / progress.messages as usize);
            }
            begin += progress.consumed;
            if !matches!(progress.end, TurnEnd::Pause) {
                self.keep_rest(connection, begin, &progress);
                return self.finish_turn(connection, output, progress);
            }
            quantum = quantum.without(progress.messages, output.len());
            self.finish_turn(connection, output, progress)?;
            // While an earlier send waits for room, another one would only be told so again.
            if !connection.interest.writable {
                self.flush(connection)?;
            }
            self.now = Instant::now();
            batch.now = self.now;
        }
    }

    /// Keeps what is left of the receive buffer from `begin` on.
    fn keep_rest(&mut self, connection: &mut Connection, begin: usize, progress: &TurnProgress) {
        let rest = &self.receive.as_slice()[begin..];
        if rest.is_empty() || matches!(progress.end, TurnEnd::Close(_)) {
            return;
        }
        let needed = progress.needed();
        let bulk_at = if Unread::is_large_size(needed) { self.engine.service.bulk_at(rest) } else { 0 };
        connection.unread.keep(rest, needed, bulk_at, &mut self.spare);
        connection.unread.admit(connection.has_room);
    }

    /// Answers what is in the connection's own buffer.
    fn answer_left(&mut self, connection: &mut Connection) -> Result<(), CloseReason> {
        let mut output = self.outputs.take();
        let batch = self.next_batch();
        let turn = self.engine.turn(connection, batch, Quantum { max_held: Duration::MAX, ..self.quantum });
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
            TurnEnd::Limit | TurnEnd::Pause => Ok(()),
            TurnEnd::Upgrade if connection.unread.is_empty() => {
                connection.is_upgrading = true;
                Ok(())
            }
            TurnEnd::Upgrade => Err(CloseReason::BadFrame(FrameError::BeforeUpgrade)),
        }
    }

    /// Puts a layer into the channel when everything before it is answered and sent.
    fn upgrade(&mut self, connection: &mut Connection) -> Result<(), CloseReason> {
        if !connection.is_upgrading || !connection.is_sent() || !connection.calls.is_empty() {
            return Ok(());
        }
        let Some(layer) = self.engine.service.layer(&connection.peer) else {
            return Err(CloseReason::Service(ServiceError::NoLayer));
        };
        connection.is_upgrading = false;
        match &mut connection.channel {
            Some(channel) if channel.has_layer() => Err(CloseReason::Service(ServiceError::SecondLayer)),
            Some(channel) => {
                channel.upgrade(layer);
                Ok(())
            }
            None => Ok(()),
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
        Err(CloseReason::BadFrame(FrameError::TooLargeForStranger { bytes: needed, max: limit }))
    }

    /// Puts an output behind what the connection has to send.
    pub(super) fn queue(&mut self, connection: &mut Connection, output: Output) {
        let path = self.engine.hub.policy.send_path;
        let output = if path.copies { self.copied(output) } else { output };
        match path.is_too_much(&output) {
            true => self.queue_flattened(connection, output),
            false => connection.outbox.push(output, &mut self.outputs),
        }
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
        if let Some(channel) = &mut connection.channel {
            channel.flush().map_err(CloseReason::Broken)?;
        }
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
        let Connection { channel: Some(channel), outbox, .. } = connection else { return Ok(Sent::Blocked(0)) };
        match outbox.next() {
            None => Ok(Sent::Bytes(0)),
            Some(Next::Bytes) if self.engine.hub.policy.send_path.is_plain() => self.send_bytes(channel, outbox),
            Some(Next::Bytes) => self.send_fragments(channel, outbox),
            Some(Next::Fetched { bytes, more }) => {
                self.shared().counters.count_send(1);
                let sent = channel.send(bytes, more).map_err(CloseReason::Broken)?;
                Ok(self.note_file_sent(outbox, sent))
            }
            Some(Next::File { way: FileWay::Sendfile, .. }) => self.send_file(channel, outbox),
            Some(Next::File { way: FileWay::Read, .. }) => self.send_read_file(channel, outbox),
            Some(Next::File { way: FileWay::Fetch | FileWay::Fetching, .. }) => Ok(Sent::Blocked(0)),
            Some(Next::File { way: FileWay::Zeros, length, more, .. }) => {
                let zeros = &ZEROS[..length.min(FILE_READ_BYTES)];
                self.shared().counters.count_send(1);
                let sent = channel.send(zeros, more).map_err(CloseReason::Broken)?;
                self.shared().counters.zero_bytes.add(sent.bytes() as u64);
                Ok(self.note_file_sent(outbox, sent))
            }
        }
    }

    fn send_bytes(&mut self, channel: &mut Channel, outbox: &mut Outbox) -> Result<Sent, CloseReason> {
        if let Some(only) = outbox.only_bytes() {
            self.shared().counters.count_send(1);
            let sent = channel.send(only, false).map_err(CloseReason::Broken)?;
            outbox.sent_bytes(sent.bytes(), &mut self.outputs);
            return Ok(sent);
        }
        self.send_gathered(channel, outbox)
    }

    /// Sends what several outputs have up to the next part of a file.
    fn send_gathered(&mut self, channel: &mut Channel, outbox: &mut Outbox) -> Result<Sent, CloseReason> {
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        let (filled, more) = outbox.gather(&mut slices);
        let slices = &slices[..filled];
        self.shared().counters.count_send(filled);
        let sent = if let [only] = slices { channel.send(only, more) } else { channel.send_vectored(slices, more) };
        let sent = sent.map_err(CloseReason::Broken)?;
        outbox.sent_bytes(sent.bytes(), &mut self.outputs);
        Ok(sent)
    }

    fn send_file(&mut self, channel: &mut Channel, outbox: &mut Outbox) -> Result<Sent, CloseReason> {
        let Some(Next::File { file, offset_bytes, length, .. }) = outbox.next() else { return Ok(Sent::Bytes(0)) };
        if channel.has_layer() {
            outbox.set_file_way(FileWay::Read);
            return Ok(Sent::Bytes(0));
        }
        if !file.is_resident(offset_bytes, length) {
            outbox.set_file_way(FileWay::Fetch);
            return Ok(Sent::Blocked(0));
        }
        self.shared().counters.sendfiles.add(1);
        match channel.send_file(file, offset_bytes, length).map_err(CloseReason::Broken)? {
            FileSent::Sent(sent) => {
                self.shared().counters.sendfile_bytes.add(sent.bytes() as u64);
                return Ok(self.note_file_sent(outbox, sent));
            }
            FileSent::Ended => outbox.set_file_way(FileWay::Zeros),
            FileSent::Unsupported => outbox.set_file_way(FileWay::Read),
            FileSent::Failed(error) => return Err(CloseReason::File(error)),
        }
        Ok(Sent::Bytes(0))
    }

    fn send_read_file(&mut self, channel: &mut Channel, outbox: &mut Outbox) -> Result<Sent, CloseReason> {
        let Some(Next::File { file, offset_bytes, length, more, .. }) = outbox.next() else {
            return Ok(Sent::Bytes(0));
        };
        let wanted = length.min(FILE_READ_BYTES);
        if !file.is_resident(offset_bytes, wanted) {
            outbox.set_file_way(FileWay::Fetch);
            return Ok(Sent::Blocked(0));
        }
        self.copied.clear();
        let place = self.copied.space(wanted);
        match rustix::io::pread(file.as_fd(), &mut *place, offset_bytes) {
            Ok(0) => outbox.set_file_way(FileWay::Zeros),
            Ok(count) => {
                self.engine.hub.loops[self.loop_index].counters.count_send(1);
                let sent = channel.send(&place[..count], more || count < length).map_err(CloseReason::Broken)?;
                return Ok(self.note_file_sent(outbox, sent));
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(CloseReason::File(error.into())),
        }
        Ok(Sent::Bytes(0))
    }

    fn note_file_sent(&mut self, outbox: &mut Outbox, sent: Sent) -> Sent {
        outbox.sent_file(sent.bytes(), &mut self.outputs);
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

impl TurnProgress {
    fn needed(&self) -> usize {
        if let TurnEnd::Needs(needed) = self.end { needed } else { 0 }
    }
}

fn receive(connection: &mut Connection, place: &mut [u8]) -> io::Result<usize> {
    connection.channel.as_mut().map_or(Err(io::ErrorKind::WouldBlock.into()), |channel| channel.receive(place))
}
