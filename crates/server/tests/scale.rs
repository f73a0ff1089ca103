//! Many clients with many open files at one server: bounded memory, and ends that stall nobody. A program of its own,
//! since it counts the memory of the process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::cell::{Cell, OnceCell};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use peak_alloc::PeakAlloc;
use proto::nfs4::{
    Close, CloseArgs, Component, CreateHow, Fattr, Open, OpenArgs, OpenClaim, OpenHow, SHARE_ACCESS_BOTH,
    SHARE_DENY_NONE, Sequence, StateOwner, Stateid, Status, WANT_NO_DELEG,
};
use server::{Server, Settings};

use testing::caller::{Caller, EXPORT, export, memory, memory_server, settings};
use testing::compound::success;
use testing::session::Session;

const CLIENTS: usize = 1_000;
const OPENS_PER_CLIENT: usize = 100;
const OPENS_PER_COMPOUND: usize = 10;

/// More than this for one open file is a waste: its file in memory, the open, what is published of it.
const MAX_BYTES_PER_OPEN: usize = 2_000;

/// The files that one client has open that ends while another works.
const LARGE_CLIENT_OPENS: usize = 10_000;

/// The most of them that one step of the end closes, in which no other client is served (`state::Limits::steps`).
const MOST_OPENS_PER_STEP: usize = 1_024;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// One test at a time.
static ALONE: Mutex<()> = Mutex::new(());

thread_local! {
    /// The client that works while the other one ends, and how often it was served.
    static OTHER: OnceCell<Session<'static>> = const { OnceCell::new() };
    static SERVED: Cell<usize> = const { Cell::new(0) };
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
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let server = memory_server();
    let names: Vec<String> = (0..CLIENTS).map(|client| format!("client {client}")).collect();
    let sessions: Vec<Session<'_>> =
        names.iter().map(|name| Session::named(Caller::root(&server), 1, name.as_bytes())).collect();
    let before = MEMORY.current_usage();
    for (client, session) in sessions.iter().enumerate() {
        open_many(session, client, OPENS_PER_CLIENT);
    }
    let bytes_per_open = (MEMORY.current_usage() - before) / (CLIENTS * OPENS_PER_CLIENT);
    println!("{bytes_per_open} bytes for each open file, the file itself included");
    assert!(bytes_per_open < MAX_BYTES_PER_OPEN);
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

/// What the server does between two steps of the end: another client is served.
fn serve_the_other(_: Duration) {
    OTHER.with(|other| {
        let Some(other) = other.get() else { return };
        let close = CloseArgs { seqid: 0, open_stateid: Stateid::CURRENT };
        let both = other.begin().root().op::<Open>(&open(b"its own")).op::<Close>(&close);
        success(other.call(&both).skip_root().take::<Open>());
        SERVED.set(SERVED.get() + 1);
    });
}

#[test]
fn end_of_a_large_client_stalls_nobody() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = Settings { pause: serve_the_other, ..settings() };
    let server: &'static Server = Box::leak(Box::new(Server::new(settings, vec![export(EXPORT, memory())]).unwrap()));
    let large = Session::named(Caller::root(server), 1, b"large");
    open_many(&large, 0, LARGE_CLIENT_OPENS);
    let day = 25 * 3600;
    let other = Session::named(Caller::root(server).later(day), 1, b"other");
    let now = other.caller.now;
    OTHER.with(|cell| assert!(cell.set(other).is_ok()));
    server.tick(now);
    let served = SERVED.get();
    assert!(
        served >= LARGE_CLIENT_OPENS / MOST_OPENS_PER_STEP,
        "another client was served only {served} times meanwhile"
    );
    let mut gone = large.caller.later(day).compound(&large.begin());
    assert_eq!(testing::compound::failure(gone.take::<Sequence>()), Status::BadSession);
}
