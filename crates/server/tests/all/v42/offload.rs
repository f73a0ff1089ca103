//! Copies that go on behind the reply to COPY (RFC 7862 §4): their progress, their end, and what ends them early.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use buffer::Buffer;
use proto::nfs4::{
    ArgOp, CallbackArgOp, CallbackResOp, CbCompoundArgs, CbCompoundReply, CbOffloadArgs, CbSequenceOk, CloseArgs,
    Component, CopyArgs, CopyOk, CopyRequirements, OffloadCancelArgs, OffloadOutcome, OffloadStatusArgs,
    OffloadStatusOk, OpenArgs, OpenClaim, OpenHow, RemoveArgs, Res, ResOp, ResOr, SHARE_ACCESS_BOTH, SHARE_DENY_NONE,
    StableHow, StateOwner, Stateid, Status, WriteResponse,
};
use rpc::{Call, Reply};
use server::{Answer, Destination, Server};
use vfs::{Context, SetAttributes};
use xdr::{Decode, Encode, Encoder};

use crate::v42::client::Client;
use crate::v42::place::Volume;
use testing::caller::{Caller, EXPORT, Said, export, server};

const FROM: &str = "/srv/export/from";
const TO: &str = "/srv/export/to";
/// More than is copied at once, and no multiple of what is copied in a turn.
const LENGTH: usize = (20 << 20) + 4321;

fn args() -> CopyArgs<'static> {
    CopyArgs {
        source_stateid: Stateid::ANONYMOUS,
        destination_stateid: Stateid::ANONYMOUS,
        source_offset: 0,
        destination_offset: 0,
        count: 0,
        requirements: CopyRequirements { consecutive: true, synchronous: false },
        source_servers: Vec::new(),
    }
}

