//! Messages over TCP.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use net::Limits;

use testing::echo::{self, TestServer, exchange, framed, framed_with, pattern, read_answer};
use testing::wait_until;

#[test]
fn message_split_at_any_byte_is_answered() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    let bytes = framed(b"e: some message");
    for split in 1..bytes.len() {
        stream.write_all(&bytes[..split]).unwrap();
        std::thread::sleep(Duration::from_millis(2));
        stream.write_all(&bytes[split..]).unwrap();
        assert_eq!(read_answer(&mut stream), b"e: some message");
    }
}

#[test]
fn message_that_comes_byte_by_byte_is_answered() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    for byte in framed(b"e: byte by byte") {
        stream.write_all(&[byte]).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(read_answer(&mut stream), b"e: byte by byte");
}

#[test]
fn many_messages_in_one_packet_are_answered_in_order() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    let bodies: Vec<String> = (0..1000).map(|number| format!("e{number}")).collect();
    let bytes: Vec<u8> = bodies.iter().flat_map(|body| framed(body.as_bytes())).collect();
    stream.write_all(&bytes).unwrap();
    for body in &bodies {
        assert_eq!(read_answer(&mut stream), body.as_bytes());
    }
    assert_eq!(server.counters().messages, 1000);
}

#[test]
fn messages_of_every_size_class_come_back_whole() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    for size in [1, 100, 4096, 16_000, 17_000, 65_536, 262_100, 262_200, 600_000, echo::MAX_BYTES - 4] {
        let mut body = pattern(size);
        body[0] = b'e';
        assert!(exchange(&mut stream, &body) == body, "a message of {size} bytes came back changed");
    }
}

#[test]
fn stream_of_large_messages_with_small_ones_between_stays_in_step() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    let mut writer = stream.try_clone().unwrap();
    let sizes: Vec<usize> = (0..200).map(|number| 1 + (number * 7919 * 13) % 300_000 * (number % 3)).collect();
    let sent = sizes.clone();
    let writing = std::thread::spawn(move || {
        for size in sent {
            let mut body = pattern(size);
            body[0] = b'e';
            writer.write_all(&framed(&body)).unwrap();
        }
    });
    for size in sizes {
        let answer = read_answer(&mut stream);
        assert!(
            answer.len() == size && answer[1..] == pattern(size)[1..],
            "a message of {size} bytes came back changed"
        );
    }
    writing.join().unwrap();
}

#[test]
fn answers_come_after_the_peer_has_closed_its_side() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    stream.write_all(&[framed(b"e1"), framed(b"d2")].concat()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_answer(&mut stream), b"e1");
    server.open_gate();
    assert_eq!(read_answer(&mut stream), b"d2");
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    wait_until("the close is counted", || server.counters().closed_by_peer == 1);
    wait_until("the service hears of it", || server.disconnected() == 1);
}

#[test]
fn silent_verdict_sends_nothing() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    stream.write_all(&framed(b"s")).unwrap();
    assert_eq!(exchange(&mut stream, b"e"), b"e");
}

#[test]
fn close_verdict_closes_after_the_earlier_answers() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    stream.write_all(&[framed(b"e1"), framed(b"c")].concat()).unwrap();
    assert_eq!(read_answer(&mut stream), b"e1");
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    wait_until("the close is counted", || server.counters().closed_by_service == 1);
}

#[test]
fn bytes_that_make_no_message_close_the_connection() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    stream.write_all(&[0xff; 4]).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    wait_until("the close is counted", || server.counters().closed_bad_frame == 1);
}

#[test]
fn message_beyond_the_limit_closes_the_connection() {
    let server = TestServer::start(Limits { max_message_bytes: 1000, ..Limits::default() }, 1);
    let mut stream = server.connect();
    assert_eq!(exchange(&mut stream, &[b'e'; 996]), [b'e'; 996]);
    stream.write_all(&1001u32.to_be_bytes()).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    wait_until("the close is counted", || server.counters().closed_bad_frame == 1);
}

