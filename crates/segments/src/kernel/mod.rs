//! Streams and requests between two ends with kernel sockets.
//!
//! A [`Listener`] serves one test after another; [`run`] is the other end, which defines the test. They communicate
//! over a control connection with bounded messages. The connections of the test use another port, so that its receive
//! buffer is set before the window scale is negotiated. Each end measures itself: bytes, time, processor time of its
//! threads and its machine, and retransmissions (TCP_INFO).

mod cpu;
mod listener;
mod message;
mod session;
mod socket;
mod streams;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use measure::Histogram;
use serde::{Deserialize, Serialize};

pub(crate) use cpu::{busy_between, machine_ticks, thread_time};
pub use listener::{Listener, Served};
pub use session::run;

/// The default port of a [`Listener`].
pub const DEFAULT_PORT: u16 = 5210;
/// The maximum number of connections of a test in each direction.
pub const MAX_CONNECTIONS: usize = 64;
/// The maximum size of a message, a read, a request or a response.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// The longest test.
pub const MAX_DURATION: Duration = Duration::from_secs(3600);

/// A test between the two ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    /// Streams, or requests and responses.
    pub kind: Kind,
    /// The number of connections; with [`Direction::Both`], in each direction.
    pub connections: usize,
    /// The total bytes in each direction, or the total requests, over all connections.
    pub total: Option<u64>,
    /// For how long.
    pub duration: Option<Duration>,
    /// The buffer of sending sockets (SO_SNDBUF); the kernel's default without it.
    pub send_buffer_bytes: Option<usize>,
    /// The buffer of receiving sockets (SO_RCVBUF); the kernel's default without it.
    pub receive_buffer_bytes: Option<usize>,
}

/// The kind of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Each connection sends as fast as possible in one direction.
    Stream {
        /// Who sends.
        direction: Direction,
        /// Bytes of a write.
        message_bytes: usize,
        /// The maximum size of a read.
        read_bytes: usize,
    },
    /// Each connection alternates requests and responses.
    Requests {
        /// Bytes of a request.
        request_bytes: usize,
        /// Bytes of a response.
        response_bytes: usize,
    },
}

/// The sender, as seen by the end that starts the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// This end.
    Out,
    /// The listener.
    In,
    /// Both, each over its own connections.
    Both,
}

/// The measurements of one end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct End {
    /// Bytes that the kernel accepted. The other end's kernel has acknowledged them, unless the test was stopped early.
    pub sent_bytes: u64,
    /// Bytes that were read.
    pub received_bytes: u64,
    /// The time until all connections were read to their end.
    pub elapsed: Duration,
    /// Requests that were answered.
    pub transactions: u64,
    /// Processor time of the sending and receiving threads.
    pub process_time: Duration,
    /// Processor time of the whole machine, in ticks of usually 10 ms, if the kernel reports it.
    pub machine_time: Option<Duration>,
    /// How many processors the machine has.
    pub processors: usize,
    /// Retransmitted segments.
    pub retransmissions: u64,
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestResult {
    /// This end.
    pub local: End,
    /// The listener.
    pub remote: End,
    /// The latencies of requests, in nanoseconds.
    pub latencies: Histogram,
    /// Whether both ends run on the same kernel, so that the machine's processor time includes both.
    pub is_same_machine: bool,
}

/// Reports the progress of a test, and stops it.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to stop early; data sent until then arrives and is counted.
    pub stop: AtomicBool,
    /// Bytes that this end has sent and received.
    pub bytes: AtomicU64,
}

