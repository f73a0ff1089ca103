//! Streams and requests between two ends with sockets of the kernel.
//!
//! A [`Listener`] serves one test after another; [`run`] is the other end, which says what the test is. They talk over
//! a control connection in bounded messages. The connections of the test go to a port of its own, so that its receive
//! buffer is set before the window scale is agreed. Each end measures itself: bytes, time, processor time of its
//! threads and of its machine, and retransmissions (TCP_INFO).

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

/// The port of a [`Listener`] when nobody says.
pub const DEFAULT_PORT: u16 = 5210;
/// The most connections of a test in each direction.
pub const MAX_CONNECTIONS: usize = 64;
/// The most bytes of a message, a read, a request or a response.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// The longest test.
pub const MAX_DURATION: Duration = Duration::from_secs(3600);

/// What is done between the two ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    /// Streams, or requests and responses.
    pub kind: Kind,
    /// How many connections; with [`Direction::Both`] so many in each direction.
    pub connections: usize,
    /// How many bytes are sent in each direction, or how many requests, over all connections.
    pub total: Option<u64>,
    /// For how long.
    pub duration: Option<Duration>,
    /// The buffer of sending sockets (SO_SNDBUF), or as the kernel likes.
    pub send_buffer_bytes: Option<usize>,
    /// The buffer of receiving sockets (SO_RCVBUF), or as the kernel likes.
    pub receive_buffer_bytes: Option<usize>,
}

/// Which kind of test it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Data in one direction per connection, as much as goes.
    Stream {
        /// Who sends.
        direction: Direction,
        /// Bytes of a write.
        message_bytes: usize,
        /// Most bytes of a read.
        read_bytes: usize,
    },
    /// A request, its response, the next request.
    Requests {
        /// Bytes of a request.
        request_bytes: usize,
        /// Bytes of a response.
        response_bytes: usize,
    },
}

/// Who sends, as the end that starts the test sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// This end.
    Out,
    /// The listener.
    In,
    /// Both, over connections of their own.
    Both,
}

/// What one end has measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct End {
    /// Bytes that the kernel took, and that the other end's kernel has acknowledged unless the test was cut short.
    pub sent_bytes: u64,
    /// Bytes that were read.
    pub received_bytes: u64,
    /// From the beginning until all connections were read to their end.
    pub elapsed: Duration,
    /// Requests that were answered.
    pub transactions: u64,
    /// Processor time of the threads that sent and received.
    pub process_time: Duration,
    /// Processor time of the whole machine meanwhile, in ticks of usually 10 ms, where the kernel tells it.
    pub machine_time: Option<Duration>,
    /// How many processors the machine has.
    pub processors: usize,
    /// Segments that were sent again.
    pub retransmissions: u64,
}

/// What came of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// This end.
    pub local: End,
    /// The listener.
    pub remote: End,
    /// How long requests took, in nanoseconds.
    pub latencies: Histogram,
    /// Whether both ends run under the same kernel, so that the machine's processor time is that of both.
    pub is_same_machine: bool,
}

/// What a test tells while it goes on, and how it is stopped.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to end early; what was sent until then arrives and is counted.
    pub stop: AtomicBool,
    /// Bytes that this end has sent and received.
    pub bytes: AtomicU64,
}

/// Why a test has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody listens, or nobody can be reached.
    #[error(
        "cannot connect to {address}: {source}; start wharf tcp listen there first, and let TCP through any firewall"
    )]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// A listener cannot be started.
    #[error("cannot listen on {address}: {source}; name another address and port: wharf tcp listen ADDR:PORT")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// What answers there is something else.
    #[error("{address} is no wharf tcp listen of this version; check the port, and run the same wharf at both ends")]
    Foreign {
        /// Who.
        address: SocketAddr,
    },
    /// The other end does not want to, or cannot go on.
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
    /// A test makes no sense.
    #[error("{0}")]
    Test(&'static str),
    /// The system refuses something that the test needs.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Bytes that were sent have not arrived.
    #[error("{sent_bytes} bytes were sent and {received_bytes} received; this is a mistake in wharf, please report it")]
    Counts {
        /// At the one end.
        sent_bytes: u64,
        /// At the other.
        received_bytes: u64,
    },
}

impl Test {
    /// How many connections it takes in both directions; [`Test::check`] has to hold.
    pub fn streams(&self) -> usize {
        match self.kind {
            Kind::Stream { direction: Direction::Both, .. } => 2 * self.connections,
            _ => self.connections,
        }
    }

    /// Whether the end that started the test sends over the connection with this number.
    pub(crate) fn goes_out(&self, place: usize) -> bool {
        match self.kind {
            Kind::Stream { direction: Direction::Out, .. } | Kind::Requests { .. } => true,
            Kind::Stream { direction: Direction::In, .. } => false,
            Kind::Stream { direction: Direction::Both, .. } => place.is_multiple_of(2),
        }
    }

    /// What the connection with this number does of the total.
    pub(crate) fn share(&self, place: usize) -> Option<u64> {
        let (streams, connections) = (self.streams(), self.connections as u64);
        let number = (place / (streams / self.connections)) as u64;
        self.total.map(|total| total / connections + u64::from(number < total % connections))
    }

    /// Checks the limits, which hold at both ends.
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

impl Outcome {
    /// Bits per second that arrived at the listener.
    pub fn bits_out(&self) -> f64 {
        bits_per_second(&self.remote)
    }

    /// Bits per second that arrived here.
    pub fn bits_in(&self) -> f64 {
        bits_per_second(&self.local)
    }

    /// Bytes that arrived, at both ends.
    pub fn bytes(&self) -> u64 {
        self.local.received_bytes + self.remote.received_bytes
    }

    /// Requests that were answered in a second.
    pub fn transactions_per_second(&self) -> f64 {
        self.local.transactions as f64 / self.local.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl End {
    /// The share of its machine's processors that was busy, from 0 to 1.
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
