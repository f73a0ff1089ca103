//! Datagrams: received, answered and sent in batches.

use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use buffer::{Buffer, Output};
use peer::{Peer, Transport};
use rustix::io::Errno;

use super::Loop;
use super::poller::Token;
use crate::answer::{ServiceAnswer, ask};
use crate::bind::DatagramSocket;
use crate::blocking;
use crate::connection::{Interest, Ready};
use crate::hub::{Engine, LoopShared};
use crate::jobs::{BlockingJob, CallJob, ReplyRoute};
use crate::mailbox::OwnDatagram;
use crate::spare::SpareBuffers;
use crate::sys::{DatagramCalls, LocalAddress, OutgoingDatagram};
use crate::{Call, Lane, Service, Verdict};

/// The largest payload of a UDP datagram over IPv4: 65 535 bytes less the headers of IP and UDP.
const MAX_REPLY_BYTES: usize = 65_507;

/// A loop's view of the UDP sockets.
pub(super) struct Datagrams {
    sockets: Arc<[DatagramSocket]>,
    views: Vec<View>,
    /// Absent when there is no UDP socket.
    calls: Option<DatagramCalls>,
    /// How many datagrams are with blocking threads.
    in_flight: usize,
    draining: bool,
}

/// What a loop knows of one UDP socket.
struct View {
    batch: ReplyBatch,
    interest: Interest,
}

/// Answers that go out together.
#[derive(Default)]
struct ReplyBatch {
    output: Output,
    /// Answers with parts of files in them, put together.
    assembled: Buffer,
    replies: Vec<DatagramReply>,
    sent: usize,
}

struct DatagramReply {
    to: SocketAddr,
    from: Option<LocalAddress>,
    place: ReplySpan,
}

/// Where the bytes of an answer are.
enum ReplySpan {
    Output(Range<usize>),
    Assembled(Range<usize>),
}

/// The answer of a blocking thread.
pub(super) struct Late<'a> {
    pub(super) socket: usize,
    pub(super) source: Option<LocalAddress>,
    pub(super) to: SocketAddr,
    pub(super) output: &'a Output,
}

/// Where an answer in an output begins.
struct ReplyStart {
    bytes: usize,
    files: usize,
}

impl Datagrams {
    /// Takes UDP sockets that the loop's poller watches already for reading.
    pub(super) fn new(sockets: Arc<[DatagramSocket]>) -> Datagrams {
        let view = |_| View { batch: ReplyBatch::default(), interest: Interest { readable: true, writable: false } };
        Datagrams {
            views: (0..sockets.len()).map(view).collect(),
            calls: (!sockets.is_empty()).then(DatagramCalls::new),
            sockets,
            in_flight: 0,
            draining: false,
        }
    }

    /// Whether no answer is missing and none has to be sent.
    pub(super) fn are_finished(&self) -> bool {
        self.in_flight == 0 && self.views.iter().all(|view| view.batch.replies.is_empty())
    }

    /// Receives one batch and answers it.
    fn receive<S: Service + ?Sized>(&mut self, index: usize, turn: &mut DatagramTurn<'_, S>) -> Result<(), Errno> {
        let Some(calls) = &mut self.calls else { return Ok(()) };
        let socket = &self.sockets[index];
        let count =
            calls.receive(socket.socket.as_fd()).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let counters = &turn.shared.counters;
        counters.datagrams.add(count as u64);
        let batch = &mut self.views[index].batch;
        for datagram in (0..count).map(|number| calls.datagram(number)) {
            counters.bytes_in.add(datagram.bytes.len() as u64);
            let Some(address) = datagram.from else { continue };
            let local = datagram.to.map_or(socket.local, |to| SocketAddr::new(to.address, socket.local.port()));
            let peer = Peer { address, local, transport: Transport::Udp, connection: 0 };
            let arrived = Arrived { bytes: datagram.bytes, peer, socket: index, source: datagram.to };
            self.in_flight += usize::from(turn.answer(&arrived, batch));
        }
        counters.messages.add(count as u64);
        Ok(())
    }

    /// Takes an answer back from a blocking thread.
    pub(super) fn take_back(&mut self, late: &Late<'_>, asked: &ServiceAnswer, shared: &LoopShared) {
        self.in_flight -= 1;
        let batch = &mut self.views[late.socket].batch;
        match asked {
            ServiceAnswer::Verdict(Verdict::Answered) => {
                let start = ReplyStart { bytes: 0, files: 0 };
                match assemble(late.output, &start, &mut batch.assembled) {
                    Some(range) => batch.add(late.to, late.source, ReplySpan::Assembled(range)),
                    None => shared.counters.datagrams_dropped.add(1),
                }
            }
            ServiceAnswer::Verdict(Verdict::Silent) => {}
            ServiceAnswer::Verdict(Verdict::Upgrade | Verdict::WouldBlock(_) | Verdict::Close(_))
            | ServiceAnswer::Panicked => {
                shared.counters.datagrams_dropped.add(1);
            }
        }
    }

