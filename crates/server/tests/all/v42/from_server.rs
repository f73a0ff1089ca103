//! COPY_NOTIFY, and COPY from another server (RFC 7862 §4.6, §15.2, §15.3): two servers, whose way to each other is
//! this test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proto::nfs4::{
    ArgOp, CloneArgs, CloseArgs, Component, CopyArgs, CopyNotifyArgs, CopyNotifyOk, CopyOk, CopyRequirements,
    FileHandle, NetAddr, NetLoc, OffloadCancelArgs, OffloadOutcome, OpenArgs, OpenClaim, OpenHow, PutfhArgs, ReadArgs,
    Res, ResOp, ResOr, SHARE_ACCESS_READ, SHARE_DENY_NONE, ServerName, StateOwner, Stateid, Status, WANT_NO_DELEG,
};
use server::{HandleKey, RemoteError, RemoteFile, RemoteFiles, RemoteName, Server, Settings};

use crate::v42::client::Client;
use crate::v42::offload::{all_turns, cancel, told};
use crate::v42::place::Volume;
use testing::caller::{Caller, EXPORT, WORKERS, export, server};

const FROM: &str = "/srv/export/from";
const TO: &str = "/srv/export/to";
const SOURCE: &str = "192.0.2.100:2049";
const DESTINATION: &str = "192.0.2.200:700";
/// Several reads, the last of which is short.
const LENGTH: usize = (9 << 20) + 77;

/// The way to the source, for a server that is allowed to go there alone.
#[derive(Debug)]
struct Way {
    source: Source,
    /// Who the destination is there.
    address: SocketAddr,
    opened: Arc<AtomicUsize>,
}

struct Source(&'static Server);

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Source")
    }
}

struct Reading {
    client: Client<'static>,
    name: RemoteName,
}

impl RemoteFiles for Way {
    fn may_reach(&self, address: SocketAddr) -> bool {
        address == SOURCE.parse().unwrap()
    }

    fn open(&self, name: &RemoteName) -> Result<Box<dyn RemoteFile>, RemoteError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        // The destination's own user has no permission at all.
        let caller = Caller::root(self.source.0).user(4711, 4711, &[]).from(&self.address.to_string());
        Ok(Box::new(Reading { client: Client::new(caller, 2), name: *name }))
    }
}

impl RemoteFile for Reading {
    fn read(&mut self, offset_bytes: u64, count: u32) -> Result<Vec<u8>, RemoteError> {
        self.bytes(offset_bytes, count).map_err(|_| RemoteError::Refused)
    }
}

impl Reading {
    fn bytes(&self, offset: u64, count: u32) -> Result<Vec<u8>, Status> {
        let read = ArgOp::Read(ReadArgs { stateid: self.name.stateid, offset, count });
        let (_, mut results) = self.client.ops(vec![ArgOp::Putfh(PutfhArgs { object: self.name.handle }), read]);
        match results.pop().unwrap() {
            // A server may bring less than it is asked for.
            ResOp::Read(Res::Ok(ok)) => Ok(ok.data.to_vec()),
            ResOp::Read(Res::Fail(status)) => Err(status),
            other => panic!("{other:?}"),
        }
    }
}

struct World {
    here: Volume,
    bytes: Vec<u8>,
    source: &'static Server,
    destination: Server,
    opened: Arc<AtomicUsize>,
}

/// A source with a file that only its owner may read, and a destination that can reach it.
fn world() -> World {
    let (there, here) = (Volume::memory(), Volume::memory());
    let bytes: Vec<u8> = (0..LENGTH).map(|number| (number % 241) as u8).collect();
    there.file("from", 0, &[(0, &bytes)]);
    there.file("other", 10, &[]);
    let private = vfs::SetAttributes { mode: Some(0o600), ..vfs::SetAttributes::default() };
    there.fs.set_attributes(&vfs::Context::ROOT, &there.handle("from"), &private).unwrap();
    here.file("to", 0, &[]);
    let settings = Settings::new(WORKERS, 2000, HandleKey::new([9; 16]));
    let source = Box::leak(Box::new(Server::new(settings, vec![export(EXPORT, there.fs.clone())]).unwrap()));
    let destination = server(vec![export(EXPORT, here.fs.clone())]);
    let opened = Arc::new(AtomicUsize::new(0));
    let way = Way { source: Source(source), address: DESTINATION.parse().unwrap(), opened: opened.clone() };
    destination.set_remote_files(Box::new(way));
    destination.set_copy_waker(|| ());
    World { here, bytes, source, destination, opened }
}

