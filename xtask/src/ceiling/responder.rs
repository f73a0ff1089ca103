//! A responder that parses nothing but record marks, so that the rest of a server's work can be told from the machine's.
//!
//! It knows by position what a call asks: whoever connects to the port behind its own mounts; on its own port the first call
//! of a connection looks the file up, and all later ones read. One thread, one receive per connection and turn, and all
//! replies to it in one vectored send; how the data come to it is the [`Way`].

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;

use super::canned::Canned;
use super::connection::{Connection, State};
use super::source::{Source, Way};
use crate::{Failure, Outcome};

/// A responder that listens.
pub struct Responder {
    epoll: rustix::fd::OwnedFd,
    listeners: [TcpListener; 2],
    source: Source,
    connections: Vec<Option<Connection>>,
}

/// How many events one wait brings at most.
const EVENTS: usize = 64;
/// The numbers of the listening sockets; a connection has its own plus these.
const LISTENERS: u64 = 2;
const MOUNT_LISTENER: u64 = 1;

impl Responder {
    /// Listens on a port and on the one behind it. Replies have `block_bytes` of the file, a multiple of four.
    pub fn bind(way: Way, port: u16, path: &Path, block_bytes: u32) -> Outcome<Responder> {
        let failed = |source| Failure::File { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let file_bytes = file.metadata().map_err(failed)?.len();
        if block_bytes == 0 || !block_bytes.is_multiple_of(4) || file_bytes < block_bytes.into() {
            return Err(Failure::Usage(format!("blocks of {block_bytes} bytes cannot be taken from the file")));
        }
        let listeners = [listen(port)?, listen(port + 1)?];
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system)?;
        for (number, listener) in (0..).zip(&listeners) {
            epoll::add(&epoll, listener, epoll::EventData::new_u64(number), epoll::EventFlags::IN).map_err(system)?;
        }
        let source = Source {
            way,
            file,
            file_bytes,
            block_bytes,
            block: (0..block_bytes).map(|byte| byte as u8).collect(),
            lookup: Canned::lookup(),
            read: Canned::read(block_bytes),
            mount: Canned::mount(),
        };
        Ok(Responder { epoll, listeners, source, connections: Vec::new() })
    }

    /// Answers for ever, or until the machine refuses something.
    pub fn run(&mut self) -> Failure {
        loop {
            if let Err(failure) = self.turn() {
                return failure;
            }
        }
    }

    /// Waits once and answers whatever came.
    pub fn turn(&mut self) -> Outcome {
        let mut events = Vec::with_capacity(EVENTS);
        match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            other => other.map_err(system)?,
        };
        for event in events {
            match event.data.u64() {
                listener @ 0..LISTENERS => self.accept(listener)?,
                connection => self.answer((connection - LISTENERS) as usize)?,
            }
        }
        Ok(())
    }

    fn accept(&mut self, listener: u64) -> Outcome {
        let (stream, _) = self.listeners[listener as usize].accept().map_err(system)?;
        set_up(&stream).map_err(system)?;
        let index = self.connections.iter().position(Option::is_none).unwrap_or(self.connections.len());
        let data = epoll::EventData::new_u64(index as u64 + LISTENERS);
        epoll::add(&self.epoll, &stream, data, epoll::EventFlags::IN).map_err(system)?;
        let connection = Connection::new(stream, listener == MOUNT_LISTENER);
        match self.connections.get_mut(index) {
            Some(place) => *place = Some(connection),
            None => self.connections.push(Some(connection)),
        }
        Ok(())
    }

    fn answer(&mut self, index: usize) -> Outcome {
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) else { return Ok(()) };
        let (before, state) = (connection.is_blocked, connection.answer(&self.source));
        match state {
            // The kernel takes a closed socket out of the set.
            State::Gone => self.connections[index] = None,
            State::Waits if connection.is_blocked != before => {
                let wanted = if connection.is_blocked { epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
                let data = epoll::EventData::new_u64(index as u64 + LISTENERS);
                epoll::modify(&self.epoll, &connection.stream, data, wanted).map_err(system)?;
            }
            State::Waits => {}
        }
        Ok(())
    }
}

fn listen(port: u16) -> Outcome<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(system)
}

fn set_up(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)
}

