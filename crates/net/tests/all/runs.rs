//! Messages that are answered together, and large ones.

use std::io::Write;

use net::Limits;

use testing::echo::{self, LARGE_BYTES, TestServer, framed, pattern, read_answer};
use testing::wait_until;

/// Sends messages in one piece and checks that they all come back, in any order.
fn echo_all(server: &TestServer, bodies: &[Vec<u8>]) {
    let mut stream = server.connect();
    let mut writer = stream.try_clone().unwrap();
    let bytes: Vec<u8> = bodies.iter().flat_map(|body| framed(body)).collect();
    let writing = std::thread::spawn(move || writer.write_all(&bytes).unwrap());
    let mut answers: Vec<Vec<u8>> = bodies.iter().map(|_| read_answer(&mut stream)).collect();
    writing.join().unwrap();
    let mut bodies = bodies.to_vec();
    answers.sort_unstable();
    bodies.sort_unstable();
    assert!(answers == bodies, "messages came back changed");
}

fn messages(first: u8, count: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(move |number| format!("{}{number}", char::from(first)).into_bytes())
}

#[test]
fn messages_that_go_together_are_answered_in_runs_and_others_are_not() {
    let server = TestServer::start(Limits::default(), 1);
    let bodies: Vec<Vec<u8>> = messages(b'r', 3).chain(messages(b'e', 2)).chain(messages(b'r', 1)).collect();
    echo_all(&server, &bodies);
    assert_eq!(*server.echo.runs.lock().unwrap(), [3], "the last one is alone");
    assert_eq!(server.counters().messages, 6);
}

#[test]
fn run_has_a_limit() {
    let server = TestServer::start(Limits::default(), 1);
    echo_all(&server, &messages(b'r', 200).collect::<Vec<_>>());
    let runs = server.echo.runs.lock().unwrap().clone();
    assert!(runs.iter().all(|run| *run <= 64), "{runs:?}");
}

#[test]
fn run_that_has_to_wait_is_answered_together_by_a_blocking_thread() {
    let server = TestServer::start(Limits::default(), 1);
    echo_all(&server, &messages(b'b', 5).collect::<Vec<_>>());
    assert_eq!(*server.echo.runs.lock().unwrap(), [5]);
    wait_until("all are counted", || server.counters().deferred == 5);
}

#[test]
fn large_and_small_messages_in_any_order_come_back_whole() {
    let server = TestServer::start(Limits::default(), 1);
    let sizes =
        [10, 131_000, 131_000, 131_000, 600, 1_000_000, 1_000_000, 20, 20, 300_000, 99_000, 98_000, 5, 1_000_000];
    let bodies = sizes.iter().enumerate().map(|(index, size)| {
        let mut body = pattern(*size);
        (body[0], body[1]) = (b'e', index as u8);
        body
    });
    echo_all(&server, &bodies.collect::<Vec<_>>());
}

#[test]
fn large_message_behind_one_like_it_lies_at_the_start_of_a_page() {
    for bulk_at in [0, 148, 4000] {
        let server = TestServer::start_with(echo::Echo { bulk_at, ..echo::Echo::default() });
        let mut body = pattern(LARGE_BYTES);
        body[0] = b'e';
        echo_all(&server, &vec![body; 20]);
        let misalignments = server.echo.misalignments.lock().unwrap().clone();
        assert_eq!((misalignments.len(), &misalignments[2..]), (20, &[0; 18][..]), "bulk at {bulk_at}");
    }
}
