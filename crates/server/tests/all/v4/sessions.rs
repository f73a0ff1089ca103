//! Exactly-once semantics (RFC 8881 §2.10.6).

use proto::nfs4::{
    Component, Create, CreateArgs, CreateType, DestroySession, DestroySessionArgs, ExchangeId, ExchangeIdArgs, Fattr,
    Getattr, GetattrArgs, Sequence, SequenceArgs, Setclientid, SlotId, SsvParms, StateProtect, StateProtectOps, Status,
};

use rpc::{AuthSys, Credential};
use server::{AccessRule, ClientPattern, Export, ExportOptions, Server};

use crate::v4::client40::setclientid;
use testing::caller::{Caller, export, memory, memory_server, server, settings};
use testing::compound::{COMPOUND, Compound, Results, failure, success};
use testing::session::Session;

fn directory(name: &str) -> CreateArgs<'_> {
    CreateArgs { kind: CreateType::Directory, name: Component(name.as_bytes()), attributes: Fattr::EMPTY }
}

#[test]
fn repeated_request_gets_the_very_bytes_of_its_reply_and_is_not_carried_out_again() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let message = session.caller.message_of(COMPOUND, &session.begin().root().op::<Create>(&directory("d")));
    let first = session.caller.reply_to(&message);
    assert_eq!(session.caller.reply_to(&message), first);

    let mut again = session.call(&session.begin().root().op::<Create>(&directory("d")));
    assert_eq!(failure(again.skip_root().take::<Create>()), Status::Exist);
}

/// Linux encodes a request again for another connection, with the highest slot that it uses by then.
#[test]
fn request_with_another_highest_slot_is_the_same_one() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let next = session.next.get();
    let of = |highest_slot: u32| {
        let args = SequenceArgs { highest_slot: SlotId(highest_slot), ..session.sequence(next) };
        let compound = Compound::new(1).op::<Sequence>(&args).root().op::<Create>(&directory("d"));
        Results::parse(&session.caller.reply_to(&session.caller.message_of(COMPOUND, &compound))).status
    };
    assert_eq!([of(0), of(2)], [Status::Ok, Status::Ok]);
}

#[test]
fn address_that_no_export_admits_gets_no_client_id() {
    let clients = ClientPattern::Network { address: "192.0.2.0".parse().unwrap(), prefix_bits: 24 };
    let rules = vec![AccessRule { clients, options: ExportOptions::default() }];
    let export = Export { rules, ..export("/export", memory()) };
    let server = server(vec![export]);
    let stranger = Caller::root(&server).from("198.51.100.1:700");
    let exchange = ExchangeIdArgs {
        verifier: [1; 8],
        owner_id: b"stranger",
        flags: 0,
        state_protect: StateProtect::None,
        implementation: None,
    };
    let exchanged = stranger.compound(&Compound::new(1).op::<ExchangeId>(&exchange)).take::<ExchangeId>();
    assert_eq!(failure(exchanged), Status::Perm);
    let set = Compound::new(0).op::<Setclientid>(&setclientid(b"stranger", [1; 8]));
    assert_eq!(Results::parse(&stranger.reply_to(&stranger.message_of(COMPOUND, &set))).status, Status::Perm);
    let session = Session::new(Caller::root(&server), 1);
    session.call(&session.begin().root());
}

#[test]
fn failure_is_repeated_too() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let lookup = session.caller.message_of(COMPOUND, &session.begin().root().lookup("d"));
    let first = session.caller.reply_to(&lookup);
    assert_eq!(Results::parse(&first).status, Status::NoEnt);
    let other = Session::named(Caller::root(&server), 1, b"another");
    let mut made = other.call(&other.begin().root().op::<Create>(&directory("d")));
    success(made.skip_root().take::<Create>());
    assert_eq!(session.caller.reply_to(&lookup), first);
}

#[test]
fn another_request_under_the_last_number_is_a_false_retry() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let used = session.next.get();
    session.call(&session.begin().root().op::<Create>(&directory("d")));
    let other = Compound::new(1).op::<Sequence>(&session.sequence(used)).root().op::<Create>(&directory("another"));
    assert_eq!(failure(session.caller.compound(&other).take::<Sequence>()), Status::SeqFalseRetry);
}

#[test]
fn retry_by_another_user_is_a_false_one_however_long_the_name_of_the_machine() {
    let server = memory_server();
    let mut session = Session::new(Caller::root(&server), 1);
    let of = |uid| Credential::Sys(AuthSys::new(&[b'm'; AuthSys::MAX_MACHINE_NAME], uid, 0, &[]));
    let request = session.begin().root();
    session.caller.credential = of(1);
    success(session.caller.compound(&request).take::<Sequence>());
    success(session.caller.compound(&request).take::<Sequence>());
    session.caller.credential = of(2);
    assert_eq!(failure(session.caller.compound(&request).take::<Sequence>()), Status::SeqFalseRetry);
}

