//! A loop whose messages follow one another closely looks for the next one before it sleeps.

use std::io::Write;
use std::time::Duration;

use net::{Limits, Server};

use testing::echo::{Echo, TestServer, exchange, framed};
use testing::wait_until;

/// How many messages come, each while the loop answers the one before.
const MESSAGES: usize = 200;

/// Sends messages to a loop that looks for them for so long, and returns how often it went to sleep. Whenever it looks,
/// there is one: what else the machine does makes no difference.
fn sleeps(window: Duration) -> u64 {
    let server = Server::new(Limits::default()).loops(1).busy_poll(window);
    let server = TestServer::set_up("127.0.0.1:0", server, Echo::default());
    let mut clients = [server.connect(), server.connect()];
    let mut send = |number: usize| clients[number % 2].write_all(&framed(b"h")).unwrap();
    let answers = |number: usize| wait_until("it is answered", || server.echo.seen.lock().unwrap().len() > number);
    send(0);
    answers(0);
    // The loop does not look for a moment after another thread had its processor, as may have been so before.
    std::thread::sleep(Duration::from_millis(200));
    let before = server.counters().sleeps;
    for number in 1..=MESSAGES {
        send(number);
        server.echo.let_go();
        answers(number);
    }
    let after = server.counters().sleeps;
    server.echo.let_go();
    after - before
}

#[test]
fn loop_sleeps_before_each_message_without_busy_polling() {
    assert!(sleeps(Duration::ZERO) >= MESSAGES as u64);
}

#[test]
fn loop_stays_awake_while_messages_follow_one_another_within_the_window() {
    assert!(sleeps(Duration::from_secs(60)) < MESSAGES as u64 / 4);
}

#[test]
fn loop_that_nobody_asks_sleeps() {
    let server = Server::new(Limits::default()).loops(1).busy_poll(Duration::from_millis(1));
    let server = TestServer::set_up("127.0.0.1:0", server, Echo::default());
    exchange(&mut server.connect(), b"e");
    wait_until("the loop sleeps", || {
        let before = server.counters().sleeps;
        std::thread::sleep(Duration::from_millis(20));
        before > 0 && server.counters().sleeps == before
    });
}
