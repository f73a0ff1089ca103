//! Connections in number, and the end of a server.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use net::{Limits, NetError, Server, Transport};

use testing::echo::{Echo, TestServer, exchange, framed, framed_with, pattern, read_answer};
use testing::{PATIENCE, wait_until};

#[test]
fn connection_beyond_the_limit_is_closed_and_the_next_after_a_close_is_served() {
    let server = TestServer::start(Limits { max_connections: 2, ..Limits::default() }, 2);
    let (mut one, mut two) = (server.connect(), server.connect());
    assert_eq!(exchange(&mut one, b"e"), b"e");
    assert_eq!(exchange(&mut two, b"e"), b"e");
    // Being closed with a message unread resets the connection, which is fine as well.
    assert_eq!(server.connect().read(&mut [0; 1]).unwrap_or(0), 0);
    assert_eq!(server.counters().refused, 1);
    drop(one);
    wait_until("the close is noticed", || server.counters().closed_by_peer == 1);
    assert_eq!(exchange(&mut server.connect(), b"e"), b"e");
}

#[test]
fn connections_are_spread_evenly_over_the_loops() {
    let server = TestServer::start(Limits { blocking_threads: 1, ..Limits::default() }, 4);
    let mut streams: Vec<TcpStream> = (0..40).map(|_| server.connect()).collect();
    for stream in &mut streams {
        assert_eq!(exchange(stream, b"w").len(), 1);
    }
    let mut workers: Vec<u8> = streams.iter_mut().map(|stream| exchange(stream, b"w")[0]).collect();
    workers.sort_unstable();
    assert_eq!(workers.chunk_by(|a, b| a == b).map(<[u8]>::len).collect::<Vec<_>>(), [10; 4]);
}

#[test]
fn shutdown_finishes_what_was_read_and_closes() {
    let server = TestServer::start(Limits::default(), 2);
    let mut stream = server.connect();
    stream.write_all(&[framed(b"d1"), framed_with(b'x', 30_000_000)].concat()).unwrap();
    wait_until("both messages are read", || server.counters().messages == 2);
    server.handle.shutdown(PATIENCE);
    std::thread::sleep(Duration::from_millis(50));
    server.open_gate();
    let (one, other) = (read_answer(&mut stream), read_answer(&mut stream));
    assert!(one == pattern(30_000_000) && other == b"d1");
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    server.handle.join();
    assert_eq!((server.counters().closed_shutdown, server.disconnected()), (1, 1));
    assert!(TcpStream::connect(server.address).is_err(), "the address is still served");
}

#[test]
fn nothing_of_a_server_that_has_ended_holds_the_service() {
    for _ in 0..200 {
        let server = TestServer::start(Limits::default(), 2);
        server.handle.shutdown(Duration::ZERO);
        server.handle.join();
        assert_eq!(Arc::strong_count(&server.echo), 1);
    }
}

#[test]
fn shutdown_sends_whole_answers_though_unread_calls_are_left() {
    let server = TestServer::start(Limits { max_unsent_bytes: 1, ..Limits::default() }, 1);
    let mut stream = server.connect();
    stream.write_all(&framed_with(b'x', 10_000_000)).unwrap();
    wait_until("the message is read", || server.counters().messages == 1);
    stream.write_all(&framed(b"e never read").repeat(100)).unwrap();
    server.handle.shutdown(PATIENCE);
    std::thread::sleep(Duration::from_millis(50));
    assert!(read_answer(&mut stream) == pattern(10_000_000));
    server.handle.join();
}

#[test]
fn shutdown_answers_deferred_datagrams() {
    let server = TestServer::start(Limits::default(), 1);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.send_to(b"d", server.address).unwrap();
    wait_until("the datagram is read", || server.counters().datagrams == 1);
    server.handle.shutdown(PATIENCE);
    server.open_gate();
    assert_eq!(socket.recv(&mut [0; 10]).unwrap(), 1);
    server.handle.join();
}

#[test]
fn shutdown_of_idle_connections_is_quick() {
    // It would be waited for to its end.
    const GRACE: Duration = Duration::from_secs(3600);
    let server = TestServer::start(Limits::default(), 2);
    let mut streams: Vec<TcpStream> = (0..100).map(|_| server.connect()).collect();
    streams.iter_mut().for_each(|stream| assert_eq!(exchange(stream, b"e"), b"e"));
    server.handle.shutdown(GRACE);
    server.handle.join();
}

#[test]
fn what_is_not_finished_after_the_grace_is_dropped() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    stream.write_all(&framed(b"d never answered")).unwrap();
    wait_until("the message is read", || server.counters().messages == 1);
    let start = Instant::now();
    server.handle.shutdown(Duration::from_millis(100));
    let other = server.handle.clone();
    let joining = std::thread::spawn(move || other.join());
    server.handle.join();
    joining.join().unwrap();
    assert!(start.elapsed() >= Duration::from_millis(100));
    assert_eq!((server.counters().open(), server.disconnected()), (0, 1));
    assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0);
}

#[test]
fn server_without_sockets_is_refused() {
    let result = Server::new(Limits::default()).start(Arc::new(Echo::default()));
    assert!(matches!(result, Err(NetError::NoSockets)));
}

#[test]
fn inherited_sockets_are_served() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (tcp, udp) = (listener.local_addr().unwrap(), datagrams.local_addr().unwrap());
    let mut server = Server::new(Limits::default()).loops(1).pinned(true);
    assert_eq!(server.workers(), 1 + Limits::default().blocking_workers());
    assert_eq!(server.inherit(listener.into()).unwrap().transport, Transport::Tcp);
    assert_eq!(server.inherit(datagrams.into()).unwrap().address, udp);
    let service: Arc<dyn net::Service> = Arc::new(Echo::default());
    let handle = server.start(service).unwrap();
    assert_eq!(exchange(&mut TcpStream::connect(tcp).unwrap(), b"e"), b"e");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.send_to(b"e", udp).unwrap();
    assert_eq!(socket.recv(&mut [0; 10]).unwrap(), 1);
    handle.shutdown(PATIENCE);
    handle.join();
}
