//! Delegations and the callbacks about them (RFC 8881 §10.4, §20.1, §20.2).

use proto::nfs4::{
    Attribute, AttributeValue, BackchannelCtl, BackchannelCtlArgs, BindConnToSession, BindConnToSessionArgs, Bitmap,
    CallbackArgOp, CallbackClient, CallbackResOp, CallbackSec, CbCompoundArgs, CbCompoundReply, CbSequenceArgs,
    CbSequenceOk, ClientDirection, Close, CloseArgs, Component, CreateHow, Delegation, DelegationClaim, Delegpurge,
    DelegpurgeArgs, Delegreturn, DelegreturnArgs, Fattr, GetDirDelegation, GetDirDelegationArgs, Getattr, GetattrArgs,
    Lock, LockArgs, LockType, Locker, Locku, LockuArgs, Lookup, NetAddr, Open, OpenArgs, OpenClaim, OpenHow, Remove,
    RemoveArgs, Res, ResOr, SEQ_STATUS_CB_PATH_DOWN, SEQ_STATUS_RECALLABLE_STATE_REVOKED, SHARE_ACCESS_BOTH,
    SHARE_ACCESS_READ, SHARE_ACCESS_WRITE, SHARE_DENY_NONE, ServerDirection, Setattr, SetattrArgs, Setclientid,
    SetclientidArgs, SetclientidConfirm, SetclientidConfirmArgs, StateOwner, Stateid, Status, Time, WantDelegation,
    WantDelegationArgs,
};
use rpc::{Reply, Xid};
use server::{DelegationPolicy, Destination, ExportOptions, Server, Transmit};
use xdr::{Decode, Encode, Encoder};

use testing::caller::{Caller, EXPORT, export_with, memory, memory_server, nfs3, server};
use testing::compound::{Compound, failure, success};
use testing::session::Session;

mod leased;

fn open(share_access: u32) -> OpenArgs<'static> {
    OpenArgs {
        seqid: 0,
        share_access,
        share_deny: SHARE_DENY_NONE,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"owner" },
        how: OpenHow::Create(CreateHow::Unchecked(Fattr::EMPTY)),
        claim: OpenClaim::Null(Component(b"f")),
    }
}

/// A client with a back channel over a connection of its own.
fn client(server: &Server, number: u64) -> Session<'_> {
    let caller = Caller::root(server).from(&format!("192.0.2.{number}:700")).over(number);
    Session::with_back_channel(caller, 1, format!("client {number}").as_bytes())
}

fn opened(session: &Session<'_>, share_access: u32) -> (Stateid, Delegation<'static>) {
    let ok = success(session.call(&session.begin().root().op::<Open>(&open(share_access))).skip_root().take::<Open>());
    (ok.stateid, ok.delegation)
}

fn refused(session: &Session<'_>, share_access: u32) -> Status {
    failure(session.call(&session.begin().root().op::<Open>(&open(share_access))).skip_root().take::<Open>())
}

fn read_delegation(delegation: &Delegation<'_>) -> Stateid {
    match delegation {
        Delegation::Read(read) => read.stateid,
        other => panic!("no delegation for reading but {other:?}"),
    }
}

fn write_delegation(delegation: &Delegation<'_>) -> Stateid {
    match delegation {
        Delegation::Write(write) => write.stateid,
        other => panic!("no delegation for writing but {other:?}"),
    }
}

fn give_back(session: &Session<'_>, stateid: Stateid) {
    let args = DelegreturnArgs { stateid };
    let mut results = session.call(&session.begin().root().lookup("f").op::<Delegreturn>(&args));
    success(results.skip_root().take::<Lookup>());
    success(results.take::<Delegreturn>());
}

/// A callback that the server wants to send.
struct Callback {
    xid: Xid,
    destination: Destination,
    sequence: CbSequenceArgs,
    operation: CallbackArgOp<'static>,
}

fn next_callback(caller: &Caller<'_>) -> Option<Callback> {
    let Transmit { destination, message } = caller.server.next_transmit(caller.now)?;
    let message: &'static [u8] = message.leak();
    let call = rpc::Call::parse(message).unwrap();
    assert_eq!((call.procedure.program, call.procedure.version, call.procedure.number), (0x4000_0000, 1, 1));
    let args = CbCompoundArgs::decode(&mut call.arguments.clone()).unwrap();
    assert_eq!(args.minor_version, 1);
    let [CallbackArgOp::CbSequence(sequence), operation] = &*args.operations else { panic!("{args:?}") };
    Some(Callback { xid: call.xid, destination, sequence: sequence.clone(), operation: operation.clone() })
}

