//! Clients that take as much memory, or as many connections, as they can get.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

use net::{Counters, Limits};

use testing::echo::{self, MAX_BYTES, TestServer, exchange, framed, framed_with, read_answer};
use testing::wait_until;

const MIB: usize = 1 << 20;

/// How many connections the greedy client has.
const MANY: usize = 40;

/// Little memory: a client has 2 MiB of it.
fn tight() -> Limits {
    Limits { memory_bytes: 8 * MIB, ..Limits::default() }
}

/// Waits until the server has come to rest.
fn settled(server: &TestServer) -> Counters {
    let mut before = server.counters();
    wait_until("the server comes to rest", || {
        std::thread::sleep(Duration::from_millis(100));
        let (now, last) = (server.counters(), before);
        before = now;
        (now.messages, now.bytes_in, now.bytes_out) == (last.messages, last.bytes_in, last.bytes_out)
    });
    before
}

#[test]
fn unfinished_messages_take_no_more_than_the_clients_share_and_all_are_answered_in_the_end() {
    let server = TestServer::start(tight(), 2);
    let mut greedy: Vec<TcpStream> = (0..MANY).map(|_| server.connect_from(2)).collect();
    let message = framed(&vec![b'e'; MAX_BYTES - 4]);
    let (first, last) = message.split_at(MIB / 2);
    for stream in &mut greedy {
        // What the server does not receive stays in the sockets.
        stream.write_all(&first[..MIB / 4]).unwrap();
    }
    let received = settled(&server).bytes_in as usize;
    assert!(received < 4 * MIB, "{received} bytes are held of a client that may have 2 MiB");
    assert_eq!(exchange(&mut server.connect_from(2), b"e"), b"e", "its other connections are served in small steps");
    let mut other = server.connect_from(3);
    assert_eq!(exchange(&mut other, &vec![b'e'; MAX_BYTES - 4]).len(), MAX_BYTES - 4, "other clients notice nothing");
    let rest = [&first[MIB / 4..], last].concat();
    let answers = std::thread::scope(|scope| {
        let readers: Vec<_> = greedy
            .iter_mut()
            .map(|stream| {
                let mut sender = stream.try_clone().unwrap();
                let rest = &rest;
                scope.spawn(move || sender.write_all(rest).unwrap());
                scope.spawn(move || read_answer(stream).len())
            })
            .collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<usize>>()
    });
    assert_eq!(answers, [MAX_BYTES - 4; MANY]);
}

#[test]
fn answers_that_nobody_takes_take_no_more_than_the_clients_share_and_are_complete_in_the_end() {
    let server = TestServer::start(tight(), 2);
    let mut greedy: Vec<TcpStream> = (0..MANY).map(|_| server.connect_from(2)).collect();
    const CALLS: usize = 10;
    for stream in &mut greedy {
        stream.write_all(&framed_with(b'x', MIB).repeat(CALLS)).unwrap();
    }
    settled(&server);
    assert_eq!(exchange(&mut server.connect_from(2), b"e"), b"e");
    let mut other = server.connect_from(3);
    assert_eq!(exchange(&mut other, &framed_with(b'x', MIB)[4..]).len(), MIB, "other clients get whole answers");
    let mut lengths = Vec::new();
    for stream in &mut greedy {
        lengths.extend((0..CALLS).map(|_| read_answer(stream).len()));
    }
    let short = lengths.iter().filter(|length| **length < MIB).count();
    assert!(short > 0 && lengths.iter().all(|length| [echo::SCARCE_BYTES, MIB].contains(length)), "{lengths:?}");
}

#[test]
fn calls_that_wait_are_all_answered_though_their_client_has_no_room() {
    let server = TestServer::start(tight(), 1);
    let mut greedy: Vec<TcpStream> = (0..MANY).map(|_| server.connect_from(2)).collect();
    const CALLS: usize = 20;
    let call = [&b"d"[..], &[0; 50_000]].concat();
    for stream in &mut greedy {
        let mut sender = stream.try_clone().unwrap();
        let calls = framed(&call).repeat(CALLS);
        std::thread::spawn(move || sender.write_all(&calls).unwrap());
    }
    let received = settled(&server).bytes_in as usize;
    assert!(received < 8 * MIB, "{received} bytes are held of a client that may have 2 MiB");
    server.open_gate();
    for stream in &mut greedy {
        (0..CALLS).for_each(|_| assert_eq!(read_answer(stream).len(), call.len()));
    }
}

