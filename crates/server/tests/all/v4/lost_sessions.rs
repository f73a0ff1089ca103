//! Sessions that ended with a killed server: a request that it answered gets the same reply again, and everything else
//! is refused (RFC 8881 §2.10.6.5).

use std::sync::Arc;
use std::time::Duration;

use proto::nfs4::{
    Attribute, Bitmap, ClientId, Component, Create, CreateArgs, CreateHow, CreateType, Fattr, Getattr, GetattrArgs,
    Open, OpenArgs, OpenClaim, OpenHow, Readdir, ReaddirArgs, Remove, RemoveArgs, Rename, RenameArgs,
    SHARE_ACCESS_BOTH, Savefh, Sequence, SequenceArgs, Setattr, SetattrArgs, SlotId, StateOwner, Stateid, Status,
};
use server::Server;

use testing::caller::records::{Records, SLOT_ANSWERED, started};
use testing::caller::{Caller, memory};
use testing::compound::{COMPOUND, Compound, Results};
use testing::session::Session;

/// A client whose server was started a second ago.
fn caller(server: &Server) -> Caller<'_> {
    Caller { now: Duration::from_secs(1), ..Caller::root(server) }
}

/// The same client after a restart: over another connection, from another port.
fn back(server: &Server) -> Caller<'_> {
    caller(server).from("192.0.2.1:701").over(9)
}

fn directory(name: &str) -> CreateArgs<'_> {
    CreateArgs { kind: CreateType::Directory, name: Component(name.as_bytes()), attributes: Fattr::EMPTY }
}

fn opening(name: &'static [u8]) -> OpenArgs<'static> {
    OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_BOTH,
        share_deny: 0,
        owner: StateOwner { client: ClientId(0), owner: b"owner" },
        how: OpenHow::Create(CreateHow::Unchecked(Fattr::EMPTY)),
        claim: OpenClaim::Null(Component(name)),
    }
}

/// SEQUENCE on a slot, and what goes to the export's root.
fn on_slot(session: &Session<'_>, slot: u32, sequence: u32) -> Compound {
    let (slot, highest_slot) = (SlotId(slot), SlotId(3));
    let args = SequenceArgs { session: session.id, sequence, slot, highest_slot, cache_this: true };
    Compound::new(session.minor).op::<Sequence>(&args).root()
}

/// Requests that change something, each with a slot and a number of its own.
fn changes(session: &Session<'_>) -> Vec<Vec<u8>> {
    let rename = RenameArgs { old_name: Component(b"a"), new_name: Component(b"b") };
    let mode = Fattr { mask: Bitmap::default(), ..Fattr::EMPTY };
    let setting = SetattrArgs { stateid: Stateid { seqid: 0, other: [0; 12] }, attributes: mode };
    let next = session.next.get();
    let compounds = [
        on_slot(session, 0, next).op::<Create>(&directory("a")),
        on_slot(session, 1, 1).op::<Savefh>(&()).op::<Rename>(&rename),
        on_slot(session, 2, 1).op::<Open>(&opening(b"file")),
        on_slot(session, 3, 1).op::<Remove>(&RemoveArgs { target: Component(b"b") }),
        on_slot(session, 1, 2).op::<Setattr>(&setting),
        // A failure is an answer too: what is not there now may be there then.
        on_slot(session, 3, 2).op::<Remove>(&RemoveArgs { target: Component(b"b") }),
    ];
    compounds.iter().map(|compound| session.caller.message_of(COMPOUND, compound)).collect()
}

fn status(reply: &[u8]) -> Status {
    Results::parse(reply).status
}

#[test]
fn request_that_a_killed_server_answered_gets_the_very_bytes_of_its_reply_on_every_slot() {
    for minor in [1, 2] {
        let (killed, log) = started(memory(), &[]);
        let session = Session::new(caller(&killed), minor);
        let requests = changes(&session);
        let replies: Vec<Vec<u8>> = requests.iter().map(|request| session.caller.reply_to(request)).collect();
        assert_eq!(replies.iter().map(|reply| status(reply)).filter(|status| *status == Status::Ok).count(), 5);
        // Nothing is there that could be changed once more.
        let (restarted, _) = started(memory(), &log.all());
        for (request, reply) in requests.iter().zip(&replies).skip(1) {
            let answer = back(&restarted).reply_to(request);
            let is_last = ![&requests[1], &requests[3]].contains(&request);
            match is_last {
                true => assert_eq!(&answer, reply),
                false => assert_eq!(status(&answer), Status::DeadSession, "the client has sent another one since"),
            }
        }
        assert_eq!(back(&restarted).reply_to(&requests[0]), replies[0]);
    }
}

