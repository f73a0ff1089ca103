//! One end of a TCP connection that opens it and sends, without sockets and without a clock.
//!
//! The caller hands in segments and the time ([`Sender::on_segment`], [`Sender::on_timeout`]), and takes what is to be
//! sent ([`Sender::poll_transmit`]) until there is nothing more, each time after anything happened. Time is what has
//! passed since a moment of the caller's choice.
//!
//! What decides how much is sent and when: the receiver's window with avoidance of silly windows and Nagle's algorithm
//! (RFC 9293), congestion control (RFC 5681, 9438), retransmission (RFC 6298, 6675, 6582), and last of all the
//! [`Rule`] that cuts it for the network card. Inside, bytes are counted from 0, which is the SYN's number, in 64
//! bits; numbers of 32 bits exist in segments only.
//!
//! [`Rule`]: crate::Rule

mod config;
mod congestion;
mod input;
mod output;
mod receive;
mod recovery;
mod rto;
mod scoreboard;
mod segment;
mod send_buffer;
mod timers;

use std::time::Duration;

pub use config::Config;
pub use congestion::Algorithm;
use congestion::Congestion;
pub use output::Transmit;
use receive::Receive;
use recovery::Recovery;
use rto::Rto;
use scoreboard::Scoreboard;
pub use segment::{Flags, MAX_SACK_BLOCKS, Segment, SegmentOptions, TIMESTAMP_BYTES};
use send_buffer::SendBuffer;
use timers::Timers;

/// The MSS of a peer that names none, over IPv4 (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;
/// The smallest MSS that is believed; a smaller one would make packets of headers.
const MIN_MSS: u16 = 88;

/// A connection; [the module](self) says how it is driven.
#[derive(Debug, Clone)]
pub struct Sender {
    config: Config,
    state: State,
    failure: Option<Failure>,
    /// The number of the SYN.
    initial: u32,
    /// The first byte that is not acknowledged, the one that is sent next, and the one behind the highest that was
    /// sent.
    una: u64,
    nxt: u64,
    max: u64,
    buffer: SendBuffer,
    is_closing: bool,
    peer: Peer,
    receive: Receive,
    congestion: Congestion,
    rto: Rto,
    /// A byte that was sent once, and when: its acknowledgment measures a round trip.
    timed: Option<(u64, Duration)>,
    scoreboard: Scoreboard,
    recovery: Option<Recovery>,
    duplicates: u64,
    /// Behind the highest byte that was sent before the latest timeout.
    resent_below: u64,
    timers: Timers,
    last_sent_at: Duration,
    ack_now: bool,
    reset_now: Option<Segment>,
    statistics: Statistics,
}

/// States of RFC 9293 §3.3.2, without LISTEN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The SYN has no answer.
    SynSent,
    /// Both ends opened at the same time.
    SynReceived,
    /// Data flows.
    Established,
    /// This side has closed, and its FIN is not acknowledged.
    FinWait1,
    /// This side has closed, the other has not.
    FinWait2,
    /// Both sides have closed, and the FIN of this one is not acknowledged.
    Closing,
    /// Both sides have closed; late segments are answered.
    TimeWait,
    /// The other side has closed.
    CloseWait,
    /// The other side has closed first, and the FIN of this one is not acknowledged.
    LastAck,
    /// It is over.
    Closed,
}

/// Why a connection ended before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nobody listens.
    #[error("the receiver refuses the connection: start it first, and check address and port")]
    Refused,
    /// The other side reset it.
    #[error("the receiver has reset the connection: look there for the reason")]
    Reset,
    /// Nothing is acknowledged any more.
    #[error("the receiver has not answered for {} s: check that it still runs and can be reached", .0.as_secs())]
    TimedOut(Duration),
}

/// What the other side takes.
#[derive(Debug, Clone, Copy, Default)]
struct Peer {
    /// The most data of one packet, options subtracted.
    mss: usize,
    window_scale: u8,
    timestamps: bool,
    sack: bool,
    /// Its receive window now, and the largest one ever.
    window: u64,
    max_window: u64,
    /// Number and acknowledgment of the segment that said so (SND.WL1, SND.WL2).
    window_sequence: u32,
    window_ack: u64,
}