pub(super) fn system(source: impl Into<std::io::Error>) -> Failure {
    Failure::Peer(format!("the ceiling cannot be measured: {}", source.into()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::path::PathBuf;

    use super::*;

    const BLOCK_BYTES: usize = 4096;

    /// A file whose every block begins with its own number.
    fn file(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("wharf-ceiling-{}-{name}", std::process::id()));
        let block = |number: u8| std::iter::repeat_n(number, BLOCK_BYTES);
        std::fs::write(&path, (1..=8).flat_map(block).collect::<Vec<u8>>()).unwrap();
        path
    }

    /// A call of a few words, as `nfsload` sends them; only the mark and the xid are looked at.
    fn call(xid: u8) -> Vec<u8> {
        let mut record = vec![0; 100];
        record[3] = xid;
        [&[0x80, 0, 0, 100], record.as_slice()].concat()
    }

    fn reply(stream: &mut TcpStream) -> Vec<u8> {
        let mut mark = [0; 4];
        stream.read_exact(&mut mark).unwrap();
        let mut record = vec![0; (u32::from_be_bytes(mark) & !(1 << 31)) as usize];
        stream.read_exact(&mut record).unwrap();
        record
    }

    /// Mounts, looks up, and reads `reads` times at once.
    fn replies(way: Way, reads: u8) -> Vec<Vec<u8>> {
        let path = file(way.name());
        // Two ports in a row are free somewhere in this range, of which no two ways take the same.
        let first = 21_000 + 1_000 * (way as u16) + std::process::id() as u16 % 900;
        let bound = (0..50).find_map(|step| Responder::bind(way, first + 2 * step, &path, BLOCK_BYTES as u32).ok());
        let mut responder = bound.unwrap();
        std::fs::remove_file(&path).unwrap();
        let port = responder.listeners[0].local_addr().unwrap().port();
        std::thread::spawn(move || panic!("{}", responder.run()));
        let mut mounting = TcpStream::connect((Ipv4Addr::LOCALHOST, port + 1)).unwrap();
        mounting.write_all(&call(7)).unwrap();
        let mut reading = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        reading.write_all(&call(8)).unwrap();
        let mut found = vec![reply(&mut mounting), reply(&mut reading)];
        reading.write_all(&(0..reads).flat_map(|xid| call(100 + xid)).collect::<Vec<u8>>()).unwrap();
        found.extend((0..reads).map(|_| reply(&mut reading)));
        found
    }

    fn word(record: &[u8], index: usize) -> u32 {
        u32::from_be_bytes(record[index * 4..][..4].try_into().unwrap())
    }

    #[test]
    fn every_call_is_answered_with_its_xid_success_and_a_block_whatever_the_way() {
        for way in Way::ALL {
            let found = replies(way, 64);
            // MNT and LOOKUP: accepted, no error, and a handle.
            assert_eq!((word(&found[0], 0), word(&found[1], 0)), (7, 8), "{way:?}");
            assert!(found[..2].iter().all(|record| word(record, 6) == 0 && word(record, 7) == 32), "{way:?}");
            for (read, xid) in found[2..].iter().zip(100..) {
                assert_eq!((word(read, 0), read.len()), (xid, 128 + BLOCK_BYTES), "{way:?}");
                assert_eq!((word(read, 6), word(read, 29), word(read, 31)), (0, 4096, 4096), "{way:?}");
                let data = &read[128..];
                assert!(way == Way::Memory || data.iter().all(|byte| *byte == data[0] && *byte > 0), "{way:?}");
            }
        }
    }

    #[test]
    fn replies_that_the_client_does_not_take_at_once_come_whole_later() {
        for way in Way::ALL {
            // More than a socket holds.
            let path = file(&format!("slow-{}", way.name()));
            let mut responder = (0..50)
                .find_map(|step| Responder::bind(way, 25_000 + 100 * (way as u16) + 2 * step, &path, 32_768).ok())
                .unwrap();
            std::fs::remove_file(&path).unwrap();
            let port = responder.listeners[0].local_addr().unwrap().port();
            std::thread::spawn(move || panic!("{}", responder.run()));
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.write_all(&(0..=250).flat_map(call).collect::<Vec<u8>>()).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            let xids: Vec<u32> = (0..=250).map(|_| word(&reply(&mut stream), 0)).collect();
            assert_eq!(xids, (0..=250).collect::<Vec<u32>>(), "{way:?}");
        }
    }
}
