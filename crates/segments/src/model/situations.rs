use std::time::Duration;

use super::{AckPolicy, Costs, Frees, Interrupts, Path, ReadCosts, Reader, ReceiverConfig, Situation, WindowUpdates};
use crate::sender::{Algorithm, Config};
use crate::{Faults, Rule};

/// What limits the speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The sender's processor.
    Sender,
    /// The receiver's window, which is full most of the time.
    Window,
    /// The receiving application.
    Receiver,
}

impl Limit {
    /// All of them.
    pub const ALL: [Limit; 3] = [Limit::Sender, Limit::Window, Limit::Receiver];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Sender => "sender",
            Limit::Window => "window",
            Limit::Receiver => "receiver",
        }
    }
}

/// The stream in FreeBSD's document: 100 MiB, with a send buffer of 1 MiB and a receive buffer of 2 MiB.
pub const DOCUMENT_BYTES: u64 = 100 << 20;
/// The packets of this stream in the document: data packets and single-MSS packets before the change, then after it.
pub const DOCUMENT_PACKETS: [u64; 4] = [57_005, 43_480, 35_729, 0];
const DOCUMENT_SEND_BUFFER_BYTES: usize = 1 << 20;
const DOCUMENT_RECEIVE_BUFFER_BYTES: u64 = 2 << 20;
/// The processor time of the document's receivers in ns per KiB, for each pair of [`DOCUMENT_BUFFERS`]: netperf's
/// remote service demand, of r1 before the change, and of s1 after it.
const RECEIVER_DEMAND_NS: [[u64; 2]; 8] =
    [[3091, 3085], [3064, 3071], [2981, 3148], [3671, 3356], [4210, 4196], [4221, 4231], [4213, 4262], [4205, 4194]];
/// The share of the application; the rest is for interrupts, on another processor. At 2985 Mbit/s the row of 1 and 2
/// MiB used 1.54 of 32 processors; with one of them for the application, its share is this.
const APPLICATION_SHARE: f64 = 0.65;
/// With a round trip of 0.4 ms, this window gives the document's throughput.
const WINDOW_BYTES: u64 = 128 << 10;
const WINDOW_DELAY: Duration = Duration::from_micros(195);
/// The document's round-trip time is 40 µs.
const DOCUMENT_DELAY: Duration = Duration::from_micros(20);
/// The receiver frees the buffer of one packet at a time.
const PACKET_READ_BYTES: u64 = 1448;

/// One of the document's two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// The receiver of the trace, and of netperf's rows before the change.
    R1,
    /// The sender of the trace, and the receiver of netperf's rows after the change.
    S1,
}

impl Situation {
    /// The situation of the document: two FreeBSD hosts with 10 Gbit/s between them. One of three limits reduces the
    /// throughput to about the document's.
    pub fn document(limit: Limit, rule: Rule, seed: u64) -> Situation {
        let sender = Config {
            rule,
            algorithm: Algorithm::Reno,
            send_buffer_bytes: DOCUMENT_SEND_BUFFER_BYTES,
            ..Config::default()
        };
        let receiver = ReceiverConfig {
            buffer_bytes: DOCUMENT_RECEIVE_BUFFER_BYTES,
            window_scale: 6,
            mss: 1460,
            acks: AckPolicy::Delayed(Duration::from_millis(100)),
            updates: WindowUpdates::QuarterOrTight,
            timestamps: true,
            sack: true,
        };
        let path =
            Path { bits_per_second: 1e10, delay: DOCUMENT_DELAY, arrives_whole: false, faults: Faults::default() };
        let costs =
            Costs { send: Duration::from_micros(1), kib: Duration::from_nanos(300), ack: Duration::from_nanos(300) };
        let situation = Situation {
            sender,
            receiver,
            path,
            costs,
            write_bytes_per_second: None,
            write_bytes: 128 << 10,
            reader: Reader { read_bytes: 64 << 10, frees: Frees::EachRead, costs: ReadCosts::default(), jitter: 0.5 },
            sender_interrupts: Interrupts::default(),
            receiver_interrupts: Interrupts::default(),
            total_bytes: DOCUMENT_BYTES,
            seed,
        };
        match limit {
            Limit::Sender => Situation { costs: Costs { kib: Duration::from_nanos(2800), ..costs }, ..situation },
            Limit::Window => Situation {
                receiver: ReceiverConfig { buffer_bytes: WINDOW_BYTES, ..receiver },
                path: Path { delay: WINDOW_DELAY, ..path },
                ..situation
            },
            Limit::Receiver => {
                let situation = situation.with_receiver_demand(demand(DOCUMENT_RECEIVE_BUFFER_BYTES, Host::R1));
                Situation { reader: Reader { read_bytes: PACKET_READ_BYTES, ..situation.reader }, ..situation }
            }
        }
    }

    /// The situation of the document with the receiver that a scan found nearest to its trace ([`super::scan`]).
    pub fn nearest_to_document(rule: Rule, seed: u64) -> Situation {
        let mut situation = Situation::document(Limit::Receiver, rule, seed);
        situation.receiver.acks = AckPolicy::EachPacket;
        situation.receiver.updates = WindowUpdates::Segment;
        situation.receiver.window_scale = 5;
        situation.reader.read_bytes = 1400;
        situation.reader.jitter = 0.2;
        situation
    }

    /// The same with processor time of the receiver in ns per KiB, as the document's hosts divide it.
    fn with_receiver_demand(mut self, demand_ns: u64) -> Situation {
        let demand = Duration::from_nanos(demand_ns);
        self.reader.costs.kib = demand.mul_f64(APPLICATION_SHARE);
        self.receiver_interrupts.packet = demand.mul_f64((1.0 - APPLICATION_SHARE) * PACKET_READ_BYTES as f64 / 1024.0);
        self
    }

    /// The same with the socket buffers of one of netperf's rows; netperf's writes have the size of the send buffer. A
    /// receiver that has costs gets those of the row at this host. Another receive buffer has the smallest scale.
    #[must_use]
    pub fn with_buffers(mut self, send_bytes: usize, receive_bytes: u64, receiver: Host) -> Situation {
        self.sender.send_buffer_bytes = send_bytes;
        self.write_bytes = send_bytes;
        if self.receiver.buffer_bytes != receive_bytes {
            self.receiver.buffer_bytes = receive_bytes;
            self.receiver.window_scale = (0..14).find(|shift| receive_bytes >> shift <= u16::MAX.into()).unwrap_or(14);
        }
        if self.reader.costs == ReadCosts::default() {
            self
        } else {
            self.with_receiver_demand(demand(receive_bytes, receiver))
        }
    }
}

/// The receiver's service demand in the document's row with the nearest buffer below, or the first one.
fn demand(receive_bytes: u64, receiver: Host) -> u64 {
    let row = DOCUMENT_BUFFERS.iter().rposition(|(_, receive)| *receive <= receive_bytes);
    let [r1, s1] = RECEIVER_DEMAND_NS[row.unwrap_or(0)];
    if receiver == Host::R1 { r1 } else { s1 }
}

/// The socket buffers of the document's eight netperf tests, sending and receiving, in bytes.
pub const DOCUMENT_BUFFERS: [(usize, u64); 8] = [
    (32 << 10, 64 << 10),
    (64 << 10, 128 << 10),
    (128 << 10, 256 << 10),
    (256 << 10, 512 << 10),
    (512 << 10, 1 << 20),
    (1 << 20, 2 << 20),
    (2 << 20, 4 << 20),
    (4 << 20, 8 << 20),
];
