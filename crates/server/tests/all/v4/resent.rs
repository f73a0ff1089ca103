//! Operations of NFSv4.1 and 4.2 whose server is killed before it answers: the client sends them again in a new
//! session.

use std::time::Duration;

use proto::nfs4::{
    ClientId, Component, Create, CreateArgs, CreateHow, CreateType, Fattr, Link, LinkArgs, Open, OpenArgs, OpenClaim,
    OpenHow, Remove, RemoveArgs, Rename, RenameArgs, SHARE_ACCESS_BOTH, Savefh, StateOwner, Status,
};
use server::Server;

use testing::caller::records::{BEGUN, ENDED, Records, SLOT_ANSWERED, started, started_after_power_failure};
use testing::caller::ticketed::Ticketed;
use testing::caller::{Caller, memory};
use testing::compound::{COMPOUND, Compound, Results};
use testing::session::Session;

/// A client whose server was started just now.
fn caller(server: &Server) -> Caller<'_> {
    Caller { now: Duration::from_secs(1), ..Caller::root(server) }
}

fn directory(name: &'static str) -> CreateArgs<'static> {
    CreateArgs { kind: CreateType::Directory, name: Component(name.as_bytes()), attributes: Fattr::EMPTY }
}

fn guarded(name: &'static [u8]) -> OpenArgs<'static> {
    OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_BOTH,
        share_deny: 0,
        owner: StateOwner { client: ClientId(0), owner: b"owner" },
        how: OpenHow::Create(CreateHow::Guarded(Fattr::EMPTY)),
        claim: OpenClaim::Null(Component(name)),
    }
}

fn in_root(session: &Session<'_>) -> Compound {
    session.begin().root()
}

/// One operation, behind what it needs.
type Operation = fn(Compound) -> Compound;

/// Each of them fails when it is carried out twice.
fn operations() -> [(&'static str, Operation); 5] {
    [
        ("CREATE", |at| at.op::<Create>(&directory("lock"))),
        ("REMOVE", |at| at.op::<Remove>(&RemoveArgs { target: Component(b"victim") })),
        ("RENAME", |at| {
            let args = RenameArgs { old_name: Component(b"from"), new_name: Component(b"to") };
            at.op::<Savefh>(&()).op::<Rename>(&args)
        }),
        ("LINK", |at| {
            let link = LinkArgs { new_name: Component(b"again") };
            at.lookup("link").op::<Savefh>(&()).root().op::<Link>(&link)
        }),
        ("OPEN", |at| at.op::<Open>(&guarded(b"made"))),
    ]
}

fn status(session: &Session<'_>, operation: Operation) -> Status {
    session.call(&operation(in_root(session))).status
}

/// The files that the operations work on.
fn set_up(session: &Session<'_>) {
    let kind = CreateType::Symlink(b"target");
    let link = CreateArgs { kind, name: Component(b"link"), attributes: Fattr::EMPTY };
    let files = in_root(session).op::<Create>(&directory("victim")).root().op::<Create>(&directory("from"));
    assert_eq!(session.call(&files.root().op::<Create>(&link)).status, Status::Ok);
}

/// Each operation with the state in which a killed server leaves it: carried out, and noted as begun.
fn each_killed(check: impl Fn(&str, Operation, &dyn Fn() -> (Server, std::sync::Arc<Records>))) {
    let files = memory();
    let (killed, log) = started(files.clone(), &[]);
    let session = Session::named(caller(&killed), 1, b"client");
    set_up(&session);
    for (name, operation) in operations() {
        log.clear();
        assert_eq!(status(&session, operation), Status::Ok, "{name}");
        assert_eq!(log.kinds(), [BEGUN, ENDED, SLOT_ANSWERED], "{name}");
        for unwritten in [1, 2] {
            let records = log.without_the_last(unwritten);
            let name = format!("{name} without the last {unwritten}");
            check(&name, operation, &|| started(files.clone(), &records));
        }
    }
}

#[test]
fn operation_that_a_killed_server_carried_out_succeeds_once_in_the_clients_next_session() {
    each_killed(|name, operation, restart| {
        let (restarted, _) = restart();
        let session = Session::named(caller(&restarted), 1, b"client");
        assert_eq!(status(&session, operation), Status::Ok, "{name} again");
        assert_ne!(status(&session, operation), Status::Ok, "{name} of another process of the client");
    });
}

#[test]
fn nobody_but_the_same_user_of_the_same_client_claims_it() {
    each_killed(|name, operation, restart| {
        let (restarted, _) = restart();
        let other = Session::named(caller(&restarted).from("192.0.2.1:701").over(2), 1, b"other client");
        assert_ne!(status(&other, operation), Status::Ok, "{name} of another client");
        let session = Session::named(caller(&restarted), 1, b"client");
        let user = Session { caller: caller(&restarted).user(1000, 1000, &[]), ..session };
        assert_ne!(status(&user, operation), Status::Ok, "{name} of another user");
        let session = Session { caller: caller(&restarted), ..user };
        assert_eq!(status(&session, operation), Status::Ok, "{name} again");
    });
}

/// The request is retransmitted in the session that ended: its client lacks the reply, which was lost with the power.
#[test]
fn operation_that_the_write_log_has_succeeds_once_when_its_request_came_again_after_a_power_failure() {
    let files = Ticketed::new(memory());
    let (killed, log) = started(files.clone(), &[]);
    let session = Session::named(caller(&killed), 1, b"client");
    set_up(&session);
    for (name, operation) in operations() {
        log.clear();
        files.take();
        let request = session.caller.message_of(COMPOUND, &operation(in_root(&session)));
        let reply = session.caller.reply_to(&request);
        let made = files.take();
        assert_eq!((Results::parse(&reply).status, made.len()), (Status::Ok, 1), "{name}");

        let (restarted, next) = started_after_power_failure(files.clone(), &[], &made);
        let after = Session::named(caller(&restarted), 1, b"client");
        assert_ne!(status(&after, operation), Status::Ok, "{name} of another process of the client");
        let answer = Results::parse(&caller(&restarted).over(9).reply_to(&request));
        assert_eq!(answer.status, Status::DeadSession, "{name} in the session that ended");
        let (killed_then, _) = started(files.clone(), &next.all());
        let later = Session::named(caller(&killed_then), 1, b"client");
        assert_eq!(status(&later, operation), Status::Ok, "{name} after a kill");
        assert_eq!(status(&after, operation), Status::Ok, "{name} again");
        assert_ne!(status(&after, operation), Status::Ok, "{name} a third time");

        let (killed_again, _) = started(files.clone(), &next.all());
        let answer = Results::parse(&caller(&killed_again).over(9).reply_to(&request));
        assert_eq!(answer.status, Status::BadSession, "{name} was answered in the client's next session");
        let (restarted, _) = started_after_power_failure(files.clone(), &log.all(), &made);
        assert_eq!(caller(&restarted).over(9).reply_to(&request), reply, "{name}, whose reply was kept");
    }
}

/// Others have changed the names since the restart: the operation is a new one.
#[test]
fn operation_whose_names_have_changed_since_is_carried_out() {
    let files = memory();
    let (killed, log) = started(files.clone(), &[]);
    let session = Session::named(caller(&killed), 1, b"client");
    set_up(&session);
    log.clear();
    let remove: Operation = |at| at.op::<Remove>(&RemoveArgs { target: Component(b"victim") });
    assert_eq!(status(&session, remove), Status::Ok);
    let (restarted, _) = started(files, &log.without_the_reply());
    // The removal is known, and would succeed without being made.
    let other = Session::named(caller(&restarted).from("192.0.2.2:700").over(2), 1, b"other client");
    assert_eq!(other.call(&in_root(&other).op::<Create>(&directory("victim"))).status, Status::Ok);
    let session = Session::named(caller(&restarted), 1, b"client");
    assert_eq!(status(&session, remove), Status::Ok, "the other client's directory is removed");
    assert_eq!(status(&session, remove), Status::NoEnt);
}

/// An answered operation is not claimed: the client has the reply, or gets it in the session that ended.
#[test]
fn operation_that_ended_before_the_server_was_killed_is_not_claimed() {
    let files = memory();
    let (killed, log) = started(files.clone(), &[]);
    let session = Session::named(caller(&killed), 1, b"client");
    set_up(&session);
    let mut records = Vec::new();
    for (name, operation) in operations() {
        log.clear();
        assert_eq!(status(&session, operation), Status::Ok, "{name}");
        records.extend(log.all());
        let (restarted, _) = started(files.clone(), &records);
        let session = Session::named(caller(&restarted), 1, b"client");
        assert_ne!(status(&session, operation), Status::Ok, "{name} of another process of the client");
    }
}
