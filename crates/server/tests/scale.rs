//! Many clients with many open files at one server: bounded memory, and ends that stall nobody.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

#[allow(dead_code, unused_imports, reason = "a part of it is enough here")]
#[path = "all/caller/mod.rs"]
mod caller;
#[allow(dead_code, reason = "a part of it is enough here")]
#[path = "all/compound.rs"]
mod compound;
#[allow(dead_code, reason = "a part of it is enough here")]
#[path = "all/session.rs"]
mod session;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proto::nfs4::{
    Close, CloseArgs, Component, CreateHow, Fattr, Open, OpenArgs, OpenClaim, OpenHow, SHARE_ACCESS_BOTH,
    SHARE_DENY_NONE, Sequence, StateOwner, Stateid, Status, WANT_NO_DELEG,
};

use caller::{Caller, memory_server};
use compound::success;
use session::Session;

const CLIENTS: usize = 1_000;
const OPENS_PER_CLIENT: usize = 100;
const OPENS_PER_COMPOUND: usize = 10;

/// More than this for one open file is a waste: its file in memory, the open, what is published of it.
const MAX_BYTES_PER_OPEN: u64 = 3_000;

/// The files that one client has open that ends while another works.
const LARGE_CLIENT_OPENS: usize = 10_000;

/// The longest that a call of another client may take meanwhile. The end of the large client takes some tenths of a second in a
/// build without optimisation; this has room for a machine that is busy with other tests.
const MAX_PAUSE: Duration = Duration::from_secs(2);

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn open(name: &[u8]) -> OpenArgs<'_> {
    OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_BOTH | WANT_NO_DELEG,
        share_deny: SHARE_DENY_NONE,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"the only owner" },
        how: OpenHow::Create(CreateHow::Unchecked(Fattr::EMPTY)),
        claim: OpenClaim::Null(Component(name)),
    }
}

/// Opens `count` files of the client's own.
fn open_many(session: &Session<'_>, client: usize, count: usize) {
    for first in (0..count).step_by(OPENS_PER_COMPOUND) {
        let names: Vec<String> = (first..first + OPENS_PER_COMPOUND).map(|file| format!("{client}-{file}")).collect();
        let opens = names.iter().fold(session.begin(), |so_far, name| so_far.root().op::<Open>(&open(name.as_bytes())));
        let mut results = session.call(&opens);
        for _ in &names {
            success(results.skip_root().take::<Open>());
        }
    }
}

#[test]
fn hundred_thousand_files_of_a_thousand_clients_are_open_in_bounded_memory() {
    let server = memory_server();
    let names: Vec<String> = (0..CLIENTS).map(|client| format!("client {client}")).collect();
    let sessions: Vec<Session<'_>> =
        names.iter().map(|name| Session::named(Caller::root(&server), 1, name.as_bytes())).collect();
    let before = resident_bytes();
    for (client, session) in sessions.iter().enumerate() {
        open_many(session, client, OPENS_PER_CLIENT);
    }
    match (before, resident_bytes()) {
        (Some(before), Some(after)) => {
            let bytes_per_open = after.saturating_sub(before) / (CLIENTS * OPENS_PER_CLIENT) as u64;
            println!("{bytes_per_open} bytes for each open file, the file itself included");
            assert!(bytes_per_open < MAX_BYTES_PER_OPEN);
        }
        _ => println!("skipped: resident memory cannot be read on this system"),
    }
    // All of them are there: the first and the last client close files that they opened first.
    for client in [0, CLIENTS - 1] {
        let session = &sessions[client];
        let name = format!("{client}-0");
        let close = CloseArgs { seqid: 0, open_stateid: Stateid::CURRENT };
        let both = session.begin().root().op::<Open>(&open(name.as_bytes())).op::<Close>(&close);
        let mut results = session.call(&both);
        assert_eq!(success(results.skip_root().take::<Open>()).stateid.seqid, 2, "it was open already");
        assert_eq!(success(results.take::<Close>()), Stateid::INVALID);
    }
}

#[test]
fn end_of_a_large_client_stalls_nobody() {
    let server = memory_server();
    let large = Session::named(Caller::root(&server), 1, b"large");
    open_many(&large, 0, LARGE_CLIENT_OPENS);
    let day = 25 * 3600;
    let other = Session::named(Caller::root(&server).later(day), 1, b"other");
    let (is_over, mut calls, mut longest) = (AtomicBool::new(false), 0, Duration::ZERO);
    let began = Instant::now();
    let took = std::thread::scope(|scope| {
        let ending = scope.spawn(|| {
            server.tick(other.caller.now);
            is_over.store(true, Ordering::Release);
            began.elapsed()
        });
        while !is_over.load(Ordering::Acquire) {
            let call = Instant::now();
            let close = CloseArgs { seqid: 0, open_stateid: Stateid::CURRENT };
            let both = other.begin().root().op::<Open>(&open(b"its own")).op::<Close>(&close);
            success(other.call(&both).skip_root().take::<Open>());
            (calls, longest) = (calls + 1, longest.max(call.elapsed()));
        }
        ending.join().unwrap()
    });
    println!("the end took {took:?}; meanwhile another client made {calls} calls, the longest of {longest:?}");
    assert!(longest < MAX_PAUSE);
    let mut gone = large.caller.later(day).compound(&large.begin());
    assert_eq!(compound::failure(gone.take::<Sequence>()), Status::BadSession);
}