#[test]
fn large_message_of_a_client_without_exports_closes_its_connection() {
    let server = TestServer::start(Limits::default(), 1);
    server.echo.strangers.lock().unwrap().push(IpAddr::from([127, 0, 0, 2]));
    let mut stranger = server.connect_from(2);
    assert_eq!(exchange(&mut stranger, &[b'e'; 60_000]).len(), 60_000);
    stranger.write_all(&framed(&[b'e'; 70_000])[..1000]).unwrap();
    assert_eq!(stranger.read(&mut [0; 1]).unwrap_or(0), 0);
    wait_until("the close is counted", || server.counters().closed_bad_frame == 1);
    assert_eq!(exchange(&mut server.connect_from(3), &[b'e'; 70_000]).len(), 70_000);
    server.echo.strangers.lock().unwrap().clear();
    assert_eq!(exchange(&mut server.connect_from(2), &[b'e'; 70_000]).len(), 70_000, "it has an export now");
}

#[test]
fn client_has_its_part_of_the_connections_and_others_get_in() {
    let limits = Limits { max_connections: 64, ..Limits::default() };
    let server = TestServer::start(limits, 2);
    let mut greedy: Vec<TcpStream> = (0..30).map(|_| server.connect_from(2)).collect();
    wait_until("the connections beyond its part are refused", || server.counters().refused == 14);
    assert_eq!(exchange(&mut server.connect_from(3), b"e"), b"e");
    let is_served =
        |stream: &mut TcpStream| stream.write_all(&framed(b"e")).is_ok() && stream.read_exact(&mut [0; 5]).is_ok();
    assert_eq!(greedy.iter_mut().map(is_served).filter(|served| *served).count(), 16);
    drop(greedy);
    wait_until("they are closed", || server.counters().open() == 0);
    assert_eq!(exchange(&mut server.connect_from(2), b"e"), b"e", "what is closed makes room");
}

#[test]
fn silent_connections_of_strangers_make_room_when_too_many_are_open() {
    let limits = Limits { max_connections: 20, max_connections_per_client: Some(20), ..Limits::default() };
    let server = TestServer::start(limits, 2);
    server.echo.strangers.lock().unwrap().push(IpAddr::from([127, 0, 0, 2]));
    let mut friend = server.connect_from(3);
    assert_eq!(exchange(&mut friend, b"e"), b"e");
    let strangers: Vec<TcpStream> = (0..19).map(|_| server.connect_from(2)).collect();
    wait_until("all are open", || server.counters().open() == 20);
    std::thread::sleep(Duration::from_millis(600));
    wait_until("another client gets in", || {
        let mut late = server.connect_from(4);
        late.write_all(&framed(b"e")).is_ok() && late.read_exact(&mut [0; 5]).is_ok()
    });
    assert_eq!(exchange(&mut friend, b"e"), b"e", "a client with exports keeps its connection");
    assert!(server.counters().closed_evicted > 0);
    drop(strangers);
}

#[test]
fn message_that_nothing_comes_of_closes_its_connection_and_one_that_grows_does_not() {
    const STALL: Duration = Duration::from_millis(400);
    // Where one side has no processor for that long, the message does not grow: then this is tried again.
    wait_until("a message grows and another one does not", || {
        let server = TestServer::start(Limits { stall_timeout: STALL, ..Limits::default() }, 1);
        let (mut half, mut slow, mut calm) = (server.connect(), server.connect(), server.connect());
        let (mut since, mut received) = (Instant::now(), 0);
        for byte in &framed(&[b'e'; 20]) {
            let sent = Instant::now();
            received += 1;
            // Closed by the server before all of it was sent.
            let is_sent = slow.write_all(&[*byte]).is_ok();
            let is_closed = || server.counters().closed_stalled > 0;
            wait_until("the byte is received", || server.counters().bytes_in == received || is_closed());
            if !is_sent || is_closed() {
                assert!(since.elapsed() >= STALL, "a connection is closed whose message grew");
                return false;
            }
            since = sent;
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(read_answer(&mut slow).len(), 20);
        half.write_all(&framed(b"e")[..3]).unwrap();
        assert_eq!(half.read(&mut [0; 1]).unwrap_or(0), 0);
        wait_until("the close is counted", || server.counters().closed_stalled == 1);
        assert_eq!(exchange(&mut calm, b"e"), b"e", "a connection without a message in progress may be silent");
        true
    });
}

#[test]
fn connection_whose_answers_are_not_taken_is_closed_only_when_its_client_has_no_room() {
    let limits = Limits { stall_timeout: Duration::from_millis(300), max_unsent_bytes: 64 * MIB, ..tight() };
    let server = TestServer::start(limits, 1);
    let (mut greedy, mut modest) = (server.connect_from(2), server.connect_from(3));
    greedy.write_all(&framed_with(b'x', 30 * MIB)).unwrap();
    modest.write_all(&framed_with(b'x', MIB).repeat(8)).unwrap();
    wait_until("the greedy one is closed", || server.counters().closed_stalled == 1);
    let mut answers = 0;
    while answers < 8 {
        assert!(read_answer(&mut modest).len() >= echo::SCARCE_BYTES);
        answers += 1;
    }
    assert_eq!(server.counters().closed_stalled, 1);
}
