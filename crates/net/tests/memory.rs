//! The memory that many connections take. All of the process is counted, so this program has one test only.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::net::TcpStream;

use net::Limits;
use peak_alloc::PeakAlloc;
use rustix::process::{Resource, getrlimit, setrlimit};
use testing::echo::{TestServer, exchange, framed, read_answer};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

#[test]
fn a_thousand_active_connections_beside_idle_ones_take_little_memory() {
    const ACTIVE: usize = 1000;
    const IDLE_WANTED: usize = 10_000;
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    // Both ends of each connection are in this process; other tests and the runtime need some as well.
    let most = limit.maximum.map_or(IDLE_WANTED, |most| (most as usize).saturating_sub(500) / 2 - ACTIVE);
    let idle_count = most.min(IDLE_WANTED);
    if idle_count < IDLE_WANTED {
        eprintln!("PARTLY SKIPPED: only {idle_count} of {IDLE_WANTED} idle connections fit the file descriptor limit");
    }
    let server = TestServer::start(Limits { max_connections_per_client: Some(usize::MAX), ..Limits::default() }, 2);
    let before = MEMORY.current_usage();
    let mut idle: Vec<TcpStream> = (0..idle_count).map(|_| server.connect()).collect();
    for stream in &mut idle {
        assert_eq!(exchange(stream, &[b'e'; 3000]).len(), 3000);
    }
    let mut active: Vec<TcpStream> = (0..ACTIVE).map(|_| server.connect()).collect();
    for _ in 0..5 {
        active.iter_mut().for_each(|stream| stream.write_all(&framed(&[b'e'; 500]).repeat(8)).unwrap());
        active.iter_mut().for_each(|stream| (0..8).for_each(|_| assert_eq!(read_answer(stream).len(), 500)));
    }
    let taken = MEMORY.current_usage().saturating_sub(before);
    eprintln!("{taken} bytes for {idle_count} idle connections and {ACTIVE} active ones");
    assert!(taken < (idle_count + ACTIVE) * 2048, "{taken} bytes for {idle_count} idle connections");
    assert_eq!(server.counters().open(), (idle_count + ACTIVE) as u64);
}
