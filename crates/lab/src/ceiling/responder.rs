//! The responder: it waits for connections and calls, and answers them.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::thread::sched_yield;

use super::batch::Source;
use super::connection::{Connection, ConnectionState};
use super::replies::{MAX_READ_BYTES, Replies};
use super::{CeilingError, Way};

/// A responder that listens; it has MOUNT and NFS at one port.
#[derive(Debug)]
pub struct Responder {
    epoll: OwnedFd,
    listener: TcpListener,
    source: Source,
    connections: Vec<Option<Connection>>,
    polls_from: Instant,
}

/// How many events one wait brings at most.
const EVENTS: usize = 256;
/// How long the responder looks for the next call before it sleeps.
const POLL_TIME: Duration = Duration::from_micros(100);
/// From which length on a yield ends the polling, and for how long: as in a server's loops.
const LONG_YIELD: Duration = Duration::from_micros(50);
const PAUSE: Duration = Duration::from_millis(100);
/// The number of the listening socket; a connection has its own plus 1.
const LISTENER: u64 = 0;

impl Responder {
    /// Listens, and serves the directory of a file, in which every name is that file.
    ///
    /// # Errors
    /// When the file or the address cannot be used.
    pub fn bind(way: Way, address: SocketAddr, path: &Path) -> Result<Responder, CeilingError> {
        let failed = |source| CeilingError::File { path: path.to_owned(), source };
        let path = std::path::absolute(path).map_err(failed)?;
        let file = File::open(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() || metadata.len() == 0 {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        }
        let listener = TcpListener::bind(address).map_err(|source| CeilingError::Listen { address, source })?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(wait_error)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)
            .map_err(wait_error)?;
        let export = path.parent().unwrap_or(&path).as_os_str().as_bytes();
        let source = Source {
            way,
            file,
            file_bytes: metadata.len(),
            block: (0..MAX_READ_BYTES).map(|byte| byte as u8).collect(),
            replies: Replies::new(export, metadata.len()),
        };
        Ok(Responder { epoll, listener, source, connections: Vec::new(), polls_from: Instant::now() })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers for ever, or until the system refuses something.
    pub fn run(&mut self) -> CeilingError {
        loop {
            if let Err(error) = self.turn() {
                return error;
            }
        }
    }

    /// Waits once and answers whatever came.
    fn turn(&mut self) -> Result<(), CeilingError> {
        let mut events = Vec::with_capacity(EVENTS);
        self.wait(&mut events).map_err(wait_error)?;
        for event in events {
            match event.data.u64() {
                LISTENER => self.accept().map_err(CeilingError::Wait)?,
                connection => self.answer((connection - 1) as usize).map_err(CeilingError::Wait)?,
            }
        }
        Ok(())
    }

    /// Polls for a while before it sleeps: a sleep and a wake-up are not what a ceiling is made of. Beside a thread
    /// that computes on the same processor a yield lasts a time slice, so a long one ends the polling for some time.
    fn wait(&mut self, events: &mut Vec<epoll::Event>) -> rustix::io::Result<()> {
        let began = Instant::now();
        loop {
            let now = Instant::now();
            let is_polling = now - began < POLL_TIME && now >= self.polls_from;
            let at_once = is_polling.then_some(Timespec { tv_sec: 0, tv_nsec: 0 });
            match epoll::wait(&self.epoll, spare_capacity(events), at_once.as_ref()) {
                Ok(0) if is_polling => {
                    sched_yield();
                    if now.elapsed() > LONG_YIELD {
                        self.polls_from = now + PAUSE;
                    }
                }
                Ok(_) | Err(Errno::INTR) => return Ok(()),
                Err(errno) => return Err(errno),
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        let (stream, _) = self.listener.accept()?;
        set_up(&stream)?;
        let index = self.connections.iter().position(Option::is_none).unwrap_or(self.connections.len());
        epoll::add(&self.epoll, &stream, event_data(index), epoll::EventFlags::IN)?;
        let connection = Some(Connection::new(stream));
        match self.connections.get_mut(index) {
            Some(place) => *place = connection,
            None => self.connections.push(connection),
        }
        Ok(())
    }

    fn answer(&mut self, index: usize) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) else { return Ok(()) };
        let (before, state) = (connection.is_blocked, connection.answer(&self.source));
        match state {
            // The kernel takes a closed socket out of the set.
            ConnectionState::Gone => self.connections[index] = None,
            ConnectionState::Waits if connection.is_blocked != before => {
                let wanted = if connection.is_blocked { epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
                epoll::modify(&self.epoll, &connection.stream, event_data(index), wanted)?;
            }
            ConnectionState::Waits => {}
        }
        Ok(())
    }
}

fn event_data(index: usize) -> epoll::EventData {
    epoll::EventData::new_u64(index as u64 + 1)
}

fn set_up(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)
}

fn wait_error(errno: Errno) -> CeilingError {
    CeilingError::Wait(errno.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    use client::{Follow, Mount, Options, Url};
    use vfs::FileKind;

    use super::*;
    use crate::bench::{self, End, Job};

    const BLOCK_BYTES: usize = 4096;
    const BLOCKS: u8 = 8;

    /// A running responder, whose file's every block has its own number plus 1 in all of its bytes.
    fn start(way: Way, test: &str) -> (SocketAddr, Url) {
        let path = std::env::temp_dir().join(format!("wharf-ceiling-{}-{test}-{way}", std::process::id()));
        let blocks = (1..=BLOCKS).flat_map(|number| std::iter::repeat_n(number, BLOCK_BYTES));
        std::fs::write(&path, blocks.collect::<Vec<u8>>()).unwrap();
        let mut responder = Responder::bind(way, (Ipv4Addr::LOCALHOST, 0).into(), &path).unwrap();
        let (address, port) = (responder.address().unwrap(), responder.address().unwrap().port());
        let url = format!("nfs://127.0.0.1{}?version=3&nfsport={port}&mountport={port}", path.display());
        std::fs::remove_file(&path).unwrap();
        std::thread::spawn(move || panic!("{}", responder.run()));
        (address, url.parse().unwrap())
    }

    fn options() -> Options {
        Options { use_privileged_port: false, ..Options::default() }
    }

    #[tokio::test]
    async fn client_mounts_looks_up_and_reads_what_the_file_has_whatever_the_way() {
        for way in Way::ALL {
            let mount = Mount::connect(&start(way, "client").1, &options()).await.unwrap();
            let found = mount.walk(mount.path_below(), Follow::Links).await.unwrap();
            let attributes = mount.getattr(&found.handle).await.unwrap();
            let file_bytes = u64::from(BLOCKS) * BLOCK_BYTES as u64;
            assert_eq!((attributes.kind, attributes.size_bytes), (FileKind::Regular, file_bytes), "{way}");
            for (block, expected) in [(5, 6), (0, 1), (7, 8)] {
                let data = mount.read(&found.handle, block * BLOCK_BYTES as u64, 4096).await.unwrap();
                assert_eq!((data.bytes.len(), data.is_eof), (BLOCK_BYTES, block == 7), "{way}");
                assert!(way == Way::Memory || data.bytes.iter().all(|byte| *byte == expected), "{way}");
            }
            let beyond = mount.read(&found.handle, file_bytes, 4096).await.unwrap();
            assert!(beyond.bytes.is_empty() && beyond.is_eof, "{way}");
            let refused = mount.remove(&found.handle, b"x").await.unwrap_err();
            assert!(refused.to_string().contains("REMOVE"), "{refused}");
        }
    }

    #[test]
    fn benchmark_finds_nothing_wrong_with_it() {
        let url = start(Way::Copy, "bench").1;
        let job = Job {
            workload: "randread".parse().unwrap(),
            options: options(),
            block_bytes: 4096,
            depth: 16,
            connections: 2,
            file_bytes: u64::from(BLOCKS) * BLOCK_BYTES as u64,
            end: End::Bytes(100 * 4096),
            ..Job::new(url)
        };
        let outcome = bench::run(&job).unwrap();
        assert!(outcome.first_error.is_none(), "{:?}", outcome.first_error);
        assert_eq!(outcome.summary.total().operations, 100);
    }

    /// A READ of 32 KiB with this xid.
    fn read_call(xid: u8) -> Vec<u8> {
        let words = [1 << 31 | 52, xid.into(), 0, 2, 100_003, 3, 6, 0, 0, 0, 0, 0, 0, 32_768];
        words.into_iter().flat_map(u32::to_be_bytes).collect()
    }

    fn reply(stream: &mut TcpStream) -> Vec<u8> {
        let mut mark = [0; 4];
        stream.read_exact(&mut mark).unwrap();
        let mut record = vec![0; (u32::from_be_bytes(mark) & !(1 << 31)) as usize];
        stream.read_exact(&mut record).unwrap();
        record
    }

    #[test]
    fn replies_that_the_client_does_not_take_at_once_come_whole_later() {
        for way in Way::ALL {
            let mut stream = TcpStream::connect(start(way, "slow").0).unwrap();
            // More than a socket holds.
            stream.write_all(&(0..=250).flat_map(read_call).collect::<Vec<u8>>()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
            for xid in 0..=250 {
                let record = reply(&mut stream);
                assert_eq!((record[3], record.len()), (xid, 128 + 32_768), "{way}");
                assert!(way == Way::Memory || record[128 + 32_767] == BLOCKS, "{way}");
            }
        }
    }
}
