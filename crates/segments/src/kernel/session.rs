//! The end that starts a test.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::message::{self, Message, VERSION};
use super::socket::{Buffers, connect_to};
use super::streams::{Shared, run_all};
use super::{Control, Error, Test, TestResult, cpu};

/// The time limit for connecting.
const CONNECT: Duration = Duration::from_secs(10);
/// The time limit for an answer of the listener.
const ANSWER: Duration = Duration::from_secs(30);
/// How often the test is checked.
const TICK: Duration = Duration::from_millis(20);

/// Runs a test with the listener at `address`.
///
/// # Errors
/// Every [`Error`] but [`Error::Listen`].
pub fn run(address: SocketAddr, test: &Test, control: &Control) -> Result<TestResult, Error> {
    test.check()?;
    let connect =
        |address, buffers| connect_to(address, buffers, CONNECT).map_err(|source| Error::Connect { address, source });
    let mut peer = Peer { address, stream: connect(address, Buffers::default())? };
    peer.send(&Message::Start { version: VERSION, test: test.clone() })?;
    let Message::Ready { port, token, machine } = peer.receive()? else { return Err(Error::Foreign { address }) };
    let mut streams = Vec::with_capacity(test.streams());
    for place in 0..test.streams() {
        let data = SocketAddr::new(address.ip(), port);
        let stream = connect(data, Buffers::of(test, test.goes_out(place)))?;
        let mut joined = Peer { address: data, stream };
        joined.send(&Message::Join { token, place })?;
        streams.push(joined.stream);
    }
    if peer.receive()? != Message::Go {
        return Err(Error::Foreign { address });
    }
    let shared = Shared::new(&control.stop, &control.bytes);
    let mut has_told = false;
    let ran = run_all(test, streams, true, &shared, || {
        if control.stop.load(Ordering::Relaxed) && !has_told {
            // If this fails, so do the connections of the test.
            let _ = peer.send(&Message::Stop);
            has_told = true;
        }
        thread::sleep(TICK);
    });
    let (local, latencies) = ran.map_err(|source| peer.reason(source))?;
    let Message::Report(remote) = peer.receive()? else { return Err(Error::Foreign { address }) };
    let counts = [(local.sent_bytes, remote.received_bytes), (remote.sent_bytes, local.received_bytes)];
    match counts.into_iter().find(|(sent, received)| sent != received) {
        Some((sent_bytes, received_bytes)) => Err(Error::Counts { sent_bytes, received_bytes }),
        None => {
            let is_same_machine = !machine.is_empty() && machine == cpu::machine_identity();
            Ok(TestResult { local, remote, latencies, is_same_machine })
        }
    }
}

impl Buffers {
    /// The buffers of one end of a connection.
    pub fn of(test: &Test, is_sender: bool) -> Buffers {
        match test.kind {
            super::Kind::Stream { .. } if is_sender => {
                Buffers { send_bytes: test.send_buffer_bytes, receive_bytes: None }
            }
            super::Kind::Stream { .. } => Buffers { send_bytes: None, receive_bytes: test.receive_buffer_bytes },
            super::Kind::Requests { .. } => {
                Buffers { send_bytes: test.send_buffer_bytes, receive_bytes: test.receive_buffer_bytes }
            }
        }
    }
}

/// The listener, which is not trusted.
struct Peer {
    address: SocketAddr,
    stream: TcpStream,
}

impl Peer {
    fn send(&mut self, message: &Message) -> Result<(), Error> {
        message::send(&mut self.stream, message).map_err(|source| self.reason(source))
    }

    fn receive(&mut self) -> Result<Message, Error> {
        let address = self.address;
        match message::receive(&mut self.stream, ANSWER) {
            Ok(Message::Refused { reason }) => Err(Error::Refused { address, reason }),
            Ok(message) => Ok(message),
            Err(error) if error.kind() == ErrorKind::InvalidData => Err(Error::Foreign { address }),
            Err(source) => Err(Error::Lost { address, source }),
        }
    }

    /// The reason for a failure: the other end's if it has sent one.
    fn reason(&mut self, source: io::Error) -> Error {
        match message::receive(&mut self.stream, Duration::from_secs(1)) {
            Ok(Message::Refused { reason }) => Error::Refused { address: self.address, reason },
            _ => Error::Lost { address: self.address, source },
        }
    }
}
