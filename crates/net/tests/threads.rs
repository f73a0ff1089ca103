//! The blocking threads of a server. Those of the whole process are counted, so this program has one test only.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use net::Limits;
use testing::echo::{TestServer, exchange, framed, read_answer};
use testing::wait_until;

const THREADS: usize = 20;

fn blocking_threads() -> usize {
    let names =
        fs::read_dir("/proc/self/task").unwrap().map(|task| fs::read_to_string(task.unwrap().path().join("comm")));
    // A thread may end meanwhile.
    names.filter(|name| name.as_ref().is_ok_and(|name| name.starts_with("blocking-"))).count()
}

#[test]
fn blocking_threads_but_one_end_when_they_have_nothing_to_do_and_start_again() {
    let blocking_thread_idle = Duration::from_millis(50);
    let limits =
        Limits { blocking_threads: THREADS, spare_blocking_threads: 0, blocking_thread_idle, ..Limits::default() };
    let server = TestServer::start(limits, 1);
    let mut stream = server.connect();
    for round in 1..=3 {
        stream.write_all(&framed(b"d").repeat(THREADS)).unwrap();
        wait_until("each call has a thread", || server.echo.workers.lock().unwrap().len() == round * THREADS);
        assert_eq!(blocking_threads(), THREADS);
        server.open_gate();
        (0..THREADS).for_each(|_| assert_eq!(read_answer(&mut stream), b"d"));
        wait_until("all but one have ended", || blocking_threads() == 1);
        assert_eq!(exchange(&mut stream, b"D"), b"D");
        server.echo.gate.store(false, Ordering::Release);
    }
}