fn opened(client: &Client<'_>, name: &str) -> Stateid {
    let open = OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_READ | WANT_NO_DELEG,
        share_deny: SHARE_DENY_NONE,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"owner" },
        how: OpenHow::NoCreate,
        claim: OpenClaim::Null(Component(name.as_bytes())),
    };
    match client.on(EXPORT, ArgOp::Open(open)).1 {
        ResOp::Open(Res::Ok(ok)) => ok.stateid,
        other => panic!("{other:?}"),
    }
}

fn address(text: &str) -> NetLoc<'_> {
    NetLoc::Address(NetAddr { netid: b"tcp", address: text.as_bytes() })
}

fn notify(client: &Client<'_>, source_stateid: Stateid, to: NetLoc<'_>) -> Result<CopyNotifyOk<'static>, Status> {
    match client.on(FROM, ArgOp::CopyNotify(CopyNotifyArgs { source_stateid, destination_server: to })).1 {
        ResOp::CopyNotify(Res::Ok(ok)) => Ok(ok),
        ResOp::CopyNotify(Res::Fail(status)) => Err(status),
        other => panic!("{other:?}"),
    }
}

fn handle(client: &Client<'_>, path: &str) -> FileHandle {
    match client.on(path, ArgOp::Getfh).1 {
        ResOp::Getfh(Res::Ok(handle)) => handle,
        other => panic!("{other:?}"),
    }
}

/// COPY of another server's file, which is saved first, into the destination's.
fn copy(client: &Client<'_>, object: FileHandle, args: CopyArgs<'_>) -> ResOr<CopyOk, CopyRequirements, 10094> {
    let operations = vec![
        ArgOp::Putfh(PutfhArgs { object }),
        ArgOp::Savefh,
        ArgOp::Putfh(PutfhArgs { object: handle(client, TO) }),
        ArgOp::Copy(args),
    ];
    match client.ops(operations).1.pop().unwrap() {
        ResOp::Copy(result) => result,
        other => panic!("{other:?}"),
    }
}

