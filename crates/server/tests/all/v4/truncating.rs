//! OPENs that truncate an existing file (RFC 8881 §18.16.3): a refused one leaves the file as it was.

use proto::nfs3;
use proto::nfs4::{
    Attribute, Component, CreateHow, Fattr, Open, OpenArgs, OpenClaim, OpenHow, OpenOk, Res, SHARE_ACCESS_BOTH,
    SHARE_ACCESS_READ, SHARE_ACCESS_WRITE, SHARE_DENY_BOTH, SHARE_DENY_NONE, SHARE_DENY_READ, SHARE_DENY_WRITE,
    StateOwner, Status,
};
use proto::nlm::{NetObj, Share, ShareAccess, ShareArgs, ShareMode, ShareReservation, V4};

use crate::v4::client40::Client40;
use testing::caller::nfs3::{mode, success as success3};
use testing::caller::{Caller, memory_server};
use testing::compound::{failure, success};
use testing::session::Session;

/// A size of 0.
const EMPTY: Fattr<'static> = Fattr { mask: Attribute::set(&[Attribute::Size]), values: &[0; 8] };

fn truncating(owner: &str, access: u32, deny: u32) -> OpenArgs<'_> {
    OpenArgs {
        seqid: 0,
        share_access: access,
        share_deny: deny,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: owner.as_bytes() },
        how: OpenHow::Create(CreateHow::Unchecked(EMPTY)),
        claim: OpenClaim::Null(Component(b"f")),
    }
}

fn opened(session: &Session<'_>, args: &OpenArgs<'_>) -> Res<OpenOk<'static>> {
    session.call(&session.begin().root().op::<Open>(args)).skip_root().take::<Open>()
}

/// A file called `f` with four bytes.
fn file(caller: &Caller<'_>) -> nfs3::FileHandle {
    let file = caller.make_file(&caller.mount(), "f");
    success3(caller.write(&file, 0, nfs3::StableHow::FileSync, b"data"));
    file
}

#[test]
fn open_that_share_reservations_refuse_leaves_the_data() {
    let cases = [
        ((SHARE_ACCESS_BOTH, SHARE_DENY_READ), (SHARE_ACCESS_BOTH, SHARE_DENY_NONE)),
        ((SHARE_ACCESS_READ, SHARE_DENY_NONE), (SHARE_ACCESS_WRITE, SHARE_DENY_BOTH)),
        ((SHARE_ACCESS_READ, SHARE_DENY_WRITE), (SHARE_ACCESS_WRITE, SHARE_DENY_NONE)),
    ];
    for ((access, deny), (wanted, denied)) in cases {
        let server = memory_server();
        let caller = Caller::root(&server);
        let file = file(&caller);
        let holder = Session::named(caller, 1, b"holder");
        let how = OpenHow::NoCreate;
        success(opened(&holder, &OpenArgs { how, ..truncating("holder", access, deny) }));
        for (minor, name) in [(1, b"other-1"), (2, b"other-2")] {
            let session = Session::named(caller, minor, name);
            let refused = opened(&session, &truncating("other", wanted, denied));
            assert_eq!(failure(refused), Status::ShareDenied);
        }
        let client = Client40::named(caller, b"old");
        let open = OpenArgs { seqid: 1, owner: client.owner("old"), ..truncating("old", wanted, denied) };
        let refused = caller.compound(&client.opening(&open)).skip_root().take::<Open>();
        assert_eq!(failure(refused), Status::ShareDenied);
        assert_eq!(caller.attributes(&file).size, 4);
    }
}

#[test]
fn open_that_a_share_of_the_lock_protocol_refuses_leaves_the_data() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = file(&caller);
    let (name, object, owner) = (&b"box"[..], NetObj(file.as_bytes()), NetObj(b"dos"));
    let (mode, access) = (ShareMode::DenyRead, ShareAccess::Both);
    let share = ShareReservation { caller_name: name, file: object, owner, mode, access };
    let shared = caller.call::<Share<V4>>(&ShareArgs { cookie: NetObj(b"1"), share, reclaim: false });
    assert_eq!(shared.status, proto::nlm::Status::Granted);
    let session = Session::new(caller, 1);
    let refused = opened(&session, &truncating("o", SHARE_ACCESS_BOTH, SHARE_DENY_NONE));
    assert_eq!(failure(refused), Status::ShareDenied);
    assert_eq!(caller.attributes(&file).size, 4);
}

#[test]
fn truncating_needs_write_permission_even_of_the_owner() {
    let server = memory_server();
    let owner = Caller::root(&server).user(1000, 100, &[]);
    let file = file(&owner);
    success3(owner.setattr(&file, mode(0o444)));
    let session = Session::new(owner, 1);
    let writing = truncating("o", SHARE_ACCESS_WRITE, SHARE_DENY_NONE);
    assert_eq!(failure(opened(&session, &writing)), Status::Access);
    assert_eq!(owner.attributes(&file).size, 4);
    success3(owner.setattr(&file, mode(0o644)));
    let ok = success(opened(&session, &writing));
    assert_eq!((ok.attributes_set, owner.attributes(&file).size), (EMPTY.mask, 0));
}

#[test]
fn open_for_reading_alone_truncates_no_file() {
    let server = memory_server();
    let owner = Caller::root(&server).user(1000, 100, &[]);
    let file = file(&owner);
    let reading = |owner| truncating(owner, SHARE_ACCESS_READ, SHARE_DENY_NONE);
    for (minor, name) in [(1, b"first "), (2, b"second")] {
        let session = Session::named(owner, minor, name);
        assert_eq!(failure(opened(&session, &reading("o"))), Status::Inval);
        // A new file has the size anyway.
        let claim = OpenClaim::Null(Component(name));
        success(opened(&session, &OpenArgs { claim, ..reading("o") }));
    }
    let client = Client40::named(owner, b"old");
    let open = OpenArgs { seqid: 1, owner: client.owner("old"), ..reading("old") };
    let refused = owner.compound(&client.opening(&open)).skip_root().take::<Open>();
    assert_eq!(failure(refused), Status::Inval);
    assert_eq!(owner.attributes(&file).size, 4);
}

#[test]
fn truncating_open_upgrades_the_open_that_its_owner_has() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = file(&caller);
    let session = Session::new(caller, 1);
    let how = OpenHow::NoCreate;
    let reading = OpenArgs { how, ..truncating("o", SHARE_ACCESS_READ, SHARE_DENY_NONE) };
    let first = success(opened(&session, &reading)).stateid;
    let second = success(opened(&session, &truncating("o", SHARE_ACCESS_BOTH, SHARE_DENY_WRITE))).stateid;
    assert_eq!((second.other, second.seqid), (first.other, first.seqid + 1));
    assert_eq!(caller.attributes(&file).size, 0);
    // The reservation for the truncation is over: only the open itself denies others.
    let other = Session::named(caller, 1, b"other");
    let reader = OpenArgs { how: OpenHow::NoCreate, ..truncating("p", SHARE_ACCESS_READ, SHARE_DENY_NONE) };
    success(opened(&other, &reader));
}
