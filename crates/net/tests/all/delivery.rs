//! What the server knows of the answers that it has sent.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Instant;

use net::{Delivery, Limits};

use testing::echo::{TestServer, exchange, framed_with};
use testing::wait_until;

/// More than sockets hold whose owners do not read.
const LARGE: usize = 900_000;

fn number_of(stream: &mut TcpStream) -> u64 {
    String::from_utf8(exchange(stream, b"n")).unwrap().parse().unwrap()
}

/// A connection whose peer has asked for so much that it does not take.
fn stuck(server: &TestServer) -> (TcpStream, u64) {
    let mut stream = server.connect();
    let number = number_of(&mut stream);
    for _ in 0..2 {
        stream.write_all(&framed_with(b'x', LARGE)).unwrap();
    }
    let mut first = [0; 1];
    stream.read_exact(&mut first).unwrap();
    (stream, number)
}

#[test]
fn answers_that_the_peer_takes_are_delivered_while_the_connection_is_open() {
    let server = TestServer::start(Limits::default(), 2);
    let mut stream = server.connect();
    let number = number_of(&mut stream);
    wait_until("the peer acknowledges", || server.handle.delivery(number, Instant::now()) == Delivery::Delivered);
}

#[test]
fn answers_that_the_peer_does_not_take_are_pending_until_it_sends_something() {
    let server = TestServer::start(Limits::default(), 2);
    let (mut stream, number) = stuck(&server);
    // What the server still receives of the second message would be taken for something that the peer sent later.
    wait_until("the server has read all", || {
        server.echo.calls.load(Ordering::Relaxed) == 3
            && server.handle.delivery(number, Instant::now()) == Delivery::Pending
    });
    let asked = Instant::now();
    assert_eq!(server.handle.delivery(number, asked), Delivery::Pending);
    stream.write_all(&[0, 0]).unwrap();
    wait_until("the server hears the peer", || server.handle.delivery(number, asked) == Delivery::Delivered);
}

#[test]
fn answers_over_a_connection_that_is_gone_are_lost() {
    let server = TestServer::start(Limits::default(), 1);
    let is_lost = |number| server.handle.delivery(number, Instant::now()) == Delivery::Lost;
    // While its loop has no processor, nothing is known of a connection.
    wait_until("the loop answers", || is_lost(77 << 16));
    let (stream, number) = stuck(&server);
    // What it has not read makes the close a reset.
    drop(stream);
    wait_until("the connection is gone", || is_lost(number));
}

#[test]
fn service_is_told_whether_the_peer_had_all_answers_when_it_closed() {
    for is_stuck in [false, true] {
        let server = TestServer::start(Limits::default(), 1);
        let mut stream = if is_stuck { stuck(&server).0 } else { server.connect() };
        if !is_stuck {
            number_of(&mut stream);
        }
        drop(stream);
        wait_until("the service hears of it", || server.disconnected() == 1);
        assert_eq!(*server.echo.delivered.lock().unwrap(), [!is_stuck]);
    }
}