fn args(source_stateid: Stateid, source_servers: Vec<NetLoc<'_>>) -> CopyArgs<'_> {
    CopyArgs {
        source_stateid,
        destination_stateid: Stateid::ANONYMOUS,
        source_offset: 0,
        destination_offset: 0,
        count: 0,
        requirements: CopyRequirements { consecutive: true, synchronous: false },
        source_servers,
    }
}

/// A client of both servers, what the source calls the file, and leave for the destination to read it.
fn noticed(world: &World) -> (Client<'_>, Client<'_>, FileHandle, CopyNotifyOk<'static>) {
    let at_source = Client::new(Caller::root(world.source), 2);
    let at_destination = Client::with_back_channel(Caller::root(&world.destination));
    let open = opened(&at_source, "from");
    let notice = notify(&at_source, open, address("192.0.2.200.8.1")).unwrap();
    let object = handle(&at_source, FROM);
    (at_source, at_destination, object, notice)
}

#[test]
fn file_of_another_server_is_copied_under_what_copy_notify_gave_out() {
    let world = world();
    let (_source, client, object, notice) = noticed(&world);
    assert_eq!(notice.source_servers, vec![address("192.0.2.100.8.1")]);
    assert_eq!((notice.lease_time.seconds, notice.stateid.seqid), (90, 1));
    let ResOr::Ok(ok) = copy(&client, object, args(notice.stateid, notice.source_servers.clone())) else {
        panic!("it is not copied")
    };
    assert!(ok.response.callback_id.is_some() && !ok.requirements.synchronous);
    all_turns(&client);
    match told(&client) {
        OffloadOutcome::Ok(response) => assert_eq!(response.count, LENGTH as u64),
        other => panic!("{other:?}"),
    }
    assert!(world.here.bytes("to") == world.bytes);
    assert_eq!(world.opened.load(Ordering::Relaxed), 1);
}

#[test]
fn range_of_another_servers_file_is_copied_to_where_it_belongs() {
    let world = world();
    let (_source, client, object, notice) = noticed(&world);
    let mut args = args(notice.stateid, notice.source_servers.clone());
    (args.source_offset, args.destination_offset, args.count) = (1000, 10, 3 << 20);
    assert!(matches!(copy(&client, object, args), ResOr::Ok(_)));
    all_turns(&client);
    assert!(matches!(told(&client), OffloadOutcome::Ok(response) if response.count == 3 << 20));
    let bytes = world.here.bytes("to");
    assert!(bytes[10..] == world.bytes[1000..1000 + (3 << 20)] && bytes[..10] == [0; 10]);
}

#[test]
fn server_that_may_not_be_reached_is_never_connected_to() {
    let world = world();
    let (_source, client, object, notice) = noticed(&world);
    let name = NetLoc::Name(ServerName(b"192.0.2.100"));
    for place in [address("127.0.0.1.8.1"), address("192.0.2.100.0.22"), address("nonsense"), name] {
        let result = copy(&client, object, args(notice.stateid, vec![place]));
        assert_eq!(result, ResOr::Fail(Status::OffloadDenied), "{place:?}");
    }
    assert_eq!(world.opened.load(Ordering::Relaxed), 0);
}

#[test]
fn copy_from_another_server_goes_on_behind_the_reply_or_not_at_all() {
    let world = world();
    let (_source, client, object, notice) = noticed(&world);
    let mut synchronous = args(notice.stateid, notice.source_servers.clone());
    synchronous.requirements.synchronous = true;
    let refusal = CopyRequirements { consecutive: true, synchronous: false };
    assert_eq!(copy(&client, object, synchronous), ResOr::Explained(refusal));
}

#[test]
fn handle_of_another_server_is_good_for_nothing_but_a_copy_from_there() {
    let world = world();
    let (_source, client, object, notice) = noticed(&world);
    let stale = ResOr::Fail(Status::Stale);
    let here = handle(&client, TO);
    let put = |object| ArgOp::Putfh(PutfhArgs { object });
    assert_eq!(client.ops(vec![put(object), ArgOp::Getfh]).0, Status::Stale);
    assert_eq!(client.ops(vec![put(object), ArgOp::Savefh, ArgOp::Getfh]).0, Status::NoFileHandle);
    assert_eq!(client.ops(vec![put(object), ArgOp::Savefh, ArgOp::Restorefh]).0, Status::Stale);
    assert_eq!(copy(&client, object, args(notice.stateid, Vec::new())), stale);
    let clone = CloneArgs {
        source_stateid: Stateid::ANONYMOUS,
        destination_stateid: Stateid::ANONYMOUS,
        source_offset: 0,
        destination_offset: 0,
        count: 0,
    };
    let with_clone = vec![put(object), ArgOp::Savefh, put(here), ArgOp::Clone(clone)];
    assert_eq!(client.ops(with_clone).0, Status::Stale);
    let closed = server(vec![export(EXPORT, world.here.fs.clone())]);
    let client = Client::with_back_channel(Caller::root(&closed));
    assert_eq!(client.ops(vec![put(object), ArgOp::Savefh]).0, Status::Stale);
}

/// What a READ of the destination gets under the stateid of a notice.
fn read_as_destination(world: &World, object: FileHandle, stateid: Stateid, seconds: u64) -> Result<usize, Status> {
    read_from(world, DESTINATION, object, stateid, seconds)
}

fn read_from(
    world: &World,
    address: &str,
    object: FileHandle,
    stateid: Stateid,
    seconds: u64,
) -> Result<usize, Status> {
    let caller = Caller::root(world.source).user(4711, 4711, &[]).from(address).later(seconds);
    let name = RemoteName { address: SOURCE.parse().unwrap(), handle: object, stateid };
    Reading { client: Client::new(caller, 2), name }.bytes(0, 100).map(|bytes| bytes.len())
}

#[test]
fn notice_is_good_for_its_file_and_its_reader_alone() {
    let world = world();
    let (source, _client, object, notice) = noticed(&world);
    assert_eq!(read_as_destination(&world, object, notice.stateid, 0), Ok(100));
    assert_eq!(read_from(&world, "192.0.2.201:700", object, notice.stateid, 0), Err(Status::PartnerNoAuth));
    let other = handle(&source, "/srv/export/other");
    assert_eq!(read_as_destination(&world, other, notice.stateid, 0), Err(Status::BadStateid));
    let mut guess = notice.stateid;
    guess.other[11] ^= 1;
    assert_eq!(read_as_destination(&world, object, guess, 0), Err(Status::BadStateid));
    let write = proto::nfs4::WriteArgs {
        stateid: notice.stateid,
        offset: 0,
        stable: proto::nfs4::StableHow::Unstable,
        data: b"no",
    };
    assert_ne!(source.on(FROM, ArgOp::Write(write)).0, Status::Ok);
}

#[test]
fn notice_ends_when_it_is_taken_back_when_the_file_is_closed_and_when_nobody_reads_for_a_lease() {
    for end in ["taken back", "closed", "over", "used"] {
        let world = world();
        let source = Client::new(Caller::root(world.source), 2);
        let open = opened(&source, "from");
        let stateid = notify(&source, open, NetLoc::Name(ServerName(b"somewhere"))).unwrap().stateid;
        let object = handle(&source, FROM);
        let expected = match end {
            "taken back" => {
                let foreign = Client::new(Caller::root(world.source).user(1, 1, &[]), 2);
                let cancel_args = OffloadCancelArgs { stateid };
                assert_eq!(foreign.on(FROM, ArgOp::OffloadCancel(cancel_args)).0, Status::BadStateid);
                assert_eq!(source.on(FROM, ArgOp::OffloadCancel(cancel_args)).0, Status::Ok);
                assert_eq!(cancel_at(&source, stateid), Status::BadStateid);
                Err(Status::BadStateid)
            }
            "closed" => {
                source.on(FROM, ArgOp::Close(CloseArgs { seqid: 0, open_stateid: open }));
                Err(Status::BadStateid)
            }
            "over" => {
                assert_eq!(read_as_destination(&world, object, stateid, 91), Err(Status::PartnerNoAuth));
                continue;
            }
            _ => {
                assert_eq!(read_as_destination(&world, object, stateid, 80), Ok(100));
                assert_eq!(read_as_destination(&world, object, stateid, 160), Ok(100));
                continue;
            }
        };
        assert_eq!(read_as_destination(&world, object, stateid, 1), expected, "{end}");
    }
}

fn cancel_at(client: &Client<'_>, stateid: Stateid) -> Status {
    client.on(FROM, ArgOp::OffloadCancel(OffloadCancelArgs { stateid })).0
}

#[test]
fn notice_needs_an_open_of_the_file_and_their_number_is_bounded() {
    let world = world();
    let source = Client::new(Caller::root(world.source), 2);
    let to = address("192.0.2.200.8.1");
    assert_eq!(notify(&source, Stateid::ANONYMOUS, to).unwrap_err(), Status::BadStateid);
    let other = opened(&source, "other");
    assert_eq!(notify(&source, other, to).unwrap_err(), Status::BadStateid);
    let open = opened(&source, "from");
    assert_eq!(notify(&source, open, address("nonsense")).unwrap_err(), Status::Inval);
    let given = (0..100).take_while(|_| notify(&source, open, to).is_ok()).count();
    assert_eq!(given, 64);
    assert_eq!(notify(&source, open, to).unwrap_err(), Status::Delay);
    world.source.tick(source.caller.now + Duration::from_secs(1));
    assert_eq!(notify(&source, open, to).unwrap_err(), Status::Delay);
}

#[test]
fn copy_fails_when_the_source_takes_its_leave_back_and_is_cancelled_at_the_destination() {
    let world = world();
    let (source, client, object, notice) = noticed(&world);
    let begin = || match copy(&client, object, args(notice.stateid, notice.source_servers.clone())) {
        ResOr::Ok(ok) => ok.response.callback_id.unwrap(),
        other => panic!("{other:?}"),
    };
    let cancelled = begin();
    assert!(world.destination.carry_on_copy(1, client.caller.now));
    assert_eq!(cancel(&client, cancelled), Status::Ok);
    assert!(!world.destination.carry_on_copy(1, client.caller.now));
    begin();
    assert!(world.destination.carry_on_copy(1, client.caller.now));
    assert_eq!(cancel_at(&source, notice.stateid), Status::Ok);
    all_turns(&client);
    let failed = OffloadOutcome::Failed { status: Status::PartnerNoAuth, bytes_copied: 8 << 20 };
    assert_eq!(told(&client), failed);
}

#[test]
fn notices_of_one_address_leave_notices_to_others() {
    let world = world();
    let noticed = |address_and_port: &str, number| {
        let caller = Caller::root(world.source).from(address_and_port).user(0, number, &[]);
        let client = Client::new(caller, 2);
        let open = opened(&client, "from");
        (0..100).map_while(|_| notify(&client, open, address("192.0.2.200.8.1")).ok()).count()
    };
    assert_eq!((0..10).map(|number| noticed("192.0.2.66:700", number)).sum::<usize>(), 512);
    assert_eq!(noticed("192.0.2.2:700", 1_000), 64);
}
