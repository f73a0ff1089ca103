//! Answers with parts of files in them.

use std::fs::File;
use std::io::Write;
use std::net::UdpSocket;
use std::time::Duration;

use net::Limits;

use testing::echo::{TestServer, framed, framed_with, pattern, read_answer};
use testing::{PATIENCE, wait_until};

/// A file without a name that holds `bytes`.
pub fn file_of(bytes: &[u8]) -> File {
    let path = std::env::temp_dir().join(format!("wharf-net-{}-{:p}", std::process::id(), bytes));
    let mut file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.write_all(bytes).unwrap();
    file
}

pub fn around(file: &[u8]) -> Vec<u8> {
    [b"<", file, b">"].concat()
}

#[test]
fn file_goes_out_between_the_bytes_around_it() {
    let server = TestServer::start(Limits::default(), 1);
    let bytes = pattern(300_000);
    server.serve_file(file_of(&bytes));
    let mut stream = server.connect();
    let calls = [framed(b"e1"), framed_with(b'f', 300_000), framed(b"e2"), framed_with(b'f', 0), framed_with(b'f', 10)];
    stream.write_all(&calls.concat()).unwrap();
    assert_eq!(read_answer(&mut stream), b"e1");
    assert!(read_answer(&mut stream) == around(&bytes));
    assert_eq!(read_answer(&mut stream), b"e2");
    assert_eq!(read_answer(&mut stream), b"<>");
    assert_eq!(read_answer(&mut stream), around(&bytes[..10]));
}

#[test]
fn many_file_answers_to_a_slow_reader_come_whole() {
    let server = TestServer::start(Limits::default(), 1);
    let bytes = pattern(1_000_000);
    server.serve_file(file_of(&bytes));
    let mut stream = server.connect();
    stream.write_all(&framed_with(b'f', 1_000_000).repeat(40)).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..40 {
        assert!(read_answer(&mut stream) == around(&bytes), "an answer came changed");
    }
}

#[test]
fn file_that_became_shorter_is_filled_up_with_zeros() {
    let server = TestServer::start(Limits::default(), 1);
    let bytes = pattern(1000);
    server.serve_file(file_of(&bytes));
    let mut stream = server.connect();
    stream.write_all(&[framed_with(b'f', 200_000), framed(b"e in step")].concat()).unwrap();
    let mut expected = bytes;
    expected.resize(200_000, 0);
    assert!(read_answer(&mut stream) == around(&expected));
    assert_eq!(read_answer(&mut stream), b"e in step");
}

#[test]
fn evicted_bytes_are_read_by_a_thread_that_may_wait() {
    let server = TestServer::start(Limits::default(), 1);
    let bytes = pattern(1_000_000);
    server.serve_evicted_file(file_of(&bytes));
    let mut stream = server.connect();
    let calls = [framed(b"e1"), framed_with(b'f', 1_000_000), framed_with(b'f', 1_000_100), framed(b"e2")];
    stream.write_all(&calls.concat()).unwrap();
    assert_eq!(read_answer(&mut stream), b"e1");
    assert!(read_answer(&mut stream) == around(&bytes));
    assert!(read_answer(&mut stream) == around(&[&bytes[..], &[0; 100]].concat()));
    assert_eq!(read_answer(&mut stream), b"e2");
    let counters = server.counters();
    assert_eq!((counters.sendfile_bytes, counters.fetched_bytes, counters.zero_bytes), (0, 2_000_000, 100));
}

#[test]
fn connection_that_waits_for_evicted_bytes_can_be_closed() {
    let server = TestServer::start(Limits::default(), 1);
    server.serve_evicted_file(file_of(&pattern(1_000_000)));
    for _ in 0..50 {
        let mut stream = server.connect();
        stream.write_all(&framed_with(b'f', 1_000_000).repeat(4)).unwrap();
    }
    wait_until("all connections are over", || server.disconnected() == 50);
}

#[test]
fn file_without_sendfile_is_read() {
    let server = TestServer::start(Limits::default(), 1);
    let path = "/proc/self/environ";
    let bytes = std::fs::read(path).unwrap();
    server.serve_file(File::open(path).unwrap());
    let mut stream = server.connect();
    stream.write_all(&framed_with(b'f', bytes.len() + 100)).unwrap();
    assert_eq!(read_answer(&mut stream), around(&[&bytes[..], &[0; 100]].concat()));
}

#[test]
fn file_that_cannot_be_read_closes_the_connection() {
    let server = TestServer::start(Limits::default(), 1);
    server.serve_file(File::open("/").unwrap());
    let mut stream = server.connect();
    stream.write_all(&framed_with(b'f', 10)).unwrap();
    wait_until("the close is counted", || server.counters().closed_file_error == 1);
}

#[test]
fn datagram_answer_holds_the_file_and_zeros_for_what_is_missing() {
    let server = TestServer::start(Limits::default(), 1);
    let bytes = pattern(8192);
    server.serve_file(file_of(&bytes));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect(server.address).unwrap();
    let mut answer = vec![0; 65_536];
    socket.send(&framed_with(b'f', 8192)[4..]).unwrap();
    let length = socket.recv(&mut answer).unwrap();
    assert!(answer[..length] == around(&bytes));
    socket.send(&framed_with(b'f', 10_000)[4..]).unwrap();
    let length = socket.recv(&mut answer).unwrap();
    let mut expected = bytes;
    expected.resize(10_000, 0);
    assert!(answer[..length] == around(&expected));
}
