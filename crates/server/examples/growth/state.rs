//! Calls while clients keep much state: sessions, opens and locks.

use proto::nfs4::{
    Bitmap, Close, CloseArgs, Component, FileHandle, Getattr, GetattrArgs, Getfh, Lock, LockArgs, LockType, Locker,
    Locku, LockuArgs, Open, OpenArgs, OpenClaim, OpenHow, Putfh, PutfhArgs, Read, ReadArgs, ResOr, SHARE_ACCESS_BOTH,
    SHARE_DENY_NONE, Sequence, SequenceArgs, StateOwner, Stateid, WANT_NO_DELEG,
};

use crate::step::{Plan, Step};
use crate::{FILE, MANY, READ_BYTES, export_name, name_of};
use testing::caller::{Caller, EXPORT};
use testing::compound::{COMPOUND, Compound, success};
use testing::session::Session;

const OWNER: &str = "owner";
/// The distance between locked ranges: they do not touch, so they do not merge.
const LOCK_STEP: u64 = 10;
const LOCK_BYTES: u64 = 3;
/// A byte that no client has locked before a counted call does.
const FREE_BYTE: u64 = 1 << 40;
/// Type, change, size, file number, mode, links, owner, group, space and times, as clients ask for them.
const ATTRIBUTES: Bitmap = Bitmap::of(&[1, 3, 4, 20, 33, 35, 36, 37, 45, 47, 52, 53]);

/// SEQUENCE, PUTFH and GETATTR of many clients by turns, each over its own connection.
pub fn get_attributes(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let clients: Vec<Session<'_>> = (0..size).map(|number| client(caller, number)).collect();
    let root = handle(&clients[0], EXPORT);
    let steps = |count: usize| {
        let one = |number: usize| {
            let client = &clients[number % size];
            step(client, look_at(client, root).op::<Getattr>(&GetattrArgs { request: ATTRIBUTES }))
        };
        (0..count).map(one).collect()
    };
    Plan::of(steps(size.max(times)), steps(times))
}

/// The ends of connections of clients, beside the connections of as many others.
pub fn end_connections(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let clients: Vec<Session<'_>> = (0..size + times).map(|number| client(caller, number)).collect();
    Plan::of(Vec::new(), clients[size..].iter().map(|client| Step::End(client.caller)).collect())
}

/// A client of its own address, connection and name.
fn client(caller: Caller<'_>, number: usize) -> Session<'_> {
    let [_, a, b, c] = (number as u32).to_be_bytes();
    let caller = caller.from(&format!("10.{a}.{b}.{c}:700")).over(number as u64 + 1);
    Session::named(caller, 1, format!("client {number}").as_bytes())
}

/// READ of an open file, of a client that has many others open.
pub fn read_beside_opens(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let session = with_opens(caller, size);
    let root = handle(&session, EXPORT);
    let (file, stateid) = open_file(&session, root, (OWNER, FILE));
    let read = ReadArgs { stateid, offset: 0, count: READ_BYTES };
    Plan::twice(|| (0..times).map(|_| step(&session, look_at(&session, file).op::<Read>(&read))).collect())
}

/// OPEN and CLOSE of a file, of a client that has many others open.
pub fn open_beside_opens(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let session = with_opens(caller, size);
    open_and_close(&session, times)
}

/// OPEN and CLOSE of a file that many other owners have open.
pub fn open_beside_owners(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let session = Session::new(caller, 1);
    let root = handle(&session, EXPORT);
    for number in 0..size {
        open_file(&session, root, (&format!("owner {number}"), FILE));
    }
    open_and_close(&session, times)
}

fn open_and_close<'s>(session: &Session<'s>, times: usize) -> Plan<'s> {
    let root = handle(session, EXPORT);
    let close = CloseArgs { seqid: 0, open_stateid: Stateid::CURRENT };
    let both = || put(session, root).op::<Open>(&open((OWNER, FILE))).op::<Close>(&close);
    Plan::twice(|| (0..times).map(|_| step(session, both())).collect())
}

