//! Channels with a layer: what comes and goes is not what the socket has.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use net::{Delivery, Layer, Limits};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::files::{around, file_of};
use testing::echo::{Echo, TestServer, exchange, framed, framed_with, pattern, read_answer};
use testing::{PATIENCE, wait_until};

/// What the client sends first over a new layer, and what the layer answers.
const HELLO: [u8; 4] = *b"hey?";
const ANSWER: [u8; 4] = *b"yes!";

/// How many bytes the layer takes and gives at a time, and how many it holds of the socket's.
const STEP: usize = 5000;
const RECORD: usize = 16 << 10;

/// Inverts the bytes, behind a greeting. It gives less than it has received and takes less than it is offered.
#[derive(Default)]
struct Inverter {
    greeted: Vec<u8>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Layer for Inverter {
    fn receive(&mut self, socket: BorrowedFd<'_>, place: &mut [u8]) -> io::Result<usize> {
        if self.input.is_empty() {
            let mut record = vec![0; RECORD];
            let (count, _) = recv(socket, &mut record[..], RecvFlags::DONTWAIT)?;
            if count == 0 {
                return Ok(0);
            }
            let missing = (HELLO.len() - self.greeted.len()).min(count);
            self.greeted.extend_from_slice(&record[..missing]);
            if missing > 0 && self.greeted.len() == HELLO.len() {
                if self.greeted != HELLO {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                self.output.extend_from_slice(&ANSWER);
            }
            self.input.extend(record[missing..count].iter().map(|byte| !byte));
        }
        let count = self.input.len().min(place.len()).min(STEP);
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        place[..count].copy_from_slice(&self.input[..count]);
        self.input.drain(..count);
        Ok(count)
    }

    fn send(&mut self, socket: BorrowedFd<'_>, slices: &[IoSlice<'_>], _: bool) -> io::Result<usize> {
        self.flush(socket)?;
        let bytes = slices.iter().flat_map(|slice| slice.iter()).take(STEP).map(|byte| !byte);
        self.output.extend(bytes);
        let taken = self.output.len();
        match self.flush(socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        while !self.output.is_empty() {
            let sent = send(socket, &self.output, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
            self.output.drain(..sent);
        }
        Ok(())
    }

    fn unsent_bytes(&self) -> usize {
        self.output.len()
    }

    fn holds_input(&self) -> bool {
        !self.input.is_empty()
    }

    fn memory_bytes(&self) -> usize {
        self.input.capacity() + self.output.capacity()
    }
}

/// The client's side of it.
struct Inverted(TcpStream);

impl Read for Inverted {
    fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(place)?;
        place[..count].iter_mut().for_each(|byte| *byte = !*byte);
        Ok(count)
    }
}

impl Write for Inverted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let inverted: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        self.0.write(&inverted)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn server() -> TestServer {
    TestServer::start_with(Echo { make_layer: Some(|| Box::new(Inverter::default())), ..Echo::default() })
}

/// Greets over a new layer.
fn greet(mut stream: TcpStream) -> Inverted {
    stream.write_all(&HELLO).unwrap();
    let mut answer = [0; ANSWER.len()];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, ANSWER);
    Inverted(stream)
}

fn upgraded(server: &TestServer) -> Inverted {
    let mut stream = server.connect();
    assert_eq!(exchange(&mut stream, b"e plain"), b"e plain");
    assert_eq!(exchange(&mut stream, b"u"), b"u");
    greet(stream)
}

#[test]
fn calls_and_replies_of_any_size_go_through_the_layer() {
    let server = server();
    let mut stream = upgraded(&server);
    for size in [1, 100, STEP - 4, STEP, RECORD, 300_000, 900_000] {
        let message = [b"e", &pattern(size)[..]].concat();
        assert!(exchange(&mut stream, &message) == message, "{size} bytes came changed");
    }
    let many: Vec<u8> = (0..1000).flat_map(|number| framed_with(b'e', number)).collect();
    stream.write_all(&many).unwrap();
    for number in 0..1000 {
        assert_eq!(read_answer(&mut stream), framed_with(b'e', number)[4..]);
    }
}

#[test]
fn deferred_answers_and_those_to_a_slow_reader_go_through_the_layer() {
    let server = server();
    server.open_gate();
    let mut stream = upgraded(&server);
    assert_eq!(exchange(&mut stream, b"d later"), b"d later");
    stream.write_all(&framed_with(b'x', 1_000_000).repeat(10)).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    for _ in 0..10 {
        assert!(read_answer(&mut stream) == pattern(1_000_000), "an answer came changed");
    }
    assert_eq!(exchange(&mut stream, b"e in step"), b"e in step");
}

#[test]
fn files_are_read_and_never_go_out_around_the_layer() {
    let server = server();
    let bytes = pattern(1_000_000);
    server.serve_file(file_of(&bytes));
    let mut stream = upgraded(&server);
    stream.write_all(&[framed_with(b'f', 1_000_000), framed_with(b'f', 1_000_100)].concat()).unwrap();
    assert!(read_answer(&mut stream) == around(&bytes));
    assert!(read_answer(&mut stream) == around(&[&bytes[..], &[0; 100]].concat()));
    server.serve_evicted_file(file_of(&bytes));
    stream.write_all(&framed_with(b'f', 1_000_000)).unwrap();
    assert!(read_answer(&mut stream) == around(&bytes));
    let counters = server.counters();
    assert_eq!((counters.sendfiles, counters.sendfile_bytes, counters.fetched_bytes), (0, 0, 1_000_000));
}

#[test]
fn blocking_thread_may_ask_for_the_upgrade() {
    let server = server();
    let mut stream = server.connect();
    assert_eq!(exchange(&mut stream, b"U"), b"U");
    let mut stream = greet(stream);
    assert_eq!(exchange(&mut stream, b"e"), b"e");
}

#[test]
fn message_behind_the_request_for_an_upgrade_closes_the_connection() {
    let server = server();
    let mut stream = server.connect();
    stream.write_all(&[framed(b"u"), framed(b"e injected")].concat()).unwrap();
    wait_until("it is closed", || server.counters().closed_bad_frame == 1);
    assert_eq!(server.echo.calls.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[test]
fn upgrade_without_a_layer_and_a_second_one_close_the_connection() {
    let bare = TestServer::start(Limits::default(), 1);
    let mut stream = bare.connect();
    assert_eq!(exchange(&mut stream, b"u"), b"u");
    wait_until("it is closed", || bare.counters().closed_by_service == 1);
    let server = server();
    let mut stream = upgraded(&server);
    assert_eq!(exchange(&mut stream, b"u"), b"u");
    wait_until("it is closed", || server.counters().closed_by_service == 1);
}

#[test]
fn error_of_the_layer_breaks_its_connection_only() {
    let server = server();
    let mut other = upgraded(&server);
    let mut stream = server.connect();
    exchange(&mut stream, b"u");
    stream.write_all(b"what").unwrap();
    wait_until("it is closed", || server.counters().closed_broken == 1);
    assert_eq!(exchange(&mut other, b"e"), b"e");
}

#[test]
fn end_of_the_peer_and_delivery_are_seen_through_the_layer() {
    let server = server();
    let mut stream = upgraded(&server);
    let number = String::from_utf8(exchange(&mut stream, b"n")).unwrap().parse().unwrap();
    wait_until("the peer acknowledges", || server.handle.delivery(number, Instant::now()) == Delivery::Delivered);
    stream.write_all(&framed_with(b'x', 1_000_000)).unwrap();
    stream.0.shutdown(Shutdown::Write).unwrap();
    assert!(read_answer(&mut stream) == pattern(1_000_000));
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    wait_until("it is closed", || server.counters().closed_by_peer == 1);
}

#[test]
fn server_that_ends_sends_what_a_layer_holds() {
    let server = server();
    let mut stream = upgraded(&server);
    stream.write_all(&framed_with(b'x', 900_000).repeat(4)).unwrap();
    wait_until("the calls are answered", || server.echo.calls.load(std::sync::atomic::Ordering::Relaxed) == 6);
    server.handle.shutdown(PATIENCE);
    for _ in 0..4 {
        assert!(read_answer(&mut stream) == pattern(900_000));
    }
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn datagram_gets_no_upgrade() {
    let server = server();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect(server.address).unwrap();
    socket.send(b"u").unwrap();
    wait_until("it is dropped", || server.counters().datagrams_dropped == 1);
    socket.send(b"e").unwrap();
    let mut answer = [0; 10];
    assert_eq!(socket.recv(&mut answer).unwrap(), 1);
}