/// What a sender did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Sends with data, super-segments counted once.
    pub data_sends: u64,
    /// Bytes of data in them.
    pub data_bytes: u64,
    /// Sends of data that was sent before.
    pub resends: u64,
    /// Recoveries that began with duplicate acknowledgments.
    pub fast_recoveries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Probes of a closed window.
    pub probes: u64,
}

impl Sender {
    /// Opens a connection; `initial` is the number of its SYN, which nobody should be able to guess.
    pub fn new(config: Config, initial: u32) -> Sender {
        let own_mss = config.mss.max(MIN_MSS);
        Sender {
            state: State::SynSent,
            failure: None,
            initial,
            una: 0,
            nxt: 0,
            max: 0,
            buffer: SendBuffer::new(config.send_buffer_bytes.max(1), 1),
            is_closing: false,
            peer: Peer { mss: own_mss.into(), ..Peer::default() },
            receive: Receive::new(config.receive_buffer_bytes),
            congestion: Congestion::new(config.algorithm, own_mss.into(), config.initial_window_segments),
            rto: Rto::new(config.min_rto),
            timed: None,
            scoreboard: Scoreboard::default(),
            recovery: None,
            duplicates: 0,
            resent_below: 0,
            timers: Timers::default(),
            last_sent_at: Duration::ZERO,
            ack_now: false,
            reset_now: None,
            statistics: Statistics::default(),
            config,
        }
    }

    /// Takes data to send, and says how much of it there was room for; nothing after [`Sender::close`].
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        if self.is_closing || self.state == State::Closed { 0 } else { self.buffer.push(bytes) }
    }

    /// Takes what was received, as much as `bytes` has room for.
    pub fn read(&mut self, bytes: &mut [u8]) -> usize {
        let count = self.receive.read(bytes);
        // A window that was closed is open again, which the other side has to be told.
        self.ack_now |= self.receive.has_opened();
        count
    }

    /// Ends the stream behind what was written.
    pub fn close(&mut self) {
        self.is_closing = true;
    }

    /// Ends the connection at once, and tells the other side.
    pub fn abort(&mut self) {
        if self.is_synchronized() {
            let flags = Flags { rst: true, ack: true, ..Flags::default() };
            self.reset_now = Some(Segment { sequence: self.wire(self.nxt), flags, ..Segment::default() });
        }
        self.end(None);
    }

    /// Where the connection is.
    pub fn state(&self) -> State {
        self.state
    }

    /// Why it ended, if not in order.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// How many bytes [`Sender::write`] takes now.
    pub fn room(&self) -> usize {
        self.buffer.room()
    }

    /// The most data of one packet in bytes, without options.
    pub fn mss(&self) -> usize {
        self.peer.mss
    }

    /// Bytes that were sent and are not acknowledged.
    pub fn flight_bytes(&self) -> u64 {
        self.nxt - self.una
    }

    /// The congestion window in bytes.
    pub fn congestion_window_bytes(&self) -> u64 {
        self.congestion.window()
    }

    /// The threshold of slow start in bytes.
    pub fn threshold_bytes(&self) -> u64 {
        self.congestion.threshold()
    }

    /// The retransmission timeout now.
    pub fn retransmission_timeout(&self) -> Duration {
        self.rto.get()
    }

    /// What it did so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    fn is_synchronized(&self) -> bool {
        !matches!(self.state, State::SynSent | State::SynReceived | State::Closed)
    }

    fn end(&mut self, failure: Option<Failure>) {
        self.state = State::Closed;
        self.failure = failure;
        self.timers = Timers::default();
        self.ack_now = false;
    }

    /// The 32-bit number of a byte.
    fn wire(&self, offset: u64) -> u32 {
        self.initial.wrapping_add(offset as u32)
    }

    /// The byte that a 32-bit number near the first unacknowledged one means; `None` before the SYN.
    fn offset(&self, number: u32) -> Option<u64> {
        let distance = number.wrapping_sub(self.wire(self.una)) as i32;
        self.una.checked_add_signed(distance.into())
    }

    /// The number of the FIN, once it is decided.
    fn fin_offset(&self) -> Option<u64> {
        self.is_closing.then(|| self.buffer.end())
    }
}
