use std::time::Duration;

use super::{Costs, Path, ReceiverConfig, Situation, WindowUpdates};
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

/// The stream in FreeBSD's document: 100 MiB at 2.69 Gbit/s, with a send buffer of 1 MiB and a receive buffer of 2 MiB.
const DOCUMENT_BYTES: u64 = 100 << 20;
const DOCUMENT_BYTES_PER_SECOND: f64 = 2.69e9 / 8.0;
const DOCUMENT_SEND_BUFFER_BYTES: usize = 1 << 20;
const DOCUMENT_RECEIVE_BUFFER_BYTES: u64 = 2 << 20;
/// With a round trip of 0.4 ms, this window gives the document's throughput.
const WINDOW_BYTES: u64 = 128 << 10;
const WINDOW_DELAY: Duration = Duration::from_micros(195);
/// The document's round-trip time is 40 µs.
const DOCUMENT_DELAY: Duration = Duration::from_micros(20);
/// The receiver frees the buffer of one packet at a time.
const PACKET_READ_BYTES: u64 = 1448;

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
            delayed_ack: Some(Duration::from_millis(100)),
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
            read_bytes_per_second: None,
            read_bytes: 64 << 10,
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
            Limit::Receiver => Situation {
                read_bytes_per_second: Some(DOCUMENT_BYTES_PER_SECOND),
                read_bytes: PACKET_READ_BYTES,
                ..situation
            },
        }
    }

    /// The same with the socket buffers of one of netperf's rows; netperf's writes have the size of the send buffer.
    #[must_use]
    pub fn with_buffers(mut self, send_bytes: usize, receive_bytes: u64) -> Situation {
        self.sender.send_buffer_bytes = send_bytes;
        self.write_bytes = send_bytes;
        self.receiver.buffer_bytes = receive_bytes;
        self.receiver.window_scale = (0..14).find(|shift| receive_bytes >> shift <= u16::MAX.into()).unwrap_or(14);
        self
    }
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
