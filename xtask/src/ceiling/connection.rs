//! One connection of the responder.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use super::batch::{Batch, Place};
use super::source::Source;

/// What one receive takes at most; no call that is answered here is longer.
const INPUT_BYTES: usize = 64 << 10;
/// The record mark and the xid.
const HEAD_BYTES: usize = 8;

/// A client that is connected.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    /// Whether it takes no more at the moment; nothing is received from it then.
    pub(super) is_blocked: bool,
    mounts: bool,
    has_looked_up: bool,
    input: Vec<u8>,
    filled: usize,
    waiting: VecDeque<[u8; 4]>,
    batch: Batch,
    place: Place,
}

/// What comes next for a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    Waits,
    Gone,
}

impl Connection {
    /// A connection that mounts, or one that looks up and reads.
    pub(super) fn new(stream: TcpStream, mounts: bool) -> Connection {
        // Connections begin far from each other.
        let place = Place(stream.as_raw_fd().unsigned_abs().into());
        Connection {
            stream,
            is_blocked: false,
            mounts,
            has_looked_up: false,
            input: vec![0; INPUT_BYTES],
            filled: 0,
            waiting: VecDeque::new(),
            batch: Batch::default(),
            place,
        }
    }

    /// Receives once, unless replies are in the way, and sends as much as goes.
    pub(super) fn answer(&mut self, source: &Source) -> State {
        let done = match self.is_blocked {
            true => Ok(()),
            false => self.receive(source),
        };
        match done.and_then(|()| self.send(source)) {
            Ok(()) => self.is_blocked = false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.is_blocked = true,
            Err(_) => return State::Gone,
        }
        State::Waits
    }

    fn receive(&mut self, source: &Source) -> io::Result<()> {
        match self.stream.read(&mut self.input[self.filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(received) => self.filled += received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut done = 0;
        while let Some((record_bytes, xid)) = first_record(&self.input[done..self.filled])? {
            done += record_bytes;
            self.take(xid, source)?;
        }
        self.input.copy_within(done..self.filled, 0);
        self.filled -= done;
        Ok(())
    }

    fn take(&mut self, xid: [u8; 4], source: &Source) -> io::Result<()> {
        if !self.mounts && self.has_looked_up {
            self.waiting.push_back(xid);
            return Ok(());
        }
        self.has_looked_up = true;
        let mut reply = Vec::new();
        if self.mounts { &source.mount } else { &source.lookup }.append_to(&mut reply, xid);
        // It is the first on its connection, or the only one, so there is room for it.
        self.stream.write_all(&reply)
    }

    fn send(&mut self, source: &Source) -> io::Result<()> {
        loop {
            self.batch.send(&self.stream, source)?;
            if self.waiting.is_empty() {
                return Ok(());
            }
            self.batch.fill(&mut self.waiting, source, &mut self.place)?;
        }
    }
}

/// The length of the first record, its mark included, and its xid, when all of it is there.
fn first_record(input: &[u8]) -> io::Result<Option<(usize, [u8; 4])>> {
    let Some((mark, [xid0, xid1, xid2, xid3, ..])) = input.split_first_chunk::<4>() else { return Ok(None) };
    let record_bytes = 4 + (u32::from_be_bytes(*mark) & !(1 << 31)) as usize;
    if !(HEAD_BYTES..=INPUT_BYTES).contains(&record_bytes) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((input.len() >= record_bytes).then_some((record_bytes, [*xid0, *xid1, *xid2, *xid3])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_taken_when_all_of_it_is_there() {
        let record = [0x80, 0, 0, 6, 1, 2, 3, 4, 5, 6, 0x80];
        assert_eq!(first_record(&record[..9]).unwrap(), None);
        assert_eq!(first_record(&record).unwrap(), Some((10, [1, 2, 3, 4])));
        assert_eq!(first_record(&[]).unwrap(), None);
    }

    #[test]
    fn record_that_cannot_be_held_is_refused() {
        assert!(first_record(&[0x80, 2, 0, 0, 1, 2, 3, 4]).is_err());
        assert!(first_record(&[0x80, 0, 0, 3, 1, 2, 3, 4]).is_err());
    }
}
