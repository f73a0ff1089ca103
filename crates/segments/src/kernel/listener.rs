//! The listening end. It serves one test after another, and limits the resources that a peer can use.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::message::{self, Message, VERSION};
use super::socket::{self, Buffers};
use super::streams::{Shared, run_all};
use super::{End, Error, Test, cpu};

/// The time limit for a peer's first message.
const FIRST: Duration = Duration::from_secs(5);
/// The time limit for all connections of a test, and for each one's message.
const JOIN: Duration = Duration::from_secs(15);
const JOIN_ONE: Duration = Duration::from_secs(2);
/// The time limit for the rest of a message.
const MESSAGE: Duration = Duration::from_secs(2);
/// The maximum number of peers, in total and per address, that run a test or have not sent their first message.
const MAX_PEERS: usize = 32;
const MAX_PEERS_OF_ADDRESS: usize = 8;
/// How often the end of a test is checked.
const LOOK: Duration = Duration::from_millis(20);

/// Serves tests, one after another.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    data_port: u16,
    peers: Mutex<Vec<IpAddr>>,
    is_busy: AtomicBool,
}

/// A test that was served, or not.
#[derive(Debug)]
pub struct Served {
    /// With whom.
    pub peer: SocketAddr,
    /// The test, once the peer has requested it.
    pub test: Option<Test>,
    /// The measurements of this end.
    pub ended: Result<End, Error>,
}

impl Listener {
    /// Listens at `address` for tests. Their connections use `data_port`, or a free port if it is 0.
    ///
    /// # Errors
    /// [`Error::Listen`].
    pub fn bind(address: SocketAddr, data_port: u16) -> Result<Listener, Error> {
        let listener = TcpListener::bind(address).map_err(|source| Error::Listen { address, source })?;
        Ok(Listener { listener, data_port, peers: Mutex::default(), is_busy: AtomicBool::new(false) })
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn address(&self) -> Result<SocketAddr, Error> {
        self.listener.local_addr().map_err(|source| Error::System { action: "tell the address of a socket", source })
    }

    /// Serves tests for ever, or until one completes with `only_one`. Reports each to `on_test`.
    ///
    /// # Errors
    /// [`Error::System`] when no more connections can be accepted.
    pub fn serve(&self, only_one: bool, on_test: impl Fn(&Served) + Sync) -> Result<(), Error> {
        let failed = |source| Error::System { action: "accept connections", source };
        self.listener.set_nonblocking(true).map_err(failed)?;
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            while !is_over.load(Ordering::Relaxed) {
                let Some((stream, peer)) = accept(&self.listener).map_err(failed)? else { continue };
                let Some(place) = Admission::take(&self.peers, peer.ip()) else { continue };
                let (is_over, on_test) = (&is_over, &on_test);
                let serve = move || {
                    let _place = place;
                    let served = self.serve_peer(stream, peer);
                    on_test(&served);
                    if only_one && served.ended.is_ok() {
                        is_over.store(true, Ordering::Relaxed);
                    }
                };
                // Without a thread the connection is closed, and the peer notices.
                let _ = thread::Builder::new().name("peer".to_owned()).spawn_scoped(scope, serve);
            }
            Ok(())
        })
    }

    fn serve_peer(&self, mut stream: TcpStream, peer: SocketAddr) -> Served {
        let mut test = None;
        let ended = self.try_serve(&mut stream, peer, &mut test);
        if let Err(error) = &ended {
            // A peer that has gone need not get the reason.
            let _ = message::send(&mut stream, &Message::Refused { reason: words(error) });
        }
        Served { peer, test, ended }
    }

    fn try_serve(&self, stream: &mut TcpStream, peer: SocketAddr, test: &mut Option<Test>) -> Result<End, Error> {
        let lost = |source| Error::Lost { address: peer, source };
        stream.set_nonblocking(false).map_err(lost)?;
        stream.set_write_timeout(Some(MESSAGE)).map_err(lost)?;
        let wanted = match message::receive(stream, FIRST) {
            Ok(Message::Start { version: VERSION, test }) => test,
            Ok(Message::Start { .. }) => return Err(Error::Test("the listener speaks another version")),
            Ok(_) => return Err(Error::Foreign { address: peer }),
            Err(error) if error.kind() == ErrorKind::InvalidData => return Err(Error::Foreign { address: peer }),
            Err(error) => return Err(lost(error)),
        };
        let wanted = test.insert(wanted);
        wanted.check()?;
        if self.is_busy.swap(true, Ordering::Relaxed) {
            return Err(Error::Test("another test is running; try again when it has ended"));
        }
        let ended = self.one_test(stream, peer, wanted);
        self.is_busy.store(false, Ordering::Relaxed);
        let end = ended?;
        message::send(stream, &Message::Report(end.clone())).map_err(lost)?;
        Ok(end)
    }

    fn one_test(&self, control: &mut TcpStream, peer: SocketAddr, test: &Test) -> Result<End, Error> {
        let lost = |source| Error::Lost { address: peer, source };
        let streams = self.streams(control, peer, test)?;
        message::send(control, &Message::Go).map_err(lost)?;
        let (stop, bytes) = (AtomicBool::new(false), AtomicU64::new(0));
        let shared = Shared::new(&stop, &bytes);
        let mut is_watched = true;
        let ran = run_all(test, streams, false, &shared, || {
            if !is_watched {
                return thread::sleep(LOOK);
            }
            match look(control) {
                Ok(false) => {}
                Ok(true) => stop.store(true, Ordering::Relaxed),
                Err(_) => {
                    is_watched = false;
                    shared.abort.store(true, Ordering::Relaxed);
                }
            }
        });
        Ok(ran.map_err(lost)?.0)
    }

    /// Accepts the connections of a test, in order of their numbers.
    fn streams(&self, control: &mut TcpStream, peer: SocketAddr, test: &Test) -> Result<Vec<TcpStream>, Error> {
        let failed = |source| Error::System { action: "listen for the connections of the test", source };
        let address = control.local_addr().map_err(failed)?.ip();
        // In a test in both directions, some connections send here and some receive.
        let is_sender = (0..test.streams()).any(|place| !test.goes_out(place));
        let is_receiver = (0..test.streams()).any(|place| test.goes_out(place));
        let (sends, receives) = (Buffers::of(test, is_sender), Buffers::of(test, !is_receiver));
        let buffers = Buffers { send_bytes: sends.send_bytes, receive_bytes: receives.receive_bytes };
        let listener = socket::listen(SocketAddr::new(address, self.data_port), buffers).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let token = fresh_token()?;
        let ready = Message::Ready { port, token, machine: cpu::machine_identity() };
        message::send(control, &ready).map_err(|source| Error::Lost { address: peer, source })?;
        let deadline = Instant::now() + JOIN;
        let mut streams: Vec<Option<TcpStream>> = (0..test.streams()).map(|_| None).collect();
        while streams.iter().any(Option::is_none) {
            if Instant::now() >= deadline {
                return Err(Error::Test("its connections did not come in time; let them through any firewall"));
            }
            let Some((mut stream, _)) = accept(&listener).map_err(failed)? else { continue };
            stream.set_nonblocking(false).map_err(failed)?;
            // A connection without the right number does not belong to the test.
            if let Ok(Message::Join { token: told, place }) = message::receive(&mut stream, JOIN_ONE)
                && told == token
                && let Some(empty @ None) = streams.get_mut(place)
            {
                *empty = Some(stream);
            }
        }
        Ok(streams.into_iter().flatten().collect())
    }
}