    /// Adds a datagram that answers nothing.
    pub(super) fn add_own(&mut self, datagram: &OwnDatagram) {
        let batch = &mut self.views[datagram.socket].batch;
        let start = batch.assembled.len();
        batch.assembled.put(&datagram.bytes);
        batch.add(datagram.to, datagram.from, ReplySpan::Assembled(start..batch.assembled.len()));
    }

    /// Sends a batch as far as the socket takes it.
    fn send(&mut self, index: usize, shared: &LoopShared) {
        let Some(calls) = &mut self.calls else { return };
        let batch = &mut self.views[index].batch;
        while batch.sent < batch.replies.len() {
            let outgoing = batch.replies[batch.sent..].iter().map(|reply| batch.outgoing(reply));
            match calls.send(self.sockets[index].socket.as_fd(), outgoing) {
                Ok(count) => {
                    shared.counters.bytes_out.add(batch.bytes_of_next(count));
                    batch.sent += count.max(1);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // Only the first of them is meant; the others may have better luck.
                    tracing::debug!(to = %batch.replies[batch.sent].to, %error, "a datagram cannot be sent");
                    shared.counters.datagrams_dropped.add(1);
                    batch.sent += 1;
                }
            }
        }
        batch.clear();
    }

    /// What a socket has to be watched for.
    fn wanted(&self, index: usize, max_in_flight: usize) -> Interest {
        let writable = !self.views[index].batch.replies.is_empty();
        Interest { readable: !self.draining && !writable && self.in_flight < max_in_flight, writable }
    }
}

impl<S: Service + ?Sized> Loop<S> {
    /// Receives, answers and sends one batch of one socket.
    pub(super) fn datagram_turn(&mut self, index: usize, ready: Ready) {
        let engine = &self.context.engine;
        let shared = &engine.hub.loops[self.context.loop_index];
        let unsent = !self.datagrams.views[index].batch.replies.is_empty();
        if ready.readable && !unsent && !self.datagrams.draining {
            let mut turn = DatagramTurn {
                engine,
                shared,
                loop_index: self.context.loop_index,
                spare: &mut self.context.spare,
                now: Instant::now(),
            };
            match self.datagrams.receive(index, &mut turn) {
                // Another loop was faster.
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => tracing::debug!(%error, "cannot receive datagrams"),
            }
        }
        self.datagrams.send(index, &self.context.engine.hub.loops[self.context.loop_index]);
        self.watch_datagrams(index);
    }

    /// Sends the answers of blocking threads.
    pub(super) fn send_datagrams(&mut self) {
        for index in 0..self.datagrams.views.len() {
            if !self.datagrams.views[index].interest.writable {
                self.datagrams.send(index, &self.context.engine.hub.loops[self.context.loop_index]);
            }
            self.watch_datagrams(index);
        }
    }

    /// Receives no more datagrams.
    pub(super) fn stop_reading_datagrams(&mut self) {
        self.datagrams.draining = true;
        for index in 0..self.datagrams.views.len() {
            self.watch_datagrams(index);
        }
    }

    fn watch_datagrams(&mut self, index: usize) {
        let wanted = self.datagrams.wanted(index, self.context.engine.hub.limits.max_datagrams_in_flight);
        let view = &mut self.datagrams.views[index];
        if view.interest == wanted {
            return;
        }
        let socket = &self.datagrams.sockets[index].socket;
        let nothing = Interest { readable: false, writable: false };
        let mut result = Ok(());
        if view.interest != nothing {
            result = self.poller.remove(socket);
        }
        if result.is_ok() && wanted != nothing {
            result = self.poller.add_shared(socket, Token::Datagrams(index), wanted);
        }
        match result {
            Ok(()) => view.interest = wanted,
            Err(error) => tracing::error!(%error, "cannot change the watch of a UDP socket"),
        }
    }
}

/// Who asks the service about datagrams.
struct DatagramTurn<'a, S: ?Sized> {
    engine: &'a Arc<Engine<S>>,
    shared: &'a LoopShared,
    loop_index: usize,
    spare: &'a mut SpareBuffers,
    now: Instant,
}

/// A datagram to answer.
struct Arrived<'a> {
    bytes: &'a [u8],
    peer: Peer,
    socket: usize,
    source: Option<LocalAddress>,
}

