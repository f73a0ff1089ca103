//! In which order connections are served when more of them are ready than one.
//!
//! The loop is held in a call while the clients send, so that the order does not depend on the clock.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Duration;

use net::{Limits, Server};
use rustix::net::{AddressFamily, SocketType};

use testing::echo::{Echo, TestServer, exchange, framed, read_answer};
use testing::{PATIENCE, wait_until};

/// How many messages a client of a busy connection sends at once.
const DEEP: usize = 64;

/// How many messages one turn of a busy connection answers while calm ones are about.
const SHORT_TURN: usize = 16;

fn server(fair: bool) -> TestServer {
    TestServer::set_up("127.0.0.1:0", Server::new(Limits::default()).loops(1).fair(fair), Echo::default())
}

/// A connection from another address of this machine: another client.
fn connect_from(client: [u8; 4], server: &TestServer) -> TcpStream {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::from(client), 0)).unwrap();
    let SocketAddr::V4(address) = server.address else { panic!("the server has an IPv4 address") };
    rustix::net::connect(&socket, &address).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn send_deep(stream: &mut TcpStream, body: &str) {
    stream.write_all(&framed(body.as_bytes()).repeat(DEEP)).unwrap();
}

fn read_deep(stream: &mut TcpStream) {
    for _ in 0..DEEP {
        read_answer(stream);
    }
}

/// Makes a connection a busy one in the loop's eyes.
fn make_busy(stream: &mut TcpStream) {
    send_deep(stream, "o warm-up");
    read_deep(stream);
}

/// Sends a message that holds the loop, and waits until it does.
fn hold(server: &TestServer, stream: &mut TcpStream) {
    server.echo.seen.lock().unwrap().clear();
    stream.write_all(&framed(b"h")).unwrap();
    wait_until("the loop is held", || server.echo.seen.lock().unwrap().len() == 1);
}

/// Sends messages of which the first and the last hold the loop.
fn send_holding(stream: &mut TcpStream) {
    let messages = [&b"h first"[..], b"e", b"e", b"e", b"h last"].map(framed).concat();
    stream.write_all(&messages).unwrap();
}

/// Waits until so many messages have held the loop.
fn wait_for_holds(server: &TestServer, count: u64) {
    wait_until("a message holds the loop", || server.echo.held.load(Ordering::Relaxed) == count);
}

/// Lets the loop go, which was held for longer than an answer waits for others, and waits until it is held again.
fn let_go_until(server: &TestServer, count: u64) {
    std::thread::sleep(Duration::from_millis(1));
    server.echo.let_go();
    wait_for_holds(server, count);
}

#[test]
fn client_has_first_answers_while_the_last_one_is_made() {
    let server = server(true);
    let mut stream = connect_from([127, 0, 0, 2], &server);
    send_holding(&mut stream);
    wait_for_holds(&server, 1);
    let_go_until(&server, 2);
    for body in ["h first", "e", "e", "e"] {
        assert_eq!(read_answer(&mut stream), body.as_bytes());
    }
    server.echo.let_go();
    assert_eq!(read_answer(&mut stream), b"h last");
}

