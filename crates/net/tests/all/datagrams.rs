//! Messages over UDP.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use net::Limits;

use testing::echo::{TestServer, framed_with, pattern};
use testing::{PATIENCE, wait_until};

fn socket_to(address: SocketAddr) -> UdpSocket {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect(address).unwrap();
    socket
}

fn exchange(socket: &UdpSocket, message: &[u8]) -> Vec<u8> {
    socket.send(message).unwrap();
    receive(socket)
}

fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut answer = vec![0; 65_536];
    let length = socket.recv(&mut answer).expect("an answer");
    answer.truncate(length);
    answer
}

#[test]
fn datagrams_up_to_the_largest_are_answered() {
    let server = TestServer::start(Limits::default(), 2);
    let socket = socket_to(server.address);
    for size in [1, 100, 1472, 1473, 9000, 65_507] {
        let mut message = pattern(size);
        message[0] = b'e';
        assert!(exchange(&socket, &message) == message, "a datagram of {size} bytes came back changed");
    }
}

#[test]
fn batch_of_datagrams_is_answered_completely() {
    let server = TestServer::start(Limits::default(), 2);
    let socket = socket_to(server.address);
    for round in 0..20 {
        let sent: Vec<Vec<u8>> = (0..64).map(|number| format!("e{round}-{number:02}").into_bytes()).collect();
        sent.iter().for_each(|message| {
            socket.send(message).unwrap();
        });
        let mut answers: Vec<Vec<u8>> = sent.iter().map(|_| receive(&socket)).collect();
        answers.sort_unstable();
        assert_eq!(answers, sent);
    }
    wait_until("the datagrams are counted", || server.counters().datagrams == 20 * 64);
}

#[test]
fn answer_comes_from_the_address_that_was_asked() {
    let server = TestServer::start_on("0.0.0.0:0", Limits::default(), 1);
    let address = SocketAddr::new(IpAddr::from([127, 0, 0, 5]), server.address.port());
    // A connected socket gets datagrams from this address only.
    let socket = socket_to(address);
    let told = String::from_utf8(exchange(&socket, b"l")).unwrap();
    assert_eq!(told, format!("{address} {}", socket.local_addr().unwrap()));
}

#[test]
fn ipv6_answer_comes_from_the_address_that_was_asked() {
    if UdpSocket::bind("[::1]:0").is_err() {
        eprintln!("SKIPPED ipv6_answer_comes_from_the_address_that_was_asked: there is no IPv6 loopback");
        return;
    }
    let server = TestServer::start_on("[::]:0", Limits::default(), 1);
    let address = SocketAddr::new("::1".parse().unwrap(), server.address.port());
    let socket = socket_to(address);
    let told = String::from_utf8(exchange(&socket, b"l")).unwrap();
    assert_eq!(told, format!("{address} {}", socket.local_addr().unwrap()));
}

#[test]
fn deferred_datagram_is_answered_from_the_address_that_was_asked() {
    let server = TestServer::start_on("0.0.0.0:0", Limits::default(), 1);
    let socket = socket_to(SocketAddr::new(IpAddr::from([127, 0, 0, 5]), server.address.port()));
    socket.send(b"d slow").unwrap();
    assert_eq!(exchange(&socket, b"e quick"), b"e quick");
    server.open_gate();
    assert_eq!(receive(&socket), b"d slow");
}

#[test]
fn datagrams_in_flight_stop_the_reading_at_the_limit_until_they_are_answered() {
    let limits = Limits { max_datagrams_in_flight: 2, blocking_threads: 1, ..Limits::default() };
    let server = TestServer::start(limits, 1);
    let socket = socket_to(server.address);
    socket.send(b"d1").unwrap();
    wait_until("the first is read", || server.counters().datagrams == 1);
    socket.send(b"d2").unwrap();
    wait_until("the second is read", || server.counters().datagrams == 2);
    socket.send(b"e").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(server.counters().datagrams, 2);
    server.open_gate();
    let mut answers = [receive(&socket), receive(&socket), receive(&socket)];
    answers.sort_unstable();
    assert_eq!(answers, [b"d1".to_vec(), b"d2".to_vec(), b"e".to_vec()]);
}

#[test]
fn answer_that_fits_no_datagram_is_dropped_and_counted() {
    let server = TestServer::start(Limits::default(), 1);
    let socket = socket_to(server.address);
    socket.send(&framed_with(b'x', 65_508)[4..]).unwrap();
    assert_eq!(exchange(&socket, b"e"), b"e");
    assert_eq!(server.counters().datagrams_dropped, 1);
}

#[test]
fn hostile_and_panicking_datagrams_are_dropped_and_counted() {
    let server = TestServer::start(Limits::default(), 1);
    let socket = socket_to(server.address);
    for message in [b"c", b"p", b"q"] {
        socket.send(message).unwrap();
    }
    assert_eq!(exchange(&socket, b"e"), b"e");
    wait_until("all three are counted", || server.counters().datagrams_dropped == 3);
}