#[test]
fn panic_of_the_service_costs_one_connection_only() {
    let server = TestServer::start(Limits::default(), 1);
    let (mut one, mut other) = (server.connect(), server.connect());
    one.write_all(&[framed(b"e1"), framed(b"p")].concat()).unwrap();
    assert_eq!(read_answer(&mut one), b"e1");
    assert_eq!(one.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(exchange(&mut other, b"e"), b"e");
    assert_eq!(server.counters().closed_panic, 1);
}

#[test]
fn silent_connection_is_closed_after_the_idle_timeout_and_a_busy_one_is_not() {
    const IDLE: Duration = Duration::from_millis(200);
    // Where one side has no processor for that long, the busy connection is silent too: then this is tried again.
    wait_until("a busy connection outlives a silent one", || {
        let server = TestServer::start(Limits { idle_timeout: Some(IDLE), ..Limits::default() }, 1);
        let began = Instant::now();
        let (mut idle, mut busy, mut since) = (server.connect(), server.connect(), began);
        let closing = std::thread::spawn(move || (idle.read(&mut [0; 1]).unwrap(), began.elapsed()));
        while !closing.is_finished() || began.elapsed() < 3 * IDLE {
            let asked = Instant::now();
            if busy.write_all(&framed(b"e")).is_err() || busy.read_exact(&mut [0; 5]).is_err() {
                assert!(since.elapsed() >= IDLE, "a connection is closed that was not silent");
                return false;
            }
            since = asked;
            std::thread::sleep(Duration::from_millis(30));
        }
        let (read, lived) = closing.join().unwrap();
        assert!(read == 0 && lived >= IDLE, "a silent connection is closed after {lived:?}");
        wait_until("the close is counted", || server.counters().closed_idle >= 1);
        true
    });
}

#[test]
fn ipv6_connection_is_served_from_its_own_address() {
    let mut setup = net::Server::new(Limits::default()).loops(1);
    if let Err(error) = setup.listen_tcp("[::1]:0".parse().unwrap()) {
        eprintln!("SKIPPED ipv6_connection_is_served_from_its_own_address: {error}");
        return;
    }
    let server = TestServer::start_on("[::]:0", Limits::default(), 1);
    let mut stream = std::net::TcpStream::connect(("::1", server.address.port())).unwrap();
    let told = String::from_utf8(exchange(&mut stream, b"l")).unwrap();
    assert_eq!(told, format!("[::1]:{} {}", server.address.port(), stream.local_addr().unwrap()));
}

#[test]
fn unread_answers_stop_the_reading_at_the_limit_and_none_is_lost() {
    const ANSWER_BYTES: usize = 100_000;
    const ANSWERS: usize = 2000;
    const LIMIT: usize = 1 << 20;
    let limits = Limits { max_unsent_bytes: LIMIT, ..Limits::default() };
    let server = TestServer::start(limits, 1);
    let mut stream = server.connect();
    stream.write_all(&framed_with(b'x', ANSWER_BYTES).repeat(ANSWERS)).unwrap();
    let (mut messages, mut held) = (0, 0);
    // A loop that has no processor for a while stands still too, and then holds less than the limit.
    wait_until("the server stops answering", || {
        std::thread::sleep(Duration::from_millis(200));
        let (now, last) = (server.counters(), messages);
        messages = now.messages;
        held = (messages * ANSWER_BYTES as u64).saturating_sub(now.bytes_out);
        messages == last && held > LIMIT as u64
    });
    assert!(held <= (2 << 20) + 2 * ANSWER_BYTES as u64, "the server holds {held} bytes of answers");
    let mut other = server.connect();
    assert_eq!(exchange(&mut other, b"e"), b"e", "another connection is stalled");
    let expected = pattern(ANSWER_BYTES);
    for _ in 0..ANSWERS {
        assert!(read_answer(&mut stream) == expected, "an answer came changed");
    }
    assert_eq!(server.counters().closed(), 0);
}
