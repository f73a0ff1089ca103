//! A service for tests: messages are a big-endian u32 length and that many bytes, of which the first says what to do.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use buffer::{Output, SendableFile, SharedFile};
use net::{
    Call, Counters, Frame, FrameError, Lane, Layer, Limits, Peer, SendPath, Server, ServerHandle, Service,
    ServiceError, Transport, Verdict,
};

use crate::{PATIENCE, wait_until};

/// The largest message that the service takes.
pub const MAX_BYTES: usize = 1 << 20;

/// How many bytes `x` answers with at the most to a client without memory.
pub const SCARCE_BYTES: usize = 8192;

/// From this size on messages are called large here.
pub const LARGE_BYTES: usize = 128 << 10;

/// Answers messages by their first byte: `e` echoes; `d` echoes from a blocking thread when [`Echo::gate`] is open, `D`
/// does so whether it is open or not; `x` answers with as many bytes as the u32 after it says; `f` answers with the
/// file, of the length that the u32 after it says; `l` tells the local and the peer's address; `w` tells the worker;
/// `n` tells the connection's number; `s` stays silent; `c` closes; `p` panics; `q` panics on a blocking thread; `r`
/// echoes, together with those `r` that follow it; `b` does so from a blocking thread; `o` echoes and is remembered in
/// [`Echo::seen`]; `h` does so too, and holds its loop until [`Echo::let_go`] lets one more go; `u` echoes and upgrades
/// the channel to what [`Echo::make_layer`] makes; `U` does so from a blocking thread.
#[derive(Default)]
pub struct Echo {
    pub gate: AtomicBool,
    pub file: Mutex<Option<SharedFile>>,
    pub calls: AtomicU64,
    pub disconnected: Mutex<Vec<Peer>>,
    /// Called for each closed connection, before it is noted here.
    pub on_disconnected: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
    /// Whether the peers of closed connections had all answers.
    pub delivered: Mutex<Vec<bool>>,
    pub workers: Mutex<Vec<usize>>,
    /// How many messages each run had.
    pub runs: Mutex<Vec<usize>>,
    /// Where the bulk of large messages is.
    pub bulk_at: usize,
    /// How far from the start of a page the bulk of each large message came.
    pub misalignments: Mutex<Vec<usize>>,
    pub seen: Mutex<Vec<Vec<u8>>>,
    /// How many messages have held their loops, and how many may go on.
    pub held: AtomicU64,
    pub may_go: AtomicU64,
    pub make_layer: Option<fn() -> Box<dyn Layer>>,
    /// Clients that may not use the service.
    pub strangers: Mutex<Vec<IpAddr>>,
}

impl Echo {
    /// Lets a loop go that a message holds, or will hold.
    pub fn let_go(&self) {
        self.may_go.fetch_add(1, Ordering::Release);
    }
}

impl Service for Echo {
    fn frame(&self, unread: &mut [u8]) -> Result<Frame, FrameError> {
        let Some((length, _)) = unread.split_first_chunk::<4>() else { return Ok(Frame::Partial(4)) };
        let end = 4 + u32::from_be_bytes(*length) as usize;
        if end > MAX_BYTES {
            return Err(FrameError::TooLarge { bytes: end, max: MAX_BYTES });
        }
        Ok(if unread.len() < end { Frame::Partial(end) } else { Frame::Message { body: 4..end, consumed: end } })
    }

    fn call(&self, call: &Call<'_>, output: &mut Output) -> Verdict {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mark = call.peer.transport == Transport::Tcp;
        if call.message.len() >= LARGE_BYTES {
            let bulk = call.message[self.bulk_at..].as_ptr().addr();
            self.misalignments.lock().unwrap().push(bulk % 4096);
        }
        match call.message.first() {
            Some(b'd' | b'b') if !call.may_block => return Verdict::WouldBlock(Lane(0)),
            // Another lane, whose calls wait for nothing.
            Some(b'D') if !call.may_block => return Verdict::WouldBlock(Lane(1)),
            Some(b'd') => {
                self.workers.lock().unwrap().push(call.worker);
                wait_until("the gate opens", || self.gate.load(Ordering::Acquire));
                put(output, call.message, mark);
            }
            Some(b'o' | b'h') => {
                self.seen.lock().unwrap().push(call.message.to_vec());
                if call.message[0] == b'h' {
                    let number = self.held.fetch_add(1, Ordering::Relaxed);
                    wait_until("the loop is let go", || self.may_go.load(Ordering::Acquire) > number);
                }
                put(output, call.message, mark);
            }
            Some(b'x') => {
                let length = argument(call.message);
                let bytes = pattern(if call.is_scarce { length.min(SCARCE_BYTES) } else { length });
                put(output, &bytes, mark);
            }
            Some(b'f') => {
                let length = argument(call.message);
                if mark {
                    output.bytes.put(&(length as u32 + 2).to_be_bytes());
                }
                output.bytes.put(b"<");
                output.put_file(self.file.lock().unwrap().clone().unwrap(), 0, length);
                output.bytes.put(b">");
            }
            Some(b'l') => put(output, format!("{} {}", call.peer.local, call.peer.address).as_bytes(), mark),
            Some(b'n') => put(output, call.peer.connection.to_string().as_bytes(), mark),
            Some(b'w') => put(output, &[call.worker as u8], mark),
            Some(b'U') if !call.may_block => return Verdict::WouldBlock(Lane(0)),
            Some(b'u' | b'U') => {
                put(output, call.message, mark);
                return Verdict::Upgrade;
            }
            Some(b's') => return Verdict::Silent,
            Some(b'c') => return Verdict::Close(ServiceError::Bug),
            Some(b'q') if !call.may_block => return Verdict::WouldBlock(Lane(0)),
            Some(b'p' | b'q') => panic!("it was asked for"),
            _ => put(output, call.message, mark),
        }
        Verdict::Answered
    }