#[test]
fn new_request_in_a_session_that_ended_is_refused_and_an_unknown_session_is_bad() {
    let (killed, log) = started(memory(), &[]);
    let session = Session::new(caller(&killed), 1);
    let silent = Session::named(caller(&killed).over(2), 1, b"another client");
    silent.call(&silent.begin().root());
    let used = session.next.get();
    session.call(&session.begin().root().op::<Create>(&directory("a")));
    let (restarted, _) = started(memory(), &log.all());
    let of = |compound: &Compound| status(&back(&restarted).reply_to(&session.caller.message_of(COMPOUND, compound)));
    let other = directory("other");
    assert_eq!(of(&on_slot(&session, 0, used + 1).op::<Create>(&other)), Status::DeadSession);
    assert_eq!(of(&on_slot(&session, 1, 1).op::<Create>(&other)), Status::DeadSession);
    assert_eq!(of(&on_slot(&session, 0, used).op::<Create>(&other)), Status::SeqFalseRetry);
    assert_eq!(of(&on_slot(&silent, 0, 3)), Status::BadSession, "a session without changes is not remembered");
}

/// The principal is a part of the request.
#[test]
fn another_user_does_not_get_the_reply() {
    let (killed, log) = started(memory(), &[]);
    let session = Session::new(caller(&killed), 1);
    let request = session.begin().root().op::<Create>(&directory("a"));
    session.call(&request);
    let (restarted, _) = started(memory(), &log.all());
    let user = back(&restarted).user(1000, 1000, &[]);
    assert_eq!(status(&user.reply_to(&user.message_of(COMPOUND, &request))), Status::SeqFalseRetry);
}

#[test]
fn requests_that_change_nothing_and_new_sessions_cost_no_record() {
    let (server, log) = started(memory(), &[]);
    let session = Session::new(caller(&server), 2);
    session.call(&session.begin().root().op::<Getattr>(&GetattrArgs { request: Attribute::set(&[Attribute::Size]) }));
    session.call(&session.begin());
    assert!(log.all().is_empty());
    session.call(&session.begin().root().op::<Open>(&opening(b"file")));
    assert_eq!(log.kinds(), [SLOT_ANSWERED]);
}

#[test]
fn sessions_of_before_the_start_are_forgotten_after_the_age_of_replies() {
    let (killed, log) = started(memory(), &[]);
    let session = Session::new(caller(&killed), 1);
    let request = session.caller.message_of(COMPOUND, &session.begin().root().op::<Create>(&directory("a")));
    session.caller.reply_to(&request);
    let (restarted, _) = started(memory(), &log.all());
    let late = Caller { now: Duration::from_secs(121), ..back(&restarted) };
    assert_eq!(status(&late.reply_to(&request)), Status::BadSession);
}

#[test]
fn reply_that_is_too_long_to_be_kept_is_not_made_twice() {
    let files = memory();
    let (killed, log) = started(files.clone(), &[]);
    let session = Session::new(caller(&killed), 1);
    for number in 0..200 {
        session.call(&session.begin().root().op::<Create>(&directory(&format!("directory-{number}"))));
    }
    log.clear();
    let listing = ReaddirArgs {
        cookie: 0,
        verifier: [0; 8],
        dir_count: 1 << 16,
        max_count: 1 << 16,
        request: Attribute::set(&[Attribute::Size]),
    };
    let remove = RemoveArgs { target: Component(b"directory-0") };
    let uncached = SequenceArgs { cache_this: false, ..session.sequence(session.next.get()) };
    let request = Compound::new(1).op::<Sequence>(&uncached).root().op::<Remove>(&remove).op::<Readdir>(&listing);
    let request = session.caller.message_of(COMPOUND, &request);
    assert!(session.caller.reply_to(&request).len() > 4096);
    let (restarted, _) = started(files, &log.all());
    assert_eq!(status(&back(&restarted).reply_to(&request)), Status::RetryUncachedRep);
}

/// Records survive any number of restarts, for as long as they are young.
#[test]
fn reply_is_there_after_a_second_kill_too() {
    let (first, log) = started(memory(), &[]);
    let session = Session::new(caller(&first), 2);
    let request = session.caller.message_of(COMPOUND, &session.begin().root().op::<Create>(&directory("a")));
    let reply = session.caller.reply_to(&request);
    let (second, next) = started(memory(), &log.all());
    let (third, _): (Server, Arc<Records>) = started(memory(), &[log.all(), next.all()].concat());
    assert_eq!(back(&second).reply_to(&request), reply);
    assert_eq!(back(&third).reply_to(&request), reply);
}
