//! A loop whose messages follow one another closely looks for the next one before it sleeps.

use std::time::Duration;

use net::{Limits, Server};

use testing::echo::{Echo, TestServer, exchange, wait_until};

/// How many messages the client sends, each when it has the answer to the last one.
const MESSAGES: u64 = 200;

/// Sends messages one by one to a loop that looks for them for so long, and returns how often it went to sleep.
fn sleeps(window: Duration) -> u64 {
    let server = Server::new(Limits::default()).loops(1).busy_poll(window);
    let server = TestServer::set_up("127.0.0.1:0", server, Echo::default());
    let mut client = server.connect();
    for _ in 0..MESSAGES {
        exchange(&mut client, b"e");
    }
    server.counters().sleeps
}

#[test]
fn loop_sleeps_before_each_message_without_busy_polling() {
    assert!(sleeps(Duration::ZERO) >= MESSAGES);
}

#[test]
fn loop_stays_awake_while_messages_follow_one_another_within_the_window() {
    // While something else computes on its processor, a loop sleeps as without polling: then this says nothing, and is
    // tried again.
    wait_until("the loop stays awake", || sleeps(Duration::from_secs(1)) < MESSAGES / 4);
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