/// A client that has `size` files open.
fn with_opens(caller: Caller<'_>, size: usize) -> Session<'_> {
    let session = Session::new(caller, 1);
    let dir = handle(&session, &format!("{EXPORT}/{MANY}"));
    for number in 0..size {
        open_file(&session, dir, (OWNER, &name_of(number)));
    }
    session
}

/// LOCK and LOCKU in a file with many locked ranges, by their owner.
pub fn lock_beside_ranges(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let session = Session::new(caller, 1);
    let root = handle(&session, EXPORT);
    let (file, lock_stateid) = locked_file(&session, root, FILE);
    for number in 0..size as u64 {
        let lock = lock(Locker::Existing { lock_stateid, lock_seqid: 0 }, number * LOCK_STEP);
        session.call(&put(&session, file).op::<Lock>(&lock));
    }
    lock_and_unlock(&session, (file, lock_stateid), times)
}

/// LOCK and LOCKU of a client that has locks in many other files.
pub fn lock_beside_files(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let session = Session::new(caller, 1);
    let root = handle(&session, EXPORT);
    for number in 1..=size {
        locked_file(&session, root, &format!("stable-{number}"));
    }
    let locked = locked_file(&session, root, "stable-0");
    lock_and_unlock(&session, locked, times)
}

/// LOCK and LOCKU of a file of the last export.
pub fn lock_in_last_export(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let session = Session::new(caller, 1);
    let root = handle(&session, &export_name(size - 1));
    let locked = locked_file(&session, root, "stable-0");
    lock_and_unlock(&session, locked, times)
}

/// LOCK and LOCKU by turns.
fn lock_and_unlock<'s>(session: &Session<'s>, (file, lock_stateid): (FileHandle, Stateid), times: usize) -> Plan<'s> {
    let one = |number: usize| {
        let begun = put(session, file);
        let locker = Locker::Existing { lock_stateid, lock_seqid: 0 };
        let unlock = LockuArgs {
            lock_type: LockType::Write,
            seqid: 0,
            stateid: lock_stateid,
            offset: FREE_BYTE,
            length: LOCK_BYTES,
        };
        let is_lock = number.is_multiple_of(2);
        step(session, if is_lock { begun.op::<Lock>(&lock(locker, FREE_BYTE)) } else { begun.op::<Locku>(&unlock) })
    };
    Plan::twice(|| (0..times).map(one).collect())
}

/// Opens a file and locks a range of it, which stays locked.
fn locked_file(session: &Session<'_>, dir: FileHandle, name: &str) -> (FileHandle, Stateid) {
    let (file, open_stateid) = open_file(session, dir, (OWNER, name));
    let locker = Locker::New { open_seqid: 0, open_stateid, lock_seqid: 0, owner: owner("locker") };
    let mut results = session.call(&put(session, file).op::<Lock>(&lock(locker, u64::MAX >> 1)));
    success(results.take::<Putfh>());
    let ResOr::Ok(locked) = results.take::<Lock>() else { panic!("{name} is not locked") };
    (file, newest(locked.stateid))
}

fn open_file(session: &Session<'_>, dir: FileHandle, file: (&str, &str)) -> (FileHandle, Stateid) {
    let mut results = session.call(&put(session, dir).op::<Open>(&open(file)).op::<Getfh>(&()));
    success(results.take::<Putfh>());
    let stateid = newest(success(results.take::<Open>()).stateid);
    (results.handle(), stateid)
}

fn open<'n>((owned_by, name): (&'n str, &'n str)) -> OpenArgs<'n> {
    OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_BOTH | WANT_NO_DELEG,
        share_deny: SHARE_DENY_NONE,
        owner: owner(owned_by),
        how: OpenHow::NoCreate,
        claim: OpenClaim::Null(Component(name.as_bytes())),
    }
}

fn owner(name: &str) -> StateOwner<'_> {
    StateOwner { client: proto::nfs4::ClientId(0), owner: name.as_bytes() }
}

fn lock(locker: Locker<'_>, offset: u64) -> LockArgs<'_> {
    LockArgs { lock_type: LockType::Write, reclaim: false, offset, length: LOCK_BYTES, locker }
}

/// The newest state of a stateid, whatever its seqid is (RFC 8881 §8.2.2).
fn newest(stateid: Stateid) -> Stateid {
    Stateid { seqid: 0, ..stateid }
}

/// SEQUENCE and PUTFH, for a reply that the session need not keep.
fn look_at(session: &Session<'_>, object: FileHandle) -> Compound {
    let next = session.next.replace(session.next.get() + 1);
    let sequence = SequenceArgs { cache_this: false, ..session.sequence(next) };
    Compound::new(1).op::<Sequence>(&sequence).op::<Putfh>(&PutfhArgs { object })
}

/// SEQUENCE and PUTFH, for a reply that the session keeps.
fn put(session: &Session<'_>, object: FileHandle) -> Compound {
    session.begin().op::<Putfh>(&PutfhArgs { object })
}

/// The handle of `path`.
fn handle(session: &Session<'_>, path: &str) -> FileHandle {
    session.call(&session.begin().path(path).op::<Getfh>(&())).skip_path(path).handle()
}

fn step<'s>(session: &Session<'s>, compound: Compound) -> Step<'s> {
    Step::Call { caller: session.caller, worker: 0, message: session.caller.message_of(COMPOUND, &compound) }
}