/// The callback that must be in flight.
fn callback(caller: &Caller<'_>) -> Callback {
    next_callback(caller).expect("a callback")
}

/// Answers a callback with the result of its operation.
fn answer(session: &Session<'_>, callback: &Callback, result: CallbackResOp<'_>) {
    let CbSequenceArgs { session: id, sequence, slot, highest_slot, .. } = callback.sequence;
    let ok = CbSequenceOk { session: id, sequence, slot, highest_slot, target_highest_slot: highest_slot };
    let status = match &result {
        CallbackResOp::CbRecall(Res::Fail(status)) | CallbackResOp::CbGetattr(Res::Fail(status)) => *status,
        _ => Status::Ok,
    };
    let results = vec![CallbackResOp::CbSequence(Res::Ok(ok)), result];
    let mut bytes = buffer::Buffer::new();
    let mut to = Encoder::new(&mut bytes);
    Reply::encode_success(callback.xid, &mut to);
    CbCompoundReply { status, tag: b"", results }.encode(&mut to);
    session.caller.server.take_reply(&session.caller.peer, bytes.as_slice(), session.caller.now);
}

fn recalled(callback: &Callback) -> Stateid {
    match &callback.operation {
        CallbackArgOp::CbRecall(recall) => recall.stateid,
        other => panic!("no recall but {other:?}"),
    }
}

const RECALLED: CallbackResOp<'_> = CallbackResOp::CbRecall(Res::Ok(()));

#[test]
fn conflicting_open_recalls_over_the_back_channel_and_succeeds_after_the_return() {
    let server = memory_server();
    let (first, second) = (client(&server, 1), client(&server, 2));
    let stateid = read_delegation(&opened(&first, SHARE_ACCESS_READ).1);
    assert!(matches!(opened(&second, SHARE_ACCESS_READ).1, Delegation::Read(_)), "readers share");
    assert!(next_callback(&first.caller).is_none());
    assert_eq!(refused(&second, SHARE_ACCESS_WRITE), Status::Delay);
    let callback = callback(&first.caller);
    assert_eq!((callback.destination, recalled(&callback)), (Destination::Connection(1), stateid));
    answer(&first, &callback, RECALLED);
    give_back(&first, stateid);
    opened(&second, SHARE_ACCESS_WRITE);
}

#[test]
fn recall_that_the_client_does_not_know_yet_comes_again() {
    let server = memory_server();
    let (first, second) = (client(&server, 1), client(&server, 2));
    let (open, delegation) = opened(&first, SHARE_ACCESS_BOTH);
    let stateid = write_delegation(&delegation);
    let close = CloseArgs { seqid: 0, open_stateid: open };
    let mut closed = first.call(&first.begin().root().lookup("f").op::<Close>(&close));
    success(closed.skip_root().take::<Lookup>());
    success(closed.take::<Close>());
    assert_eq!(refused(&second, SHARE_ACCESS_READ), Status::Delay);
    let early = callback(&first.caller);
    answer(&first, &early, CallbackResOp::CbRecall(Res::Fail(Status::BadStateid)));
    assert!(next_callback(&first.caller).is_none(), "not at once");
    server.tick(first.caller.later(2).now);
    let again = callback(&first.caller);
    assert_eq!((recalled(&again), again.sequence.sequence), (stateid, early.sequence.sequence + 1));
    answer(&first, &again, RECALLED);
    give_back(&first, stateid);
    server.tick(first.caller.later(4).now);
    assert!(next_callback(&first.caller).is_none());
    opened(&second, SHARE_ACCESS_READ);
}

#[test]
fn delegation_that_is_not_returned_is_revoked() {
    let server = memory_server();
    let (mut first, mut second) = (client(&server, 1), client(&server, 2));
    opened(&first, SHARE_ACCESS_READ);
    assert_eq!(refused(&second, SHARE_ACCESS_WRITE), Status::Delay);
    answer(&first, &callback(&first.caller), RECALLED);
    // Both go on renewing their leases, of 90 s.
    for _ in 0..3 {
        (first.caller, second.caller) = (first.caller.later(50), second.caller.later(50));
        first.call(&first.begin());
        second.call(&second.begin());
        server.tick(first.caller.now);
    }
    opened(&second, SHARE_ACCESS_WRITE);
    let revoked = success(first.caller.compound(&first.begin()).take::<proto::nfs4::Sequence>()).status_flags;
    assert_ne!(revoked & SEQ_STATUS_RECALLABLE_STATE_REVOKED, 0);
}

