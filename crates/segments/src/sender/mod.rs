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

/// The default MSS over IPv4 (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;
/// The minimum MSS; a smaller one would make packets mostly of headers.
const MIN_MSS: u16 = 88;

/// A connection; [the module](self) describes its use.
#[derive(Debug, Clone)]
pub struct Sender {
    config: Config,
    state: TcpState,
    failure: Option<Failure>,
    /// The number of the SYN.
    initial: u32,
    /// The first unacknowledged byte, the next byte to send, and the end of the data sent so far.
    una: u64,
    nxt: u64,
    max: u64,
    buffer: SendBuffer,
    is_closing: bool,
    peer: Peer,
    receive: Receive,
    congestion: Congestion,
    rto: Rto,
    /// A byte that was sent once, and its time, to measure a round trip.
    timed: Option<(u64, Duration)>,
    scoreboard: Scoreboard,
    recovery: Option<Recovery>,
    duplicates: u64,
    /// The end of the data sent before the latest timeout.
    resent_below: u64,
    timers: Timers,
    last_sent_at: Duration,
    ack_now: bool,
    reset_now: Option<Segment>,
    statistics: Statistics,
}

/// States of RFC 9293 §3.3.2, without LISTEN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpState {
    /// The SYN is unanswered.
    SynSent,
    /// Both ends opened at the same time.
    SynReceived,
    /// Data flows.
    Established,
    /// This side has closed; its FIN is unacknowledged.
    FinWait1,
    /// This side has closed, the other has not.
    FinWait2,
    /// Both sides have closed; the FIN of this one is unacknowledged.
    Closing,
    /// Both sides have closed; late segments are answered.
    TimeWait,
    /// The other side has closed.
    CloseWait,
    /// The other side closed first; the FIN of this one is unacknowledged.
    LastAck,
    /// It is over.
    Closed,
}

/// Why a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nobody listens.
    #[error("the receiver refuses the connection: start it first, and check address and port")]
    Refused,
    /// The other side reset it.
    #[error("the receiver has reset the connection: look there for the reason")]
    Reset,
    /// Acknowledgments stopped.
    #[error("the receiver has not answered for {} s: check that it still runs and can be reached", .0.as_secs())]
    TimedOut(Duration),
}

/// The capabilities of the other side.
#[derive(Debug, Clone, Copy, Default)]
struct Peer {
    /// The maximum data of a packet, without options.
    mss: usize,
    window_scale: u8,
    timestamps: bool,
    sack: bool,
    /// Its current receive window, and the largest one so far.
    window: u64,
    max_window: u64,
    /// Sequence number and acknowledgment of the latest window update (SND.WL1, SND.WL2).
    window_sequence: u32,
    window_ack: u64,
}

/// What a sender did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Sends with data; a super-segment counts once.
    pub data_sends: u64,
    /// Bytes of data in them.
    pub data_bytes: u64,
    /// Sends with retransmitted data.
    pub resends: u64,
    /// Recoveries started by duplicate acknowledgments.
    pub fast_recoveries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Probes of a closed window.
    pub probes: u64,
}

impl Sender {
    /// Opens a connection; `initial` is the sequence number of its SYN, which should be unpredictable.
    pub fn new(config: Config, initial: u32) -> Sender {
        let own_mss = config.mss.max(MIN_MSS);
        Sender {
            state: TcpState::SynSent,
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

    /// Takes data to send, and returns how much fits; nothing after [`Sender::close`].
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        if self.is_closing || self.state == TcpState::Closed { 0 } else { self.buffer.push(bytes) }
    }

    /// Reads received data into `bytes`, and returns its length.
    pub fn read(&mut self, bytes: &mut [u8]) -> usize {
        let count = self.receive.read(bytes);
        // A closed window has opened again, which the other side must learn.
        self.ack_now |= self.receive.has_opened();
        count
    }

    /// Closes the stream behind the written data.
    pub fn close(&mut self) {
        self.is_closing = true;
    }

    /// Aborts the connection with a reset.
    pub fn abort(&mut self) {
        if self.is_synchronized() {
            let flags = Flags { rst: true, ack: true, ..Flags::default() };
            self.reset_now = Some(Segment { sequence: self.wire(self.nxt), flags, ..Segment::default() });
        }
        self.end(None);
    }

    /// Where the connection is.
    pub fn state(&self) -> TcpState {
        self.state
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// How many bytes [`Sender::write`] would take.
    pub fn room(&self) -> usize {
        self.buffer.room()
    }

    /// The maximum data of a packet in bytes, without options.
    pub fn mss(&self) -> usize {
        self.peer.mss
    }

    /// Unacknowledged bytes.
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

    /// Its statistics so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    fn is_synchronized(&self) -> bool {
        !matches!(self.state, TcpState::SynSent | TcpState::SynReceived | TcpState::Closed)
    }

    fn end(&mut self, failure: Option<Failure>) {
        self.state = TcpState::Closed;
        self.failure = failure;
        self.timers = Timers::default();
        self.ack_now = false;
    }

    /// The 32-bit sequence number of a byte.
    fn wire(&self, offset: u64) -> u32 {
        self.initial.wrapping_add(offset as u32)
    }

    /// The byte for a 32-bit sequence number near the first unacknowledged one; `None` before the SYN.
    fn offset(&self, number: u32) -> Option<u64> {
        let distance = number.wrapping_sub(self.wire(self.una)) as i32;
        self.una.checked_add_signed(distance.into())
    }

    /// The offset of the FIN, once it is known.
    fn fin_offset(&self) -> Option<u64> {
        self.is_closing.then(|| self.buffer.end())
    }
}
