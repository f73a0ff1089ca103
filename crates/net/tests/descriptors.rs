//! A process without free file descriptors. The limit is the whole process's, so this program has one test only.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::time::{Duration, Instant};

use net::Limits;
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use testing::echo::{TestServer, exchange};
use testing::wait_until;

/// How often the server tries to accept a connection that it has no descriptor for.
const TRIES: u64 = 6;

#[test]
fn lack_of_descriptors_pauses_accepting_without_spinning_and_ends() {
    let server = TestServer::start(Limits::default(), 1);
    let mut first = server.connect();
    assert_eq!(exchange(&mut first, b"e"), b"e");
    let limit = getrlimit(Resource::Nofile);
    let mut low = limit;
    low.current = Some(100);
    setrlimit(Resource::Nofile, low).unwrap();
    let mut fillers = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        fillers.push(file);
    }
    // One is left for the client's end and none for the server's.
    drop(fillers.pop());
    let mut second = server.connect();
    wait_until("accepting fails", || server.counters().accept_errors > 0);
    let cpu = || clock_gettime(ClockId::ProcessCPUTime);
    let (before, start, began) = (cpu(), server.counters().accept_errors, Instant::now());
    wait_until("accepting is tried again", || server.counters().accept_errors >= start + TRIES);
    let used_ms = (cpu().tv_sec - before.tv_sec) * 1000 + (cpu().tv_nsec - before.tv_nsec) / 1_000_000;
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(100) * (TRIES as u32 - 1), "tried {TRIES} times in {took:?}");
    let seconds = took.as_secs() + 1;
    assert!(used_ms < 300 * seconds as i64, "{used_ms} ms of processor time in {seconds} s of waiting");
    assert_eq!(exchange(&mut first, b"e"), b"e");
    setrlimit(Resource::Nofile, limit).unwrap();
    assert_eq!(exchange(&mut second, b"e"), b"e");
}
