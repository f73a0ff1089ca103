//! What the service sends on its own account.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc;

use net::{Limits, NetError};

use testing::echo::{self, TestServer, exchange, framed, pattern, read_answer};
use testing::{PATIENCE, wait_until};

/// The number of the connection that a stream is the other end of.
fn number_of(stream: &mut TcpStream) -> u64 {
    String::from_utf8(exchange(stream, b"n")).unwrap().parse().unwrap()
}

#[test]
fn bytes_sent_to_a_connection_arrive_at_its_peer_and_nowhere_else() {
    let server = TestServer::start(Limits::default(), 2);
    let mut streams: Vec<TcpStream> = (0..6).map(|_| server.connect()).collect();
    let numbers: Vec<u64> = streams.iter_mut().map(number_of).collect();
    for (index, &number) in numbers.iter().enumerate() {
        server.handle.send(number, framed(format!("for {index}").as_bytes()));
    }
    for (index, stream) in streams.iter_mut().enumerate() {
        assert_eq!(read_answer(stream), format!("for {index}").as_bytes());
        assert_eq!(exchange(stream, b"e"), b"e");
    }
}

#[test]
fn bytes_for_a_connection_that_is_gone_are_lost() {
    let server = TestServer::start(Limits::default(), 1);
    let mut gone = server.connect();
    let number = number_of(&mut gone);
    drop(gone);
    wait_until("the service hears of it", || server.disconnected() == 1);
    server.handle.send(number, framed(b"too late"));
    assert_eq!(exchange(&mut server.connect(), b"e"), b"e");
}

#[test]
fn connection_that_the_server_opens_carries_what_it_sends_at_once_and_brings_messages() {
    let server = TestServer::start(Limits::default(), 2);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let number = server.handle.connect(listener.local_addr().unwrap()).unwrap();
    let large = pattern(500_000);
    server.handle.send(number, framed(b"hello"));
    server.handle.send(number, framed(&large));
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(read_answer(&mut stream), b"hello");
    assert!(read_answer(&mut stream) == large, "a large message came changed");
    assert_eq!(number_of(&mut stream), number);
}

#[test]
fn service_hears_of_a_connection_that_does_not_come_about() {
    let server = TestServer::start(Limits::default(), 1);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let number = server.handle.connect(nobody).unwrap();
    server.handle.send(number, framed(b"is anybody there?"));
    wait_until("the service hears of it", || server.disconnected() == 1);
    assert_eq!(server.echo.disconnected.lock().unwrap()[0].connection, number);
}

#[test]
fn connections_of_its_own_count_among_those_that_may_be_open() {
    let server = TestServer::start(Limits { max_connections: 1, ..Limits::default() }, 1);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    server.handle.connect(address).unwrap();
    assert!(matches!(server.handle.connect(address), Err(NetError::TooManyConnections)));
    drop(listener.accept().unwrap());
    wait_until("the service hears of the end", || server.disconnected() == 1);
    assert!(server.handle.connect(address).is_ok());
}

#[test]
fn service_that_hears_of_the_end_of_a_connection_may_open_the_next_one_at_once() {
    let server = TestServer::start(Limits { max_connections: 1, ..Limits::default() }, 1);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = mpsc::channel();
    let handle = server.handle.clone();
    let hear = move || tell.send(handle.connect(address).is_ok()).unwrap();
    *server.echo.on_disconnected.lock().unwrap() = Some(Box::new(hear));
    drop(server.connect());
    assert_eq!(told.recv_timeout(PATIENCE), Ok(true));
    *server.echo.on_disconnected.lock().unwrap() = None;
}

#[test]
fn datagram_comes_from_the_servers_own_port_and_can_be_answered() {
    for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
        let server = TestServer::start_on(listen, Limits::default(), 2);
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        let local = format!("127.0.0.1:{}", server.address.port()).parse().unwrap();
        server.handle.send_datagram(local, peer.local_addr().unwrap(), b"hello".to_vec()).unwrap();
        let mut bytes = [0; 100];
        let (length, from) = peer.recv_from(&mut bytes).unwrap();
        assert_eq!((&bytes[..length], from), (&b"hello"[..], local));
        peer.send_to(b"e: answered", from).unwrap();
        let (length, _) = peer.recv_from(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"e: answered");
    }
}

#[test]
fn datagram_from_an_address_that_is_not_served_is_refused() {
    let server = TestServer::start(Limits::default(), 1);
    let other = "127.0.0.2:9".parse().unwrap();
    let error = server.handle.send_datagram(other, server.address, Vec::new()).unwrap_err();
    assert!(matches!(error, NetError::NoDatagramSocket { .. }), "{error}");
}

#[test]
fn bytes_sent_while_the_peer_reads_nothing_wait_behind_its_answers() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    let number = number_of(&mut stream);
    stream.write_all(&echo::framed_with(b'x', 900_000)).unwrap();
    server.handle.send(number, framed(b"behind"));
    let first = read_answer(&mut stream);
    let second = read_answer(&mut stream);
    let mut lengths = [first.len(), second.len()];
    lengths.sort_unstable();
    assert_eq!(lengths, [6, 900_000]);
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
}