impl<S: Service + ?Sized> DatagramTurn<'_, S> {
    /// Answers one datagram into `batch`; says whether it was given to the blocking threads instead.
    fn answer(&mut self, arrived: &Arrived<'_>, batch: &mut ReplyBatch) -> bool {
        let Arrived { bytes: message, peer, .. } = *arrived;
        let mark = batch.output.mark();
        let start = ReplyStart { bytes: batch.output.bytes.len(), files: batch.output.files().len() };
        let call = Call {
            message,
            peer,
            worker: self.loop_index,
            may_block: false,
            now: self.now,
            batch: None,
            is_scarce: false,
        };
        match ask(&*self.engine.service, &call, &[], &mut batch.output) {
            ServiceAnswer::Verdict(Verdict::Answered) => {
                if !batch.add_answer(arrived, &start) {
                    batch.output.rewind(&mark);
                    self.shared.counters.datagrams_dropped.add(1);
                }
            }
            ServiceAnswer::Verdict(Verdict::Silent) => {}
            ServiceAnswer::Verdict(Verdict::WouldBlock(lane)) => {
                self.defer(arrived, lane);
                return true;
            }
            ServiceAnswer::Verdict(Verdict::Close(why)) => {
                tracing::debug!(peer = %peer.address, %why, "datagram dropped");
                self.shared.counters.datagrams_dropped.add(1);
            }
            ServiceAnswer::Verdict(Verdict::Upgrade) | ServiceAnswer::Panicked => {
                batch.output.rewind(&mark);
                self.shared.counters.datagrams_dropped.add(1);
            }
        }
        false
    }

    fn defer(&mut self, arrived: &Arrived<'_>, lane: Lane) {
        let mut message = self.spare.take(arrived.bytes.len());
        message.put(arrived.bytes);
        let origin = ReplyRoute::Datagram { socket: arrived.socket, source: arrived.source };
        let (peer, received, output) = (arrived.peer, self.now, Output::new());
        let (loop_index, messages) = (self.loop_index, vec![message]);
        let job = CallJob { loop_index, origin, lane, peer, client: None, messages, received, output };
        blocking::submit(self.engine, BlockingJob::Call(job));
    }
}

impl ReplyBatch {
    /// Adds the answer that the output ends with; says whether it fits a datagram and its files could be read.
    fn add_answer(&mut self, arrived: &Arrived<'_>, start: &ReplyStart) -> bool {
        let place = if self.output.files().len() == start.files {
            Some(start.bytes..self.output.bytes.len())
                .filter(|range| range.len() <= MAX_REPLY_BYTES)
                .map(ReplySpan::Output)
        } else {
            assemble(&self.output, start, &mut self.assembled).map(ReplySpan::Assembled)
        };
        let Some(place) = place else { return false };
        self.add(arrived.peer.address, arrived.source, place);
        true
    }

    fn add(&mut self, to: SocketAddr, from: Option<LocalAddress>, place: ReplySpan) {
        self.replies.push(DatagramReply { to, from, place });
    }

    fn bytes(&self, place: &ReplySpan) -> &[u8] {
        match place {
            ReplySpan::Output(range) => &self.output.bytes.as_slice()[range.clone()],
            ReplySpan::Assembled(range) => &self.assembled.as_slice()[range.clone()],
        }
    }

    fn outgoing(&self, reply: &DatagramReply) -> OutgoingDatagram<'_> {
        OutgoingDatagram { bytes: self.bytes(&reply.place), to: reply.to, from: reply.from }
    }

    fn bytes_of_next(&self, count: usize) -> u64 {
        self.replies[self.sent..][..count].iter().map(|reply| self.bytes(&reply.place).len() as u64).sum()
    }

    fn clear(&mut self) {
        self.output.clear();
        self.assembled.clear();
        self.replies.clear();
        self.sent = 0;
    }
}

/// Puts the answer that `output` ends with together with its parts of files, in `assembled`; says where it is there.
/// What is missing of a file that has become shorter is zeros. There is no answer when it is too large for a datagram
/// or a file cannot be read.
fn assemble(output: &Output, start: &ReplyStart, assembled: &mut Buffer) -> Option<Range<usize>> {
    let files = &output.files()[start.files..];
    let length = output.bytes.len() - start.bytes + files.iter().map(|piece| piece.length).sum::<usize>();
    if length > MAX_REPLY_BYTES {
        return None;
    }
    let begin = assembled.len();
    let mut bytes_done = start.bytes;
    for piece in files {
        assembled.put(&output.bytes.as_slice()[bytes_done..piece.after]);
        bytes_done = piece.after;
        let place = assembled.space(piece.length);
        if let Err(error) = read_or_zeros(piece.file.as_fd(), place, piece.offset_bytes) {
            tracing::warn!(%error, "a file cannot be read for a datagram");
            assembled.truncate(begin);
            return None;
        }
        assembled.advance(piece.length);
    }
    assembled.put(&output.bytes.as_slice()[bytes_done..]);
    Some(begin..assembled.len())
}

fn read_or_zeros(file: impl AsFd, place: &mut [u8], offset_bytes: u64) -> Result<(), Errno> {
    let mut done = 0;
    while done < place.len() {
        match rustix::io::pread(&file, &mut place[done..], offset_bytes + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    place[done..].fill(0);
    Ok(())
}