/// A server with a long file to copy, which somebody is there to carry on copies for.
fn long_file() -> (Volume, Server, Arc<AtomicUsize>) {
    let volume = Volume::memory();
    let bytes: Vec<u8> = (0..LENGTH).map(|number| (number % 251) as u8).collect();
    volume.file("from", 0, &[(0, &bytes)]);
    volume.file("to", 0, &[]);
    let server = server(vec![export(EXPORT, volume.fs.clone())]);
    let woken = Arc::new(AtomicUsize::new(0));
    let counter = woken.clone();
    server.set_copy_waker(move || {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    (volume, server, woken)
}

fn copy(client: &Client<'_>, args: CopyArgs<'_>) -> CopyOk {
    match client.between(FROM, TO, ArgOp::Copy(args)) {
        (_, ResOp::Copy(ResOr::Ok(ok))) => ok,
        other => panic!("{other:?}"),
    }
}

/// Begins a copy behind the reply.
fn begin(client: &Client<'_>) -> Stateid {
    copy(client, args()).response.callback_id.expect("the copy goes on behind the reply")
}

fn status(client: &Client<'_>, stateid: Stateid) -> Result<OffloadStatusOk, Status> {
    match client.on(TO, ArgOp::OffloadStatus(OffloadStatusArgs { stateid })).1 {
        ResOp::OffloadStatus(Res::Ok(ok)) => Ok(ok),
        ResOp::OffloadStatus(Res::Fail(status)) => Err(status),
        other => panic!("{other:?}"),
    }
}

pub fn cancel(client: &Client<'_>, stateid: Stateid) -> Status {
    client.on(TO, ArgOp::OffloadCancel(OffloadCancelArgs { stateid })).0
}

fn turn(client: &Client<'_>) -> bool {
    client.caller.server.carry_on_copy(1, client.caller.now)
}

pub fn all_turns(client: &Client<'_>) {
    while turn(client) {}
}

/// A callback that the server makes, answered with `answer` unless that is `None`.
fn callback(client: &Client<'_>, at: Duration, answer: Option<Status>) -> Option<CbOffloadArgs> {
    let (server, peer) = (client.caller.server, client.caller.peer);
    let sent = server.next_transmit(at)?;
    assert_eq!(sent.destination, Destination::Connection(peer.connection));
    let call = Call::parse(&sent.message).unwrap();
    let compound = CbCompoundArgs::decode(&mut call.arguments.clone()).unwrap();
    let [CallbackArgOp::CbSequence(sequence), CallbackArgOp::CbOffload(offload)] = &compound.operations[..] else {
        panic!("{compound:?}")
    };
    let Some(status) = answer else { return Some(*offload) };
    let ok = CbSequenceOk {
        session: sequence.session,
        sequence: sequence.sequence,
        slot: sequence.slot,
        highest_slot: sequence.slot,
        target_highest_slot: sequence.slot,
    };
    let result = if status == Status::Ok { Res::Ok(()) } else { Res::Fail(status) };
    let results = vec![CallbackResOp::CbSequence(Res::Ok(ok)), CallbackResOp::CbOffload(result)];
    let mut reply = Buffer::new();
    let mut to = Encoder::new(&mut reply);
    Reply::encode_success(call.xid, &mut to);
    CbCompoundReply { status, tag: b"", results }.encode(&mut to);
    server.take_reply(&peer, reply.as_slice(), at);
    Some(*offload)
}

/// What the one callback tells that is made now.
pub fn told(client: &Client<'_>) -> OffloadOutcome {
    let offload = callback(client, client.caller.now, Some(Status::Ok)).expect("the client is told");
    assert_eq!(client.caller.server.next_transmit(client.caller.now), None);
    offload.outcome
}

fn failed(status: Status, bytes_copied: u64) -> OffloadOutcome {
    OffloadOutcome::Failed { status, bytes_copied }
}

#[test]
fn long_copy_goes_on_behind_the_reply_and_the_client_is_told_of_its_end() {
    let (volume, server, woken) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    let ok = copy(&client, args());
    let stateid = ok.response.callback_id.unwrap();
    assert_eq!((ok.response.count, stateid.seqid, woken.load(Ordering::Relaxed)), (0, 1, 1));
    assert_eq!(ok.requirements, CopyRequirements { consecutive: true, synchronous: false });
    assert_eq!(volume.bytes("to"), b"");
    assert_eq!(status(&client, stateid), Ok(OffloadStatusOk { count: 0, complete: None }));
    assert!(turn(&client));
    assert_eq!(status(&client, stateid), Ok(OffloadStatusOk { count: 8 << 20, complete: None }));
    assert_eq!(server.next_transmit(client.caller.now), None);
    all_turns(&client);
    let complete = OffloadStatusOk { count: LENGTH as u64, complete: Some(Status::Ok) };
    assert_eq!(status(&client, stateid), Ok(complete));
    assert!(volume.bytes("to") == volume.bytes("from"));

    let offload = callback(&client, client.caller.now, Some(Status::Ok)).unwrap();
    let response = WriteResponse { callback_id: None, count: LENGTH as u64, ..ok.response };
    assert_eq!((offload.stateid, offload.outcome), (stateid, OffloadOutcome::Ok(response)));
    assert_eq!(response.committed, StableHow::Unstable);
    let handle = match client.on(TO, ArgOp::Getfh).1 {
        ResOp::Getfh(Res::Ok(handle)) => handle,
        other => panic!("{other:?}"),
    };
    assert_eq!(offload.file, handle);
    // The answer to CB_OFFLOAD ends the stateid (RFC 7862 §4.8).
    assert_eq!(status(&client, stateid), Err(Status::BadStateid));
}

#[test]
fn copies_take_turns() {
    let (_volume, server, _) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    let (first, second) = (begin(&client), begin(&client));
    assert!(turn(&client) && turn(&client));
    for stateid in [first, second] {
        assert_eq!(status(&client, stateid), Ok(OffloadStatusOk { count: 8 << 20, complete: None }));
    }
}

#[test]
fn copy_is_made_at_once_where_it_cannot_go_on_behind_the_reply() {
    let (volume, server, woken) = long_file();
    let caller = Caller::root(&server);
    let mut at_once = args();
    at_once.requirements.synchronous = true;
    let mut short = args();
    short.count = 1 << 20;
    let callable = Client::with_back_channel(caller);
    let not_callable = Client::new(caller.user(1, 1, &[]), 2);
    volume.fs.set_attributes(&Context::ROOT, &volume.handle("to"), &mode(0o666)).unwrap();
    for (client, args) in [(&callable, at_once), (&callable, short), (&not_callable, args())] {
        let ok = copy(client, args);
        assert!(ok.requirements.synchronous && ok.response.callback_id.is_none() && ok.response.count > 0);
    }
    let undriven = testing::caller::server(vec![export(EXPORT, volume.fs.clone())]);
    let client = Client::with_back_channel(Caller::root(&undriven));
    assert_eq!(copy(&client, args()).response.count, LENGTH as u64);
    assert_eq!(woken.load(Ordering::Relaxed), 0);
}

fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

#[test]
fn number_of_copies_of_a_client_is_bounded_and_those_beyond_are_made_at_once() {
    let (_volume, server, _) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    let mut begun = 0;
    while copy(&client, args()).response.callback_id.is_some() {
        begun += 1;
        assert!(begun < 100);
    }
    assert_eq!(begun, 16);
    let other = Client::with_back_channel(Caller::root(&server).nobody());
    assert_eq!(other.between(FROM, TO, ArgOp::Copy(args())).0, Status::Access);
}

#[test]
fn cancelled_copy_writes_nothing_more_and_is_forgotten() {
    let (volume, server, _) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    let stateid = begin(&client);
    assert!(turn(&client));
    assert_eq!(cancel(&client, stateid), Status::Ok);
    assert!(!turn(&client));
    assert_eq!(volume.bytes("to").len(), 8 << 20);
    assert_eq!(server.next_transmit(client.caller.now), None);
    assert_eq!(status(&client, stateid), Err(Status::BadStateid));
    assert_eq!(cancel(&client, stateid), Status::BadStateid);
}

#[test]
fn stateid_that_is_none_of_the_clients_copies_to_this_file_is_bad() {
    let (volume, server, _) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    let stateid = begin(&client);
    let of_earlier_boot = Stateid { other: [0xee, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], ..stateid };
    let unknown = Stateid { other: { stateid.other.map(|byte| byte ^ 1) }, ..stateid };
    let newest = Stateid { seqid: 0, ..stateid };
    for wrong in [newest, Stateid { seqid: 2, ..stateid }, unknown, of_earlier_boot, Stateid::ANONYMOUS] {
        assert_eq!(status(&client, wrong), Err(Status::BadStateid), "{wrong:?}");
        assert_eq!(cancel(&client, wrong), Status::BadStateid, "{wrong:?}");
    }
    let wrong_file = client.on(FROM, ArgOp::OffloadStatus(OffloadStatusArgs { stateid })).0;
    assert_eq!(wrong_file, Status::BadStateid);
    volume.fs.set_attributes(&Context::ROOT, &volume.handle("to"), &mode(0o666)).unwrap();
    let other = Client::with_back_channel(Caller::root(&server).user(7, 7, &[]));
    assert_eq!(status(&other, stateid), Err(Status::BadStateid));
    assert_eq!(cancel(&other, stateid), Status::BadStateid);
    // It is no stateid to read under either.
    let read = proto::nfs4::ReadArgs { stateid, offset: 0, count: 1 };
    assert_eq!(client.on(TO, ArgOp::Read(read)).0, Status::BadStateid);
    assert!(status(&client, stateid).is_ok());
}

#[test]
fn copy_ends_with_what_was_there_when_its_source_is_cut() {
    let (volume, server, _) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    begin(&client);
    assert!(turn(&client));
    let cut = SetAttributes { size_bytes: Some((8 << 20) + 5), ..SetAttributes::default() };
    volume.fs.set_attributes(&Context::ROOT, &volume.handle("from"), &cut).unwrap();
    all_turns(&client);
    match told(&client) {
        OffloadOutcome::Ok(response) => assert_eq!(response.count, (8 << 20) + 5),
        other => panic!("{other:?}"),
    }
    assert!(volume.bytes("to") == volume.bytes("from"));
}

#[test]
fn copy_fails_when_its_source_is_removed() {
    let (_volume, server, _) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    begin(&client);
    assert!(turn(&client));
    assert_eq!(client.on(EXPORT, ArgOp::Remove(RemoveArgs { target: Component(b"from") })).0, Status::Ok);
    all_turns(&client);
    assert_eq!(told(&client), failed(Status::Stale, 8 << 20));
}

#[test]
fn copy_fails_when_its_export_is_taken_away() {
    let (_volume, server, _) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    begin(&client);
    assert!(turn(&client));
    server.reload(Vec::new()).unwrap();
    all_turns(&client);
    assert_eq!(told(&client), failed(Status::Stale, 8 << 20));
}

fn open<'n>(name: &'n str) -> ArgOp<'n> {
    ArgOp::Open(OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_BOTH,
        share_deny: SHARE_DENY_NONE,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"owner" },
        how: OpenHow::NoCreate,
        claim: OpenClaim::Null(Component(name.as_bytes())),
    })
}

