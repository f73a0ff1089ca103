//! Messages between the two ends: eight fixed bytes, a length, and JSON.

use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{End, Test};

/// The version that both ends must have.
pub(super) const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"wharftcp";
const HEAD_BYTES: usize = MAGIC.len() + 4;
/// The longest message; valid ones are far shorter.
const MAX_BYTES: usize = 4096;

/// A message between the two ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Message {
    /// A test is wanted.
    Start { version: u32, test: Test },
    /// Connections of the test may connect to this port, with this number.
    Ready { port: u16, token: u64, machine: String },
    /// There will be no test, or no result of it.
    Refused { reason: String },
    /// The first message of a connection of the test.
    Join { token: u64, place: usize },
    /// All connections are there.
    Go,
    /// Senders must stop.
    Stop,
    /// The listener's measurements.
    Report(End),
}

/// Sends a message.
pub(super) fn send(stream: &mut TcpStream, message: &Message) -> io::Result<()> {
    let body = serde_json::to_vec(message).map_err(Error::other)?;
    let length = u32::try_from(body.len()).map_err(Error::other)?;
    stream.write_all(&[&MAGIC[..], &length.to_be_bytes(), &body].concat())
}

/// Receives a complete message within `most`.
///
/// # Errors
/// `InvalidData` for anything else, `TimedOut`, and those of the system.
pub(super) fn receive(stream: &mut TcpStream, most: Duration) -> io::Result<Message> {
    let deadline = Instant::now() + most;
    let mut head = [0; HEAD_BYTES];
    read_exact(stream, &mut head, deadline)?;
    let (magic, length) = head.split_at(MAGIC.len());
    let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    if magic != MAGIC || length > MAX_BYTES {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    read_exact(stream, &mut body, deadline)?;
    serde_json::from_slice(&body).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

fn read_exact(stream: &mut TcpStream, mut bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::new(ErrorKind::TimedOut, "no answer"));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(bytes) {
            Ok(0) => return Err(Error::new(ErrorKind::UnexpectedEof, "it closed the connection")),
            Ok(count) => bytes = &mut bytes[count..],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const MOST: Duration = Duration::from_secs(20);

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (stream, listener.accept().unwrap().0)
    }

    #[test]
    fn message_is_received_as_it_was_sent() {
        let (mut here, mut there) = pair();
        let messages = [Message::Go, Message::Join { token: u64::MAX, place: 3 }, Message::Report(End::default())];
        messages.iter().for_each(|message| send(&mut here, message).unwrap());
        messages.iter().for_each(|message| assert_eq!(receive(&mut there, MOST).unwrap(), *message));
        drop(here);
        assert_eq!(receive(&mut there, MOST).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_is_no_message_is_refused_at_its_head() {
        let long = [&MAGIC[..], &u32::MAX.to_be_bytes()].concat();
        let deep = [&MAGIC[..], &4096_u32.to_be_bytes(), &[b'['; 4096]].concat();
        for bytes in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), long, deep] {
            let (mut here, mut there) = pair();
            here.write_all(&bytes).unwrap();
            assert_eq!(receive(&mut there, MOST).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn silent_peer_is_not_waited_for_longer_than_allowed() {
        let (mut here, mut there) = pair();
        here.write_all(MAGIC).unwrap();
        assert_eq!(receive(&mut there, Duration::from_millis(30)).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