#[test]
fn change_by_nfs3_waits_for_the_return() {
    let server = memory_server();
    let first = client(&server, 1);
    let stateid = read_delegation(&opened(&first, SHARE_ACCESS_READ).1);
    let other = Caller::root(&server).from("192.0.2.9:700").over(9);
    let root = other.mount();
    assert_eq!(nfs3::failure(other.remove(&root, "f")), proto::nfs3::Status::Jukebox);
    assert_eq!(recalled(&callback(&first.caller)), stateid);
    give_back(&first, stateid);
    nfs3::success(other.remove(&root, "f"));
}

#[test]
fn changes_of_names_and_attributes_by_another_client_wait_for_the_return_and_the_holders_do_not() {
    let server = memory_server();
    let (first, second) = (client(&server, 1), client(&server, 2));
    opened(&first, SHARE_ACCESS_READ);
    let mut buffer = buffer::Buffer::new();
    let attributes = Fattr::collect(&[AttributeValue::Mode(0o600)], &mut buffer);
    let set = SetattrArgs { stateid: Stateid::ANONYMOUS, attributes };
    let setattr = |session: &Session<'_>| {
        let mut results = session.call(&session.begin().root().lookup("f").op::<Setattr>(&set));
        success(results.skip_root().take::<Lookup>());
        results.status
    };
    assert_eq!(setattr(&first), Status::Ok);
    assert!(next_callback(&first.caller).is_none());
    assert_eq!(setattr(&second), Status::Delay);
    callback(&first.caller);
    let remove = RemoveArgs { target: Component(b"f") };
    let mut results = second.call(&second.begin().root().op::<Remove>(&remove));
    assert_eq!(failure(results.skip_root().take::<Remove>()), Status::Delay);
    assert!(next_callback(&first.caller).is_none(), "asked once");
}

#[test]
fn size_of_a_file_that_another_client_writes_is_asked_of_it() {
    let server = memory_server();
    let (first, second) = (client(&server, 1), client(&server, 2));
    write_delegation(&opened(&first, SHARE_ACCESS_BOTH).1);
    let wanted = GetattrArgs { request: Attribute::set(&[Attribute::Size, Attribute::Change]) };
    let look = |session: &Session<'_>| {
        let mut results = session.call(&session.begin().root().lookup("f").op::<Getattr>(&wanted));
        success(results.skip_root().take::<Lookup>());
        results.take::<Getattr>()
    };
    let before = values(&success(look(&first)));
    assert!(next_callback(&first.caller).is_none(), "the holder knows it");
    assert_eq!(failure(look(&second)), Status::Delay);
    let callback = callback(&first.caller);
    let CallbackArgOp::CbGetattr(args) = &callback.operation else { panic!("{:?}", callback.operation) };
    assert_eq!(args.request, wanted.request);
    let mut buffer = buffer::Buffer::new();
    let told = Fattr::collect(&[AttributeValue::Change(before.0 + 7), AttributeValue::Size(4321)], &mut buffer);
    answer(&first, &callback, CallbackResOp::CbGetattr(Res::Ok(told)));
    let (change, size_bytes) = values(&success(look(&second)));
    assert!(change != before.0 && size_bytes == 4321, "{change} {size_bytes}");
}