fn opened(client: &Client<'_>, name: &str) -> Stateid {
    match client.on(EXPORT, open(name)).1 {
        ResOp::Open(Res::Ok(ok)) => ok.stateid,
        other => panic!("{other:?}"),
    }
}

#[test]
fn copy_goes_on_while_its_open_is_opened_again_and_fails_when_that_is_closed() {
    let (_volume, server, _) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    let (source_stateid, destination_stateid) = (opened(&client, "from"), opened(&client, "to"));
    let stateid = copy(&client, CopyArgs { source_stateid, destination_stateid, ..args() }).response.callback_id;
    assert!(turn(&client));
    let again = opened(&client, "to");
    assert_ne!(again.seqid, destination_stateid.seqid);
    assert!(turn(&client));
    assert_eq!(status(&client, stateid.unwrap()).unwrap(), OffloadStatusOk { count: 16 << 20, complete: None });
    assert_eq!(client.on(TO, ArgOp::Close(CloseArgs { seqid: 0, open_stateid: again })).0, Status::Ok);
    all_turns(&client);
    assert_eq!(told(&client), failed(Status::BadStateid, 16 << 20));
}

#[test]
fn copy_survives_the_end_of_its_session_and_ends_with_its_client() {
    let (volume, server, _) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    begin(&client);
    assert_eq!(client.end_session(), Status::Ok);
    assert!(turn(&client));
    server.tick(client.caller.now);
    assert!(turn(&client));
    assert_eq!(volume.bytes("to").len(), 16 << 20);
    // Long after its lease the client is given up.
    let end = client.caller.now + Duration::from_secs(100_000);
    (0..20).for_each(|second| server.tick(end + Duration::from_secs(second)));
    assert!(!server.carry_on_copy(1, end + Duration::from_secs(20)));
    assert_eq!(volume.bytes("to").len(), 16 << 20);
}