    fn bulk_at(&self, _: &[u8]) -> usize {
        4 + self.bulk_at
    }

    fn begins_run(&self, message: &[u8]) -> bool {
        matches!(message.first(), Some(b'r' | b'b'))
    }

    fn continues_run(&self, previous: &[u8], next: &[u8]) -> bool {
        self.begins_run(previous) && previous.first() == next.first()
    }

    fn call_run(&self, call: &Call<'_>, rest: &[&[u8]], output: &mut Output) -> Verdict {
        if call.message.first() == Some(&b'b') && !call.may_block {
            return Verdict::WouldBlock(Lane(0));
        }
        self.runs.lock().unwrap().push(1 + rest.len());
        for message in std::iter::once(&call.message).chain(rest) {
            put(output, message, true);
        }
        Verdict::Answered
    }

    fn layer(&self, _: &Peer) -> Option<Box<dyn Layer>> {
        self.make_layer.map(|make| make())
    }

    fn trusts(&self, address: IpAddr) -> bool {
        !self.strangers.lock().unwrap().contains(&address)
    }

    fn disconnected(&self, peer: &Peer, is_delivered: bool) {
        if let Some(hear) = &*self.on_disconnected.lock().unwrap() {
            hear();
        }
        self.delivered.lock().unwrap().push(is_delivered);
        self.disconnected.lock().unwrap().push(*peer);
    }
}

fn put(output: &mut Output, bytes: &[u8], mark: bool) {
    if mark {
        output.bytes.put(&(bytes.len() as u32).to_be_bytes());
    }
    output.bytes.put(bytes);
}

fn argument(message: &[u8]) -> usize {
    u32::from_be_bytes(message[1..5].try_into().unwrap()) as usize
}

/// The bytes that `x` answers with: no two neighbouring stretches are alike.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index ^ (index >> 8) ^ (index >> 16)) as u8).collect()
}

/// A message with its length before it.
pub fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}

/// A message with a number after its first byte.
pub fn framed_with(kind: u8, argument: usize) -> Vec<u8> {
    let mut body = vec![kind];
    body.extend_from_slice(&(argument as u32).to_be_bytes());
    framed(&body)
}

/// Reads one answer.
pub fn read_answer(stream: &mut impl Read) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("an answer's length");
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut body).expect("an answer's bytes");
    body
}

/// Sends one message and reads one answer.
pub fn exchange(stream: &mut (impl Read + Write), body: &[u8]) -> Vec<u8> {
    stream.write_all(&framed(body)).unwrap();
    read_answer(stream)
}

/// A server of [`Echo`] on one loopback port; it ends with the test.
pub struct TestServer {
    pub echo: Arc<Echo>,
    pub handle: ServerHandle,
    pub address: SocketAddr,
}

impl TestServer {
    pub fn start(limits: Limits, loops: usize) -> TestServer {
        TestServer::start_on("127.0.0.1:0", limits, loops)
    }

    pub fn start_on(address: &str, limits: Limits, loops: usize) -> TestServer {
        TestServer::set_up(address, Server::new(limits).loops(loops), Echo::default())
    }

    pub fn sending(send_path: SendPath) -> TestServer {
        let server = Server::new(Limits::default()).loops(1).send_path(send_path);
        TestServer::set_up("127.0.0.1:0", server, Echo::default())
    }

    pub fn start_with(echo: Echo) -> TestServer {
        TestServer::set_up("127.0.0.1:0", Server::new(Limits::default()).loops(1), echo)
    }

    pub fn set_up(address: &str, mut server: Server, echo: Echo) -> TestServer {
        let address = server.listen(address.parse().unwrap()).unwrap();
        let echo = Arc::new(echo);
        let handle = server.start(Arc::clone(&echo)).unwrap();
        TestServer { echo, handle, address }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A connection from `127.0.0.{last}`, which is a client of its own.
    pub fn connect_from(&self, last: u8) -> TcpStream {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
        connect(&socket, &self.address).unwrap();
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub fn counters(&self) -> Counters {
        self.handle.counters()
    }

    pub fn open_gate(&self) {
        self.echo.gate.store(true, Ordering::Release);
    }

    /// Sets the file that `f` answers with.
    pub fn serve_file(&self, file: File) {
        *self.echo.file.lock().unwrap() = Some(Arc::new(ServedFile { file, is_resident: true }));
    }

    /// Serves a file of which nothing stays in memory.
    pub fn serve_evicted_file(&self, file: File) {
        *self.echo.file.lock().unwrap() = Some(Arc::new(ServedFile { file, is_resident: false }));
    }

    pub fn disconnected(&self) -> usize {
        self.echo.disconnected.lock().unwrap().len()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.open_gate();
        self.handle.shutdown(Duration::from_secs(5));
        self.handle.join();
    }
}

struct ServedFile {
    file: File,
    is_resident: bool,
}

impl AsFd for ServedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl SendableFile for ServedFile {
    fn is_resident(&self, _: u64, _: usize) -> bool {
        self.is_resident
    }

    fn storage(&self) -> u64 {
        1
    }
}
