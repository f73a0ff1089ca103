//! Calls that blocking threads answer.

use std::io::{Read, Write};
use std::time::Duration;

use net::Limits;

use testing::echo::{TestServer, exchange, framed, read_answer};
use testing::wait_until;

#[test]
fn deferred_call_stalls_neither_its_connection_nor_others() {
    let server = TestServer::start(Limits::default(), 1);
    let (mut one, mut other) = (server.connect(), server.connect());
    one.write_all(&[framed(b"d slow"), framed(b"e quick")].concat()).unwrap();
    assert_eq!(read_answer(&mut one), b"e quick");
    assert_eq!(exchange(&mut other, b"e"), b"e");
    server.open_gate();
    assert_eq!(read_answer(&mut one), b"d slow");
    assert_eq!(server.counters().deferred, 1);
}

#[test]
fn deferred_calls_run_on_workers_after_those_of_the_loops() {
    let server = TestServer::start(Limits { blocking_threads: 3, spare_blocking_threads: 0, ..Limits::default() }, 2);
    let mut stream = server.connect();
    stream.write_all(&framed(b"d").repeat(20)).unwrap();
    wait_until("three threads are at it", || server.echo.workers.lock().unwrap().len() == 3);
    server.open_gate();
    for _ in 0..20 {
        read_answer(&mut stream);
    }
    let mut workers = server.echo.workers.lock().unwrap().clone();
    workers.sort_unstable();
    workers.dedup();
    assert_eq!(workers, [2, 3, 4]);
}

#[test]
fn calls_in_flight_stop_the_reading_at_the_limit_and_none_is_lost() {
    let limits = Limits { max_in_flight: 4, blocking_threads: 2, ..Limits::default() };
    let server = TestServer::start(limits, 1);
    let mut stream = server.connect();
    let bodies: Vec<String> = (0..100).map(|number| format!("d{number:03}")).collect();
    stream.write_all(&bodies.iter().flat_map(|body| framed(body.as_bytes())).collect::<Vec<u8>>()).unwrap();
    wait_until("the limit is reached", || server.counters().messages == 4);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(server.counters().messages, 4);
    server.open_gate();
    let mut answers: Vec<Vec<u8>> = bodies.iter().map(|_| read_answer(&mut stream)).collect();
    answers.sort_unstable();
    assert!(answers.iter().eq(bodies.iter().map(|body| body.as_bytes())));
    assert_eq!(server.counters().deferred, 100);
}

#[test]
fn bytes_of_calls_in_flight_are_limited() {
    let limits = Limits { max_in_flight_bytes: 300_000, blocking_threads: 1, ..Limits::default() };
    let server = TestServer::start(limits, 1);
    let mut stream = server.connect();
    let mut writer = stream.try_clone().unwrap();
    let writing = std::thread::spawn(move || writer.write_all(&framed(&vec![b'd'; 100_000]).repeat(20)).unwrap());
    wait_until("the limit is reached", || server.counters().messages == 3);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(server.counters().messages, 3);
    server.open_gate();
    for _ in 0..20 {
        assert_eq!(read_answer(&mut stream).len(), 100_000);
    }
    writing.join().unwrap();
}

#[test]
fn answer_for_a_connection_that_is_gone_is_dropped_and_the_service_hears_of_the_end_after_it() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    stream.write_all(&framed(b"d")).unwrap();
    wait_until("a blocking thread is at it", || server.echo.workers.lock().unwrap().len() == 1);
    stream.write_all(&framed(b"c")).unwrap();
    wait_until("the connection is closed", || server.counters().closed_by_service == 1);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(server.disconnected(), 0);
    server.open_gate();
    wait_until("the service hears of the end", || server.disconnected() == 1);
    assert_eq!(exchange(&mut server.connect(), b"e"), b"e");
}

#[test]
fn panic_in_a_blocking_thread_closes_its_connection_only() {
    let server = TestServer::start(Limits { blocking_threads: 1, ..Limits::default() }, 1);
    let (mut one, mut other) = (server.connect(), server.connect());
    one.write_all(&framed(b"q")).unwrap();
    assert_eq!(one.read(&mut [0; 1]).unwrap(), 0);
    server.open_gate();
    assert_eq!(exchange(&mut other, b"d"), b"d", "the only blocking thread is gone");
    assert_eq!((server.counters().closed_panic, server.counters().deferred), (1, 2));
}

#[test]
fn call_that_no_thread_was_given_is_forgotten_with_its_connection() {
    let server = TestServer::start(Limits::default(), 1);
    let mut stream = server.connect();
    stream.write_all(&[framed(b"d"), framed(b"c")].concat()).unwrap();
    wait_until("the service hears of the end", || server.disconnected() == 1);
    assert!(server.echo.workers.lock().unwrap().is_empty());
}

#[test]
fn calls_that_never_end_keep_no_thread_from_calls_of_another_lane() {
    let server = TestServer::start(Limits::default(), 1);
    let mut slow: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream.write_all(&framed(b"d").repeat(64)).unwrap();
    }
    let taken = Limits::default().blocking_threads - Limits::default().spare_blocking_threads;
    wait_until("slow calls have all threads that they may have", || server.echo.workers.lock().unwrap().len() == taken);
    let mut other = server.connect();
    for _ in 0..100 {
        assert_eq!(exchange(&mut other, b"D other"), b"D other");
    }
    assert_eq!(exchange(&mut slow[0], b"D same connection"), b"D same connection");
    assert_eq!(server.echo.workers.lock().unwrap().len(), taken);
    server.open_gate();
}