/// Whether the other end wants to stop.
fn look(control: &mut TcpStream) -> io::Result<bool> {
    control.set_read_timeout(Some(LOOK))?;
    match control.peek(&mut [0]) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(_) => match message::receive(control, MESSAGE)? {
            Message::Stop => Ok(true),
            _ => Err(ErrorKind::InvalidData.into()),
        },
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Waits briefly for a connection.
fn accept(listener: &TcpListener) -> io::Result<Option<(TcpStream, SocketAddr)>> {
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(errno) => return Err(errno.into()),
    }
    match listener.accept() {
        Ok(accepted) => Ok(Some(accepted)),
        // The peer has gone already, or resources are short.
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(_) => {
            thread::sleep(LOOK);
            Ok(None)
        }
    }
}

/// An unpredictable number.
fn fresh_token() -> Result<u64, Error> {
    getrandom::u64()
        .map_err(|error| Error::System { action: "get random numbers", source: io::Error::other(error.to_string()) })
}

/// The reason for the other end, without this end's address.
fn words(error: &Error) -> String {
    match error {
        Error::Lost { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// A slot for a peer, as long as this lives.
struct Admission<'a> {
    peers: &'a Mutex<Vec<IpAddr>>,
    peer: IpAddr,
}

impl<'a> Admission<'a> {
    fn take(peers: &'a Mutex<Vec<IpAddr>>, peer: IpAddr) -> Option<Admission<'a>> {
        let mut all = peers.lock().unwrap_or_else(PoisonError::into_inner);
        let same = all.iter().filter(|other| **other == peer).count();
        if all.len() >= MAX_PEERS || same >= MAX_PEERS_OF_ADDRESS {
            return None;
        }
        all.push(peer);
        Some(Admission { peers, peer })
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        let mut all = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = all.iter().position(|other| *other == self.peer) {
            all.swap_remove(at);
        }
    }
}