#[test]
fn each_look_at_a_file_that_another_client_writes_asks_it_and_the_change_attribute_never_goes_back() {
    // RFC 8881 §10.4.3: the holder of the delegation reports one and the same change attribute for all its changes.
    let server = memory_server();
    let (first, mut second) = (client(&server, 1), client(&server, 2));
    let stateid = write_delegation(&opened(&first, SHARE_ACCESS_BOTH).1);
    let wanted = GetattrArgs { request: Attribute::set(&[Attribute::Size, Attribute::Change]) };
    let look = |session: &Session<'_>| {
        let mut results = session.call(&session.begin().root().lookup("f").op::<Getattr>(&wanted));
        success(results.skip_root().take::<Lookup>());
        results.take::<Getattr>()
    };
    let granted = values(&success(look(&first))).0;
    let mut last = granted;
    for size_bytes in [1000, 2000, 3000] {
        second.caller = second.caller.later(1);
        assert_eq!(failure(look(&second)), Status::Delay, "the holder is asked");
        let mut buffer = buffer::Buffer::new();
        let told = [AttributeValue::Change(granted + 1), AttributeValue::Size(size_bytes)];
        let told = Fattr::collect(&told, &mut buffer);
        answer(&first, &callback(&first.caller), CallbackResOp::CbGetattr(Res::Ok(told)));
        let (change, size) = values(&success(look(&second)));
        assert!(change > last && size == size_bytes, "{change} after {last}, size {size}");
        last = change;
    }
    give_back(&first, stateid);
    assert!(values(&success(look(&second))).0 >= last, "nothing is taken back");
}

fn values(fattr: &Fattr<'_>) -> (u64, u64) {
    let (mut change, mut size_bytes) = (0, 0);
    for value in fattr.values() {
        match value.unwrap() {
            AttributeValue::Change(value) => change = value,
            AttributeValue::Size(value) => size_bytes = value,
            other => panic!("{other:?}"),
        }
    }
    (change, size_bytes)
}

#[test]
fn client_without_a_back_channel_gets_no_delegation() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    assert_eq!(opened(&session, SHARE_ACCESS_READ).1, Delegation::None);
}

#[test]
fn delegations_end_with_the_connection_of_the_back_channel_until_another_is_bound() {
    let server = memory_server();
    let first = client(&server, 1);
    server.disconnected(&first.caller.peer, false, first.caller.now);
    assert_eq!(opened(&first, SHARE_ACCESS_READ).1, Delegation::None);
}

#[test]
fn connection_that_is_bound_later_is_called_over() {
    let server = memory_server();
    let (mut first, second) = (client(&server, 1), client(&server, 2));
    opened(&first, SHARE_ACCESS_READ);
    server.disconnected(&first.caller.peer, false, first.caller.now);
    assert_eq!(refused(&second, SHARE_ACCESS_WRITE), Status::Delay);
    assert!(next_callback(&first.caller).is_none(), "there is no path");
    first.caller = first.caller.over(7);
    let flags = success(first.caller.compound(&first.begin()).take::<proto::nfs4::Sequence>()).status_flags;
    assert_ne!(flags & SEQ_STATUS_CB_PATH_DOWN, 0);
    let bind = BindConnToSessionArgs { session: first.id, direction: ClientDirection::BackOrBoth, use_rdma: false };
    let bound = first.caller.compound(&Compound::new(1).op::<BindConnToSession>(&bind)).take::<BindConnToSession>();
    assert_eq!(success(bound).direction, ServerDirection::Both);
    assert_eq!(callback(&first.caller).destination, Destination::Connection(7));
}

#[test]
fn callbacks_go_to_the_program_that_backchannel_ctl_names() {
    let server = memory_server();
    let (first, second) = (client(&server, 1), client(&server, 2));
    opened(&first, SHARE_ACCESS_READ);
    let control = BackchannelCtlArgs { program: 0x4000_0007, security: vec![CallbackSec::None] };
    success(first.call(&first.begin().op::<BackchannelCtl>(&control)).take::<BackchannelCtl>());
    let without = BackchannelCtlArgs { program: 0x4000_0008, security: Vec::new() };
    assert_eq!(
        failure(first.call(&first.begin().op::<BackchannelCtl>(&without)).take::<BackchannelCtl>()),
        Status::Inval
    );
    assert_eq!(refused(&second, SHARE_ACCESS_WRITE), Status::Delay);
    let sent = server.next_transmit(first.caller.now).unwrap();
    assert_eq!(rpc::Call::parse(&sent.message).unwrap().procedure.program, 0x4000_0007);
}

