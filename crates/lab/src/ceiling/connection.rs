//! One connection of the responder.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::TcpStream;

use super::batch::{Batch, Source};
use super::call::{Call, MAX_CALL_BYTES};

/// A client that is connected.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    /// Whether it takes no more at the moment; nothing is received from it then.
    pub(super) is_blocked: bool,
    input: Vec<u8>,
    filled: usize,
    waiting: VecDeque<Call>,
    batch: Batch,
}

/// What comes next for a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    Waits,
    Gone,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Connection {
        Connection {
            stream,
            is_blocked: false,
            input: vec![0; MAX_CALL_BYTES],
            filled: 0,
            waiting: VecDeque::new(),
            batch: Batch::default(),
        }
    }

    /// Receives once, unless replies are in the way, and sends as much as goes.
    pub(super) fn answer(&mut self, source: &Source) -> ConnectionState {
        let done = match self.is_blocked {
            true => Ok(()),
            false => self.receive(),
        };
        match done.and_then(|()| self.send(source)) {
            Ok(()) => self.is_blocked = false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.is_blocked = true,
            Err(_) => return ConnectionState::Gone,
        }
        ConnectionState::Waits
    }

    fn receive(&mut self) -> io::Result<()> {
        match self.stream.read(&mut self.input[self.filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(received) => self.filled += received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut done = 0;
        while let Some((call, bytes)) = Call::first(&self.input[done..self.filled])? {
            done += bytes;
            self.waiting.push_back(call);
        }
        self.input.copy_within(done..self.filled, 0);
        self.filled -= done;
        Ok(())
    }

    fn send(&mut self, source: &Source) -> io::Result<()> {
        loop {
            self.batch.send(&self.stream, source)?;
            if self.waiting.is_empty() {
                return Ok(());
            }
            self.batch.fill(&mut self.waiting, source)?;
        }
    }
}