#[test]
fn answers_leave_together_while_another_connection_waits() {
    let server = server(true);
    let mut streams = [2, 3, 4].map(|host| connect_from([127, 0, 0, host], &server));
    let [first, stream, waiting] = &mut streams;
    hold(&server, first);
    send_holding(stream);
    waiting.write_all(&framed(b"e waiting")).unwrap();
    let_go_until(&server, 2);
    let_go_until(&server, 3);
    stream.set_nonblocking(true).unwrap();
    assert_eq!(stream.peek(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    stream.set_nonblocking(false).unwrap();
    server.echo.let_go();
    for body in ["h first", "e", "e", "e", "h last"] {
        assert_eq!(read_answer(stream), body.as_bytes());
    }
    assert_eq!(read_answer(waiting), b"e waiting");
}

/// Lets the loop go and says what it served after the message that held it, once that is `count` messages: each run of
/// equal ones with its length.
fn let_go(server: &TestServer, count: usize) -> Vec<(String, usize)> {
    server.echo.let_go();
    wait_until("everything is served", || server.echo.seen.lock().unwrap().len() == 1 + count);
    let mut runs: Vec<(String, usize)> = Vec::new();
    for body in &server.echo.seen.lock().unwrap()[1..] {
        let body = String::from_utf8(body.clone()).unwrap();
        match runs.last_mut() {
            Some((last, length)) if *last == body => *length += 1,
            _ => runs.push((body, 1)),
        }
    }
    runs
}

#[test]
fn single_request_goes_before_the_busy_connections_that_were_ready_earlier() {
    let server = server(true);
    let mut busy: Vec<TcpStream> = (0..8).map(|_| server.connect()).collect();
    busy.iter_mut().for_each(make_busy);
    let (mut calm, mut holder) = (server.connect(), server.connect());
    assert_eq!(exchange(&mut calm, b"e"), b"e");
    hold(&server, &mut holder);
    for (number, stream) in busy.iter_mut().enumerate() {
        send_deep(stream, &format!("o busy {number}"));
    }
    calm.write_all(&framed(b"o calm")).unwrap();
    let runs = let_go(&server, 8 * DEEP + 1);
    assert_eq!(runs[0], ("o calm".to_owned(), 1), "{runs:?}");
}

#[test]
fn single_request_that_comes_during_a_busy_connections_turn_is_served_right_after_it() {
    let server = server(true);
    let mut busy: Vec<TcpStream> = (0..8).map(|_| server.connect()).collect();
    busy.iter_mut().for_each(make_busy);
    let mut calm = server.connect();
    assert_eq!(exchange(&mut calm, b"e"), b"e");
    // A busy connection holds the loop in its own turn, before its other messages.
    let (first, others) = busy.split_first_mut().unwrap();
    hold(&server, first);
    for (number, stream) in others.iter_mut().enumerate() {
        send_deep(stream, &format!("o busy {number}"));
    }
    calm.write_all(&framed(b"o calm")).unwrap();
    let runs = let_go(&server, 7 * DEEP + 1);
    assert_eq!(runs[0], ("o calm".to_owned(), 1), "{runs:?}");
}

#[test]
fn turns_of_busy_connections_are_short_while_a_calm_one_is_about() {
    let server = server(true);
    let mut busy: Vec<TcpStream> = (0..3).map(|_| server.connect()).collect();
    busy.iter_mut().for_each(make_busy);
    let mut holder = server.connect();
    hold(&server, &mut holder);
    for (number, stream) in busy.iter_mut().enumerate() {
        send_deep(stream, &format!("o busy {number}"));
    }
    let runs = let_go(&server, 3 * DEEP);
    assert_eq!(runs.len(), 3 * DEEP / SHORT_TURN, "{runs:?}");
    assert!(runs.iter().all(|(_, length)| *length == SHORT_TURN), "{runs:?}");
    let mut first_round: Vec<&str> = runs[..3].iter().map(|(body, _)| body.as_str()).collect();
    first_round.sort_unstable();
    assert_eq!(first_round, ["o busy 0", "o busy 1", "o busy 2"]);
}

#[test]
fn client_with_one_busy_connection_gets_every_other_turn_beside_one_with_eight() {
    let server = server(true);
    let mut many: Vec<TcpStream> = (0..8).map(|_| connect_from([127, 0, 0, 1], &server)).collect();
    let mut one = connect_from([127, 0, 0, 2], &server);
    many.iter_mut().for_each(make_busy);
    make_busy(&mut one);
    let mut holder = server.connect();
    hold(&server, &mut holder);
    for stream in &mut many {
        send_deep(stream, "o many");
    }
    send_deep(&mut one, "o one");
    let runs = let_go(&server, 9 * DEEP);
    let place = runs.iter().position(|(body, _)| body == "o one").unwrap();
    assert!(place <= 1, "{runs:?}");
}

#[test]
fn connections_are_served_as_they_became_ready_when_fairness_is_off() {
    let server = server(false);
    let mut busy: Vec<TcpStream> = (0..8).map(|_| server.connect()).collect();
    busy.iter_mut().for_each(make_busy);
    let (mut calm, mut holder) = (server.connect(), server.connect());
    assert_eq!(exchange(&mut calm, b"e"), b"e");
    hold(&server, &mut holder);
    for (number, stream) in busy.iter_mut().enumerate() {
        send_deep(stream, &format!("o busy {number}"));
    }
    calm.write_all(&framed(b"o calm")).unwrap();
    let runs = let_go(&server, 8 * DEEP + 1);
    assert_eq!(runs.len(), 9, "{runs:?}");
    assert_eq!(runs[8].0, "o calm", "{runs:?}");
}

#[test]
fn connection_that_is_calm_again_is_told_of_its_end() {
    let server = server(true);
    let mut stream = server.connect();
    make_busy(&mut stream);
    for _ in 0..100 {
        exchange(&mut stream, b"e");
    }
    make_busy(&mut stream);
    drop(stream);
    wait_until("the service hears of the end", || server.disconnected() == 1);
}
