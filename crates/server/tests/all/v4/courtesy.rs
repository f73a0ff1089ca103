//! Clients whose leases are over (RFC 8881 §8.3, RFC 7530 §9.6.3).

use proto::nfs4::{
    Component, CreateHow, Fattr, Open, OpenArgs, OpenClaim, OpenHow, Read, ReadArgs, Renew, RenewArgs,
    SEQ_STATUS_EXPIRED_ALL_STATE_REVOKED, SHARE_ACCESS_BOTH, SHARE_DENY_BOTH, SHARE_DENY_NONE, Sequence, StateOwner,
    Stateid, Status, WANT_NO_DELEG,
};

use crate::v4::client40::Client40;
use testing::caller::{Caller, memory_server};
use testing::compound::{Compound, failure, success};
use testing::session::Session;

const HOUR: u64 = 3600;
const FILE: &str = "/srv/export/f";

fn open(share_deny: u32) -> OpenArgs<'static> {
    OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_BOTH | WANT_NO_DELEG,
        share_deny,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"owner" },
        how: OpenHow::Create(CreateHow::Unchecked(Fattr::EMPTY)),
        claim: OpenClaim::Null(Component(b"f")),
    }
}

fn read(stateid: Stateid) -> ReadArgs {
    ReadArgs { stateid, offset: 0, count: 10 }
}

fn later(session: Session<'_>, seconds: u64) -> Session<'_> {
    Session { caller: session.caller.later(seconds), ..session }
}

#[test]
fn silent_client_keeps_what_nobody_wants_and_loses_what_somebody_does() {
    let server = memory_server();
    let silent = Session::named(Caller::root(&server), 1, b"silent");
    let opened = silent.begin().root().op::<Open>(&open(SHARE_DENY_BOTH)).op::<Read>(&read(Stateid::CURRENT));
    let mut results = silent.call(&opened);
    let stateid = success(results.skip_root().take::<Open>()).stateid;
    success(results.take::<Read>());

    let silent = later(silent, HOUR);
    success(silent.call(&silent.begin().path(FILE).op::<Read>(&read(stateid))).skip_path(FILE).take::<Read>());

    let other = Session::named(Caller::root(&server).later(2 * HOUR), 1, b"other");
    let wanted = other.call(&other.begin().root().op::<Open>(&open(SHARE_DENY_NONE))).skip_root().take::<Open>();
    success(wanted);
    let silent = later(silent, 2 * HOUR);
    let mut told = silent.caller.compound(&silent.begin().path(FILE).op::<Read>(&read(stateid)));
    assert_ne!(success(told.take::<Sequence>()).status_flags & SEQ_STATUS_EXPIRED_ALL_STATE_REVOKED, 0);
    assert_eq!(failure(told.skip_path(FILE).take::<Read>()), Status::Expired);
}

#[test]
fn silent_client_of_v40_hears_that_it_has_expired_once_somebody_wanted_something() {
    let server = memory_server();
    let silent = Client40::named(Caller::root(&server), b"silent");
    let args = OpenArgs { share_deny: SHARE_DENY_BOTH, ..silent.open("owner", 1, "f") };
    Client40::opened(&mut silent.caller.compound(&silent.opening(&args)));
    let renew = Compound::new(0).op::<Renew>(&RenewArgs { client: silent.id });
    let silent = Client40 { caller: silent.caller.later(HOUR), ..silent };
    success(silent.caller.compound(&renew).take::<Renew>());

    let other = Session::named(Caller::root(&server).later(2 * HOUR), 1, b"other");
    success(other.call(&other.begin().root().op::<Open>(&open(SHARE_DENY_NONE))).skip_root().take::<Open>());
    let silent = Client40 { caller: silent.caller.later(2 * HOUR), ..silent };
    assert_eq!(failure(silent.caller.compound(&renew).take::<Renew>()), Status::Expired);
}