#[test]
fn number_that_is_neither_the_last_nor_the_next_is_misordered() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    session.call(&session.begin().root());
    let next = session.next.get();
    for wrong in [next + 1, next - 2, 0] {
        let results = Compound::new(1).op::<Sequence>(&session.sequence(wrong));
        assert_eq!(failure(session.caller.compound(&results).take::<Sequence>()), Status::SeqMisordered, "{wrong}");
    }
}

#[test]
fn session_that_was_destroyed_takes_no_requests() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 2);
    let destroy = Compound::new(2).op::<DestroySession>(&DestroySessionArgs { session: session.id });
    success(session.caller.compound(&destroy).take::<DestroySession>());
    assert_eq!(failure(session.caller.compound(&session.begin()).take::<Sequence>()), Status::BadSession);
}

#[test]
fn sequence_alone_keeps_the_lease_and_the_slot_going() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 2);
    for _ in 0..100 {
        session.call(&session.begin()).end();
    }
    let mut results = session.call(&session.begin().root().op::<Getattr>(&GetattrArgs { request: Fattr::EMPTY.mask }));
    assert!(success(results.skip_root().take::<Getattr>()).values.is_empty());
}

#[test]
fn protection_that_needs_rpcsec_gss_is_refused() {
    // RFC 8881 §18.35.3: SP4_MACH_CRED asks for a principal that was authenticated with integrity, SP4_SSV for
    // algorithms.
    let server = memory_server();
    let caller = Caller::root(&server);
    let ask = |state_protect| {
        let args =
            ExchangeIdArgs { verifier: [1; 8], owner_id: b"the client", flags: 0, state_protect, implementation: None };
        failure(caller.compound(&Compound::new(1).op::<ExchangeId>(&args)).take::<ExchangeId>())
    };
    let ops = StateProtectOps::default();
    assert_eq!(ask(StateProtect::MachCred(ops)), Status::Inval);
    let (hash_algorithms, encryption_algorithms) = (Vec::new(), Vec::new());
    let ssv = SsvParms { ops, hash_algorithms, encryption_algorithms, window: 4, gss_handles: 1 };
    assert_eq!(ask(StateProtect::Ssv(ssv)), Status::EncrAlgUnsupp);
}

/// They are arbitrary (RFC 5531 appendix A).
#[test]
fn retransmission_with_another_stamp_and_machine_name_is_the_same_request_and_one_of_another_user_is_not() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let compound = session.begin().root().op::<Create>(&directory("d"));
    let sent = |name: &'static [u8], stamp, uid, groups: &[u32]| {
        let mut sys = AuthSys::new(name, uid, 0, groups);
        sys.stamp = stamp;
        let caller = Caller { credential: Credential::Sys(sys), ..session.caller };
        Results::parse(&caller.reply_to(&caller.message_of(COMPOUND, &compound))).status
    };
    assert_eq!(sent(b"box", 1, 0, &[5]), Status::Ok);
    assert_eq!(sent(b"another", 2, 0, &[5]), Status::Ok);
    assert_eq!(sent(b"box", 1, 0, &[6]), Status::SeqFalseRetry);
    assert_eq!(sent(b"box", 1, 1000, &[5]), Status::SeqFalseRetry);
}

/// Clients would use two servers with one owner and scope as one (RFC 8881 §2.10.5).
#[test]
fn server_with_a_copy_of_the_state_is_another_one_and_a_restarted_one_is_not() {
    let owner_at = |place: &[u8]| {
        let mut settings = settings();
        settings.place = place.into();
        let server = Server::new(settings, vec![export("/export", memory())]).unwrap();
        let exchange = ExchangeIdArgs {
            verifier: [1; 8],
            owner_id: b"client",
            flags: 0,
            state_protect: StateProtect::None,
            implementation: None,
        };
        let caller = Caller::root(&server);
        let exchanged = caller.compound(&Compound::new(1).op::<ExchangeId>(&exchange)).take::<ExchangeId>();
        let exchanged = success(exchanged);
        (exchanged.server_owner.major_id.to_vec(), exchanged.server_scope.to_vec())
    };
    let (owner, scope) = owner_at(b"here");
    assert_eq!((owner.clone(), scope.clone()), owner_at(b"here"));
    let (other_owner, other_scope) = owner_at(b"there");
    assert!(owner != other_owner && scope != other_scope);
}