#[test]
fn client_that_does_not_answer_is_told_again_until_the_record_is_dropped() {
    let (_volume, server, _) = long_file();
    let mut client = Client::with_back_channel(Caller::root(&server));
    let stateid = begin(&client);
    all_turns(&client);
    let begun = client.caller.now;
    let at = |seconds| begun + Duration::from_secs(seconds);
    let first = callback(&client, at(0), None).unwrap();
    server.tick(at(1));
    assert_eq!(callback(&client, at(1), None), None);
    // The callback is overdue; the next tick makes another one, which the client is too busy for.
    server.tick(at(11));
    server.tick(at(12));
    assert_eq!(callback(&client, at(12), Some(Status::Delay)), Some(first));
    server.tick(at(13));
    assert_eq!(callback(&client, at(13), None), Some(first));
    for minute in 1..=5 {
        client.caller.now = at(60 * minute);
        assert_eq!(status(&client, stateid).unwrap().complete, Some(Status::Ok));
        server.tick(at(60 * minute));
    }
    server.tick(at(301));
    assert_eq!(status(&client, stateid), Err(Status::BadStateid));
}

#[test]
fn cancelling_waits_on_a_thread_that_may() {
    let (_volume, server, _) = long_file();
    let client = Client::with_back_channel(Caller::root(&server));
    let stateid = begin(&client);
    let mut on_loop = client;
    on_loop.caller = on_loop.caller.on_event_loop();
    let message = on_loop.message_on(TO, ArgOp::OffloadCancel(OffloadCancelArgs { stateid }));
    match on_loop.caller.send(&message) {
        Said::Nothing(answer) => assert!(matches!(answer, Answer::WouldBlock(_)), "{answer:?}"),
        Said::Reply(_) => panic!("it was answered"),
    }
    let waiting = Caller { may_block: true, ..on_loop.caller };
    waiting.reply_to(&message);
    assert!(!server.carry_on_copy(1, waiting.now));
}

/// One of many client IDs at an address.
fn client_at<'s>(server: &'s Server, address: &str, number: u32) -> Client<'s> {
    Client::with_back_channel(Caller::root(server).from(address).user(0, number, &[]))
}

#[test]
fn copies_of_one_address_leave_copies_and_turns_to_others() {
    let (_volume, server, _) = long_file();
    let hostile: Vec<Client<'_>> = (0..16).map(|number| client_at(&server, "192.0.2.66:700", number)).collect();
    let is_begun = |client: &Client<'_>| copy(client, args()).response.callback_id;
    let begun: Vec<Vec<Stateid>> =
        hostile.iter().take(8).map(|client| (0..16).map_while(|_| is_begun(client)).collect()).collect();
    assert_eq!(begun.iter().flatten().count(), 128);
    assert_eq!(is_begun(&hostile[9]), None, "half of all copies are this address's");
    let witness = client_at(&server, "192.0.2.2:700", 1_000);
    let stateid = begin(&witness);
    let (first, second) = (client_at(&server, "192.0.2.3:700", 1_001), turn(&witness) && turn(&witness));
    assert!(second && status(&witness, stateid).unwrap().count > 0, "the witness waits for one turn of others at most");
    let other = begin(&first);
    (0..6).for_each(|_| assert!(turn(&witness)));
    assert_eq!(status(&witness, stateid).unwrap().complete, Some(Status::Ok));
    assert!(status(&first, other).unwrap().count >= 16 << 20);
}
