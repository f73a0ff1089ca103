//! Very many locks in one file: what is said beyond their limit, and how they end.

use proto::nfs4::{
    Close, CloseArgs, CompoundOperation, CreateHow, Fattr, Lock, LockArgs, LockType, Locker, Locku, LockuArgs, Lookup,
    Open, OpenArgs, OpenClaim, OpenHow, ResOr, SHARE_ACCESS_BOTH, SHARE_DENY_NONE, Sequence, StateOwner, Stateid,
    Status,
};
use server::{Answer, Server};

use crate::v4::client40::Client40;
use testing::caller::{Caller, Said, memory_server};
use testing::compound::{COMPOUND, Compound, Results, failure, success};
use testing::session::Session;

/// How many ranges may be locked in one file.
const MOST: u64 = 16_384;

/// How many LOCKs a COMPOUND has.
const BATCH: usize = 50;

/// A client of NFSv4.1 that has locked as many ranges of a file as there may be, of 3 bytes each.
struct Holder<'s> {
    session: Session<'s>,
    open: Stateid,
    lock: Stateid,
}

fn owner(name: &[u8]) -> StateOwner<'_> {
    StateOwner { client: proto::nfs4::ClientId(0), owner: name }
}

fn locks(locker: Locker<'_>, offset: u64) -> LockArgs<'_> {
    LockArgs { lock_type: LockType::Write, reclaim: false, offset, length: 3, locker }
}

/// The newest state of a stateid, whatever its seqid is (RFC 8881 §8.2.2).
fn newest(stateid: Stateid) -> Stateid {
    Stateid { seqid: 0, ..stateid }
}

impl<'s> Holder<'s> {
    fn new(server: &'s Server) -> Holder<'s> {
        let session = Session::new(Caller::root(server), 1);
        let open = OpenArgs {
            seqid: 0,
            share_access: SHARE_ACCESS_BOTH,
            share_deny: SHARE_DENY_NONE,
            owner: owner(b"owner"),
            how: OpenHow::Create(CreateHow::Unchecked(Fattr::EMPTY)),
            claim: OpenClaim::Null(proto::nfs4::Component(b"f")),
        };
        let mut results = session.call(&session.begin().root().op::<Open>(&open));
        let open = newest(success(results.skip_root().take::<Open>()).stateid);
        let first = Locker::New { open_seqid: 0, open_stateid: open, lock_seqid: 0, owner: owner(b"locker") };
        let mut holder = Holder { session, open, lock: open };
        let ResOr::Ok(locked) = holder.call::<Lock>(&locks(first, 0)) else { panic!("the file is free") };
        holder.lock = newest(locked.stateid);
        holder.lock_the_rest();
        holder
    }

    fn lock_the_rest(&self) {
        let offsets: Vec<u64> = (1..MOST).map(|at| 10 * at).collect();
        for batch in offsets.chunks(BATCH) {
            let begun = self.session.begin().root().lookup("f");
            let more = |compound: Compound, at: &u64| compound.op::<Lock>(&locks(self.locker(), *at));
            let mut results = self.session.call(&batch.iter().fold(begun, more));
            success(results.skip_root().take::<Lookup>());
            batch.iter().for_each(|at| assert!(matches!(results.take::<Lock>(), ResOr::Ok(_)), "at {at}"));
        }
    }

    fn locker(&self) -> Locker<'static> {
        Locker::Existing { lock_stateid: self.lock, lock_seqid: 0 }
    }

    fn unlock(&self, offset: u64, length: u64) -> LockuArgs {
        LockuArgs { lock_type: LockType::Write, seqid: 0, stateid: self.lock, offset, length }
    }

    fn call<O: CompoundOperation>(&self, arguments: &O::Arguments<'_>) -> O::Reply<'static> {
        let mut results = self.session.call(&self.session.begin().root().lookup("f").op::<O>(arguments));
        success(results.skip_root().take::<Lookup>());
        results.take::<O>()
    }

    /// Calls from an event loop, which must hand the call to a thread that may wait.
    fn call_from_event_loop<O: CompoundOperation>(&self, arguments: &O::Arguments<'_>) -> O::Reply<'static> {
        let caller = self.session.caller;
        let compound = self.session.begin().root().lookup("f").op::<O>(arguments);
        let message = caller.message_of(COMPOUND, &compound);
        match caller.on_event_loop().send(&message) {
            Said::Nothing(Answer::WouldBlock(_)) => {}
            other => panic!("{other:?}"),
        }
        let mut results = Results::parse(&caller.reply_to(&message));
        success(results.take::<Sequence>());
        success(results.skip_root().take::<Lookup>());
        results.take::<O>()
    }
}

/// What another client's lock of the whole file comes to.
fn lock_of_all(server: &Server) -> bool {
    let other = Client40::named(Caller::root(server), b"another client");
    let open_stateid = other.open_confirmed("owner", "f");
    let locker = Locker::New { open_seqid: 3, open_stateid, lock_seqid: 1, owner: other.owner("locker") };
    let args = LockArgs { length: u64::MAX, ..locks(locker, 0) };
    matches!(other.call(&Client40::at("f").op::<Lock>(&args)).take::<Lock>(), ResOr::Ok(_))
}

#[test]
fn lock_beyond_the_limit_of_a_file_is_refused_for_good() {
    // RFC 8881 §15.2 lets LOCK and LOCKU answer neither RESOURCE nor NOSPC, and DELAY makes clients ask for ever.
    let server = memory_server();
    let holder = Holder::new(&server);
    assert_eq!(holder.call::<Lock>(&locks(holder.locker(), 10 * MOST)), ResOr::Fail(Status::ServerFault));
    assert_eq!(failure(holder.call::<Locku>(&holder.unlock(1, 1))), Status::ServerFault);
    let old = Client40::named(Caller::root(&server), b"another client");
    let open_stateid = old.open_confirmed("owner", "f");
    let locker = Locker::New { open_seqid: 3, open_stateid, lock_seqid: 1, owner: old.owner("locker") };
    let refused = old.call(&Client40::at("f").op::<Lock>(&locks(locker, 10 * MOST))).take::<Lock>();
    assert_eq!(refused, ResOr::Fail(Status::Resource));
}

#[test]
fn close_of_very_many_locks_keeps_no_event_loop_busy() {
    let server = memory_server();
    let holder = Holder::new(&server);
    success(holder.call_from_event_loop::<Close>(&CloseArgs { seqid: 0, open_stateid: holder.open }));
    assert!(lock_of_all(&server));
}

#[test]
fn unlock_of_very_many_ranges_keeps_no_event_loop_busy() {
    let server = memory_server();
    let holder = Holder::new(&server);
    success(holder.call_from_event_loop::<Locku>(&holder.unlock(0, u64::MAX)));
    assert!(lock_of_all(&server));
}
