//! The real server under more connections than any client has. A program of its own, since it raises the limit of
//! descriptors of the process and uses most of them.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::io::Write;
use std::net::TcpStream;

use rustix::process::{Resource, getrlimit, setrlimit};
use testing::program::wire::{NULL, READ, call, read_arguments, record, reply};
use testing::program::{Server, serve_within, wharf_ok};
use testing::{PATIENCE, Scratch};

const IDLE: usize = 10_000;
const ACTIVE: usize = 1000;
/// What every active connection asks for at once, and how often.
const CALLS: u32 = 8;
const ROUNDS: u32 = 5;
/// What a reply brings, in bytes.
const COUNT: u32 = 4096;
/// What the server keeps for files besides the connections (`serve/descriptors.rs`), and a little more.
const OTHER_DESCRIPTORS: u64 = 7500;
/// How much memory for data the server may have (`ulimit -d`), resident or not, in MiB. One that needs more ends.
const MAX_DATA_MIB: u64 = 64;

/// Raises the soft limit of this process; the server does that for itself.
fn has_descriptors() -> bool {
    let mut limit = getrlimit(Resource::Nofile);
    let needed = (IDLE + ACTIVE) as u64 + OTHER_DESCRIPTORS;
    if limit.maximum.is_some_and(|maximum| maximum < needed) {
        println!("skipped: {needed} file descriptors are needed, and the hard limit is {:?}", limit.maximum);
        return false;
    }
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).is_ok()
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn is_alive(stream: &mut TcpStream, xid: u32) -> bool {
    stream.write_all(&record(&call(xid, NULL, &[]))).unwrap();
    reply(stream).unwrap().0 == xid
}

#[test]
fn ten_thousand_idle_connections_and_a_thousand_active_ones_take_64_mib_at_the_most() {
    if !has_descriptors() {
        return;
    }
    let scratch = Scratch::new();
    let file = scratch.file("file", &"x".repeat(COUNT as usize));
    let mut command = serve_within(&format!("-d {}", MAX_DATA_MIB << 10));
    // Each thread has a stack: two event loops, and none that waits for storage.
    command.args(["--listen", "127.0.0.1:0", "--loops", "2"]);
    command.args(["--no-root-squash", "--max-connections-per-client", "11500", "mem:1M"]);
    let server = Server::spawn(1, command);
    wharf_ok(&["cp", file.to_str().unwrap(), &server.url("/mem/file")]);
    let arguments = read_arguments(&server.handle_of("/mem/file"), COUNT);

    let mut idle: Vec<TcpStream> = (0..IDLE).map(|_| connect(&server)).collect();
    assert!(idle.iter_mut().all(|stream| is_alive(stream, 1)));
    let mut active: Vec<TcpStream> = (0..ACTIVE).map(|_| connect(&server)).collect();
    let calls: Vec<u8> = (0..CALLS).flat_map(|xid| record(&call(xid, READ, &arguments))).collect();
    for _ in 0..ROUNDS {
        active.iter_mut().for_each(|stream| stream.write_all(&calls).unwrap());
        for stream in &mut active {
            let mut xids: Vec<u32> = (0..CALLS).map(|_| data_reply(stream)).collect();
            xids.sort_unstable();
            assert!(xids.into_iter().eq(0..CALLS));
        }
    }
    assert!(idle.iter_mut().all(|stream| is_alive(stream, 2)));
}

/// The xid of a reply that brings all the data.
fn data_reply(stream: &mut TcpStream) -> u32 {
    let (xid, rest) = reply(stream).unwrap();
    assert!(rest.ends_with(&[b'x'; COUNT as usize]), "a reply of {} bytes", rest.len());
    xid
}