#[test]
fn client_whose_lock_was_refused_is_told_when_it_is_free() {
    let server = memory_server();
    let (first, second) = (client(&server, 1), client(&server, 2));
    let (mine, _) = opened(&first, SHARE_ACCESS_BOTH);
    // The first open comes with a delegation, which has to go before there are two.
    assert_eq!(refused(&second, SHARE_ACCESS_BOTH), Status::Delay);
    give_back(&first, recalled(&callback(&first.caller)));
    let (theirs, _) = opened(&second, SHARE_ACCESS_BOTH);
    let lock = |open_stateid, lock_type| LockArgs {
        lock_type,
        reclaim: false,
        offset: 0,
        length: 10,
        locker: Locker::New {
            open_seqid: 0,
            open_stateid,
            lock_seqid: 0,
            owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"locker" },
        },
    };
    let locked = |session: &Session<'_>, args: &LockArgs<'_>| {
        let mut results = session.call(&session.begin().root().lookup("f").op::<Lock>(args));
        success(results.skip_root().take::<Lookup>());
        results.take::<Lock>()
    };
    let ResOr::Ok(held) = locked(&first, &lock(mine, LockType::Write)) else { panic!("refused") };
    assert!(matches!(locked(&second, &lock(theirs, LockType::WriteWait)), ResOr::Explained(_)));
    assert!(next_callback(&second.caller).is_none());
    let unlock = LockuArgs { lock_type: LockType::Write, seqid: 0, stateid: held.stateid, offset: 0, length: 10 };
    let mut results = first.call(&first.begin().root().lookup("f").op::<Locku>(&unlock));
    success(results.skip_root().take::<Lookup>());
    success(results.take::<Locku>());
    let told = callback(&second.caller);
    let CallbackArgOp::CbNotifyLock(notice) = &told.operation else { panic!("{:?}", told.operation) };
    assert_eq!((told.destination, notice.owner.owner), (Destination::Connection(2), &b"locker"[..]));
}

#[test]
fn client_of_nfs40_is_called_at_its_own_address_and_at_no_other() {
    for (address, is_called) in [("192.0.2.1.3.9", true), ("192.0.2.5.3.9", false)] {
        let server = memory_server();
        let caller = Caller::root(&server);
        let args = SetclientidArgs {
            verifier: [1; 8],
            id: b"client",
            callback: CallbackClient {
                program: 0x4000_0000,
                location: NetAddr { netid: b"tcp", address: address.as_bytes() },
            },
            callback_ident: 77,
        };
        let ResOr::Ok(ok) = caller.compound(&Compound::new(0).op::<Setclientid>(&args)).take::<Setclientid>() else {
            panic!("refused")
        };
        let confirm = SetclientidConfirmArgs { client: ok.client, confirm: ok.confirm };
        success(caller.compound(&Compound::new(0).op::<SetclientidConfirm>(&confirm)).take::<SetclientidConfirm>());
        let sent = server.next_transmit(caller.now);
        assert_eq!(sent.is_some(), is_called, "{address}");
        if let Some(sent) = sent {
            assert_eq!(sent.destination, Destination::Tcp("192.0.2.1:777".parse().unwrap()));
            assert_eq!(rpc::Call::parse(&sent.message).unwrap().procedure.number, 0);
        }
    }
}

#[test]
fn export_says_whether_its_files_are_delegated() {
    let options = ExportOptions { delegations: DelegationPolicy::Off, ..ExportOptions::default() };
    let server = server(vec![export_with(EXPORT, memory(), options)]);
    let first = client(&server, 1);
    assert_eq!(opened(&first, SHARE_ACCESS_READ).1, Delegation::None);
}

#[test]
fn delegations_of_directories_later_or_of_an_earlier_life_are_not_supported() {
    let server = memory_server();
    let session = client(&server, 1);
    let purge = DelegpurgeArgs { client: proto::nfs4::ClientId(0) };
    let purged = session.call(&session.begin().op::<Delegpurge>(&purge)).take::<Delegpurge>();
    assert_eq!(failure(purged), Status::NotSupp);
    let later = WantDelegationArgs { want: proto::nfs4::WANT_READ_DELEG, claim: DelegationClaim::Fh };
    let mut results = session.call(&session.begin().root().op::<WantDelegation>(&later));
    assert_eq!(failure(results.skip_root().take::<WantDelegation>()), Status::NotSupp);
    let dir = GetDirDelegationArgs {
        signal_available: false,
        notification_types: Bitmap::EMPTY,
        child_delay: Time { seconds: 0, nanoseconds: 0 },
        dir_delay: Time { seconds: 0, nanoseconds: 0 },
        child_attributes: Bitmap::EMPTY,
        dir_attributes: Bitmap::EMPTY,
    };
    let mut results = session.call(&session.begin().root().op::<GetDirDelegation>(&dir));
    assert_eq!(failure(results.skip_root().take::<GetDirDelegation>()), Status::NotSupp);
}