/// Why a test has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection failed.
    #[error(
        "cannot connect to {address}: {source}; start wharf tcp listen there first, and let TCP through any firewall"
    )]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The listener cannot start.
    #[error("cannot listen on {address}: {source}; name another address and port: wharf tcp listen ADDR:PORT")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The other end is another program.
    #[error("{address} is no wharf tcp listen of this version; check the port, and run the same wharf at both ends")]
    Foreign {
        /// Who.
        address: SocketAddr,
    },
    /// The other end refuses, or cannot go on.
    #[error("{address} refuses the test: {reason}")]
    Refused {
        /// Who.
        address: SocketAddr,
        /// Its words.
        reason: String,
    },
    /// The other end has gone, or is silent.
    #[error("lost {address} during the test: {source}; see whether wharf still runs there, and run the test again")]
    Lost {
        /// Who.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The test is invalid.
    #[error("{0}")]
    Test(&'static str),
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Some of the bytes sent have not arrived.
    #[error("{sent_bytes} bytes were sent and {received_bytes} received; this is a mistake in wharf, please report it")]
    Counts {
        /// At the one end.
        sent_bytes: u64,
        /// At the other.
        received_bytes: u64,
    },
}

impl Test {
    /// The number of connections in both directions, for a valid test.
    pub fn streams(&self) -> usize {
        match self.kind {
            Kind::Stream { direction: Direction::Both, .. } => 2 * self.connections,
            _ => self.connections,
        }
    }

    /// Whether the starting end sends over the connection with this number.
    pub(crate) fn goes_out(&self, place: usize) -> bool {
        match self.kind {
            Kind::Stream { direction: Direction::Out, .. } | Kind::Requests { .. } => true,
            Kind::Stream { direction: Direction::In, .. } => false,
            Kind::Stream { direction: Direction::Both, .. } => place.is_multiple_of(2),
        }
    }

    /// The share of the total for the connection with this number.
    pub(crate) fn share(&self, place: usize) -> Option<u64> {
        let (streams, connections) = (self.streams(), self.connections as u64);
        let number = (place / (streams / self.connections)) as u64;
        self.total.map(|total| total / connections + u64::from(number < total % connections))
    }

    /// Checks the limits, which apply to both ends.
    ///
    /// # Errors
    /// [`Error::Test`].
    pub fn check(&self) -> Result<(), Error> {
        let (first, second) = match self.kind {
            Kind::Stream { message_bytes, read_bytes, .. } => (message_bytes, read_bytes),
            Kind::Requests { request_bytes, response_bytes } => (request_bytes, response_bytes),
        };
        let has_size = |bytes: usize| (1..=MAX_MESSAGE_BYTES).contains(&bytes);
        if !(1..=MAX_CONNECTIONS).contains(&self.connections) {
            return Err(Error::Test("a test has 1 to 64 connections in each direction"));
        }
        if !has_size(first) || !has_size(second) {
            return Err(Error::Test("messages, reads, requests and responses have from 1 byte to 1 MiB"));
        }
        if self.duration.is_some_and(|duration| duration > MAX_DURATION) {
            return Err(Error::Test("a test ends after an hour at most"));
        }
        if self.total.is_none() && self.duration.is_none() {
            return Err(Error::Test("a test has an end: a number of bytes or requests, or a time"));
        }
        Ok(())
    }
}

impl TestResult {
    /// Bits per second received by the listener.
    pub fn bits_out(&self) -> f64 {
        bits_per_second(&self.remote)
    }

    /// Bits per second received here.
    pub fn bits_in(&self) -> f64 {
        bits_per_second(&self.local)
    }

    /// Bytes received, at both ends.
    pub fn bytes(&self) -> u64 {
        self.local.received_bytes + self.remote.received_bytes
    }

    /// Answered requests per second.
    pub fn transactions_per_second(&self) -> f64 {
        self.local.transactions as f64 / self.local.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl End {
    /// The load of its machine's processors, from 0 to 1.
    pub fn utilization(&self) -> Option<f64> {
        let whole = self.elapsed.as_secs_f64() * self.processors as f64;
        self.machine_time.filter(|_| whole > 0.0).map(|time| time.as_secs_f64() / whole)
    }
}

fn bits_per_second(receiver: &End) -> f64 {
    receiver.received_bytes as f64 * 8.0 / receiver.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(direction: Direction) -> Test {
        Test {
            kind: Kind::Stream { direction, message_bytes: 1000, read_bytes: 1000 },
            connections: 3,
            total: Some(100),
            duration: None,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
        }
    }

    #[test]
    fn shares_of_the_connections_of_a_direction_are_the_total() {
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let test = stream(direction);
            let sum = |is_out| {
                let places = (0..test.streams()).filter(|place| test.goes_out(*place) == is_out);
                places.map(|place| test.share(place).unwrap()).sum::<u64>()
            };
            let expected = match direction {
                Direction::Out => (100, 0),
                Direction::In => (0, 100),
                Direction::Both => (100, 100),
            };
            assert_eq!((sum(true), sum(false)), expected, "{direction:?}");
        }
    }

    #[test]
    fn tests_beyond_the_limits_are_refused() {
        let good = stream(Direction::Both);
        assert!(good.check().is_ok());
        let kind = |message_bytes, read_bytes| Kind::Stream { direction: Direction::Out, message_bytes, read_bytes };
        let requests = |request_bytes, response_bytes| Kind::Requests { request_bytes, response_bytes };
        let bad = [
            Test { connections: 0, ..good.clone() },
            Test { connections: MAX_CONNECTIONS + 1, ..good.clone() },
            Test { kind: kind(0, 1), ..good.clone() },
            Test { kind: kind(1, MAX_MESSAGE_BYTES + 1), ..good.clone() },
            Test { kind: requests(usize::MAX, 1), ..good.clone() },
            Test { duration: Some(MAX_DURATION * 2), ..good.clone() },
            Test { total: None, ..good.clone() },
        ];
        bad.iter().for_each(|test| assert!(matches!(test.check(), Err(Error::Test(_))), "{test:?}"));
    }
}
