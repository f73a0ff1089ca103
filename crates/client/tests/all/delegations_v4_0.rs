//! Files that a server of NFSv4.0 delegates, which calls the client at a port of the client's own.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use buffer::Buffer;
use client::{Caching, File, Mount, OpenOptions, Options, Version};
use proto::Operation;
use proto::nfs4::{
    ACE_ALLOW, Ace, ArgOp, Attribute, AttributeValue, CallbackArgOp, CbCompound, CbCompoundArgs, CbCompoundReply,
    CbNotifyLockArgs, CbRecallArgs, ClientId, Delegation, FileHandle, OpNumber, Principal, ReadDelegation, Res, ResOp,
    ResOr, SetclientidArgs, SetclientidOk, StateOwner, Stateid, Status, Verifier,
};
use proto::rpcbind::UniversalAddress;
use rpc::{AuthStat, CallResult, Credential, Procedure, Rejection, Reply, Xid};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use vfs::{CreateMode, SetAttributes, Stability};
use xdr::{Decode, Encode, Encoder};

use crate::fake;
use crate::fake4;
use crate::real::proxy::Proxy;
use crate::real::{Export, until};

/// How long something is waited for that comes soon.
const PATIENCE: Duration = Duration::from_secs(20);

fn anywhere() -> Option<SocketAddr> {
    Some("0.0.0.0:0".parse().unwrap())
}

/// Of a mount that caches nothing but what is delegated.
fn options(export: &Export) -> Options {
    let caching = Caching::without_attributes();
    Options { callback_address: anywhere(), caching, ..export.options(Version::V4_0) }
}

async fn open(mount: &Mount, name: &[u8], options: OpenOptions) -> File {
    mount.open(&mount.root().handle, name, &options).await.unwrap()
}

async fn write(mount: &Mount, name: &[u8], data: &'static str) {
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let file = open(mount, name, OpenOptions::write().creating(CreateMode::Unchecked, set)).await;
    file.write(0, data.into(), Stability::File).await.unwrap();
    file.close().await.unwrap();
}

fn delegations(mount: &Mount) -> u64 {
    mount.statistics().held.delegations
}

/// A file that is delegated to this mount, once the server has found out that it can call.
async fn delegated(mount: &Mount, name: &[u8]) -> File {
    write(mount, name, "first").await;
    let opening = async {
        loop {
            let file = open(mount, name, OpenOptions::read()).await;
            if delegations(mount) > 0 {
                return file;
            }
            file.close().await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, opening).await.expect("nothing is delegated")
}

/// Five bytes as the cache has them, and how many calls that took.
async fn read(mount: &Mount, file: &File) -> (String, u64) {
    let before = mount.counters().calls;
    let mut buffer = [0; 5];
    assert_eq!(file.read_at(0, &mut buffer).await.unwrap(), 5);
    (String::from_utf8(buffer.to_vec()).unwrap(), mount.counters().calls - before)
}

#[tokio::test]
async fn file_of_nfs40_is_believed_while_it_is_delegated_and_until_another_client_writes_it() {
    let export = Export::start();
    let mine = Mount::connect(&export.url(), &options(&export)).await.unwrap();
    for (version, name) in [(Version::V4_0, b"one"), (Version::V4_2, b"two"), (Version::V3, b"six")] {
        let file = delegated(&mine, name).await;
        assert_eq!(read(&mine, &file).await.0, "first");
        assert_eq!(read(&mine, &file).await, ("first".to_owned(), 0), "nobody is asked");
        let before = mine.counters().calls;
        open(&mine, name, OpenOptions::read()).await.close().await.unwrap();
        assert!(mine.counters().calls > before, "the server knows all opens");
        let yours = export.mount(version).await;
        tokio::time::timeout(PATIENCE, write(&yours, name, "other")).await.unwrap();
        assert_eq!(delegations(&mine), 0, "{version}: it was called back");
        let (text, asked) = read(&mine, &file).await;
        assert!(text == "other" && asked > 0, "{version}: {text} after {asked} calls");
        file.close().await.unwrap();
    }
    mine.unmount().await.unwrap();
}

#[tokio::test]
async fn client_that_may_not_be_called_is_delegated_nothing() {
    let export = Export::start();
    let mount = Mount::connect(&export.url(), &Options { callback_address: None, ..options(&export) }).await.unwrap();
    write(&mount, b"file", "first").await;
    for _ in 0..5 {
        let file = open(&mount, b"file", OpenOptions::read()).await;
        assert_eq!(delegations(&mount), 0);
        read(&mount, &file).await;
        assert!(read(&mount, &file).await.1 > 0, "the server is asked each time");
        file.close().await.unwrap();
    }
}

#[tokio::test]
async fn delegation_of_nfs40_is_had_back_after_a_restart_and_recalled_then() {
    let mut export = Export::restartable(Duration::from_secs(1));
    let options = Options { is_hard: true, ..options(&export) };
    let mine = Mount::connect(&export.url(), &options).await.unwrap();
    let file = delegated(&mine, b"file").await;
    export.restart();
    assert_eq!(read(&mine, &file).await.0, "first");
    until("a delegation", async || read(&mine, &file).await == ("first".to_owned(), 0) && delegations(&mine) == 1)
        .await;
    let yours = Mount::connect(&export.url(), &Options { callback_address: None, ..options }).await.unwrap();
    tokio::time::timeout(PATIENCE, write(&yours, b"file", "after")).await.unwrap();
    assert_eq!(read(&mine, &file).await.0, "after");
}

#[tokio::test]
async fn delegation_of_nfs40_is_returned_at_unmount() {
    let export = Export::start();
    let proxy = Proxy::start(export.address()).await;
    let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
    let mount = Mount::connect(&url, &options(&export)).await.unwrap();
    delegated(&mount, b"file").await.close().await.unwrap();
    mount.unmount().await.unwrap();
    assert_eq!(proxy.count(OpNumber::Delegreturn as u32), 1);
}

const DELEGATED: Stateid = Stateid { seqid: 1, other: *b"delegated!!!" };

/// Where a fake server was told to call.
#[derive(Debug, Clone, Copy)]
struct Place {
    netid: &'static [u8],
    address: SocketAddr,
    program: u32,
    ident: u32,
}

impl Place {
    fn of(args: &SetclientidArgs<'_>) -> Place {
        let location = args.callback.location;
        let UniversalAddress(address) = UniversalAddress::parse(location.address).unwrap();
        let netid = if location.netid == b"tcp" { &b"tcp"[..] } else { b"?" };
        Place { netid, address, program: args.callback.program, ident: args.callback_ident }
    }
}

/// A fake of version 4.0 that delegates each file that is opened.
struct Giving {
    mount: Mount,
    fake: Arc<fake4::Fake>,
    place: Place,
    /// Whether RENEW says that the client cannot be called.
    is_path_down: Arc<AtomicBool>,
}

async fn giving(lease_seconds: u32) -> Giving {
    let (place, is_path_down) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
    let (told, is_down) = (Arc::clone(&place), Arc::clone(&is_path_down));
    let (address, fake) = fake4::start(move |operation, _| match operation {
        ArgOp::Setclientid(args) => {
            *told.lock().unwrap() = Some(Place::of(args));
            let ok = SetclientidOk { client: ClientId(7), confirm: Verifier::default() };
            Some(ResOp::Setclientid(ResOr::Ok(ok)))
        }
        ArgOp::SetclientidConfirm(_) => Some(ResOp::SetclientidConfirm(Res::Ok(()))),
        ArgOp::Renew(_) if is_down.load(Ordering::Relaxed) => Some(ResOp::Renew(Res::Fail(Status::CbPathDown))),
        ArgOp::Renew(_) => Some(ResOp::Renew(Res::Ok(()))),
        ArgOp::Open(_) => {
            let everybody = Ace { ace_type: ACE_ALLOW, flags: 0, access_mask: 0, who: Principal(b"EVERYONE@") };
            let read = ReadDelegation { stateid: DELEGATED, recall: false, permissions: everybody };
            Some(ResOp::Open(Res::Ok(fake4::opened(Delegation::Read(read)))))
        }
        _ if fake4::asks_only(operation, Attribute::LeaseTime) => {
            Some(ResOp::Getattr(Res::Ok(fake4::fattr(&[AttributeValue::LeaseTime(lease_seconds)]))))
        }
        _ => None,
    })
    .await;
    let options = Options { version: Version::V4_0, callback_address: anywhere(), ..fake4::options() };
    let mount = Mount::connect(&format!("nfs://{address}/").parse().unwrap(), &options).await.unwrap();
    let place = place.lock().unwrap().unwrap();
    Giving { mount, fake, place, is_path_down }
}

/// Names the file whose handle the fake gives for all.
fn recall(stateid: Stateid) -> CallbackArgOp<'static> {
    CallbackArgOp::CbRecall(CbRecallArgs { stateid, truncate: false, file: FileHandle::new(fake4::ROOT).unwrap() })
}

/// Calls the client over a connection, and reads the message that it answers, if it does.
async fn call(stream: &mut TcpStream, arguments: &CbCompoundArgs<'_>, program: u32) -> Option<Vec<u8>> {
    let mut buffer = Buffer::new();
    let mut to = Encoder::new(&mut buffer);
    let (version, number) = (CbCompound::VERSION, CbCompound::PROCEDURE);
    Procedure { program, version, number }.encode_call(Xid(5), &Credential::None, &mut to);
    arguments.encode(&mut to);
    stream.write_all(&fake::record(buffer.as_slice())).await.ok()?;
    let mark = stream.read_u32().await.ok()?;
    let mut message = vec![0; (mark & 0x7fff_ffff) as usize];
    stream.read_exact(&mut message).await.ok()?;
    Some(message)
}

fn arguments(ident: u32, minor_version: u32, operation: CallbackArgOp<'static>) -> CbCompoundArgs<'static> {
    CbCompoundArgs { tag: b"tag", minor_version, callback_ident: ident, operations: vec![operation] }
}

fn status(message: &[u8]) -> Result<Status, Rejection> {
    match Reply::parse(message).unwrap().outcome {
        CallResult::Success(mut from) => Ok(CbCompoundReply::decode(&mut from).unwrap().status),
        CallResult::Rejected(rejection) => Err(rejection),
    }
}

#[tokio::test]
async fn recall_is_obeyed_when_it_names_the_delegation_and_the_number_that_the_server_was_told() {
    let Giving { mount, fake, place, .. } = giving(90).await;
    assert_eq!((place.netid, place.address.ip()), (&b"tcp"[..], "127.0.0.1".parse().unwrap()));
    let _file = open(&mount, b"file", OpenOptions::read()).await;
    assert_eq!(delegations(&mount), 1);
    let mut server = TcpStream::connect(place.address).await.unwrap();
    let no_lock = CbNotifyLockArgs {
        file: FileHandle::new(b"file").unwrap(),
        owner: StateOwner { client: ClientId(7), owner: b"me" },
    };
    let other = Stateid { other: *b"another one!", ..DELEGATED };
    let (program, ident) = (place.program, place.ident);
    for (program, arguments, expected) in [
        (program + 1, arguments(ident, 0, recall(DELEGATED)), Err(Rejection::ProgramUnavailable)),
        (program, arguments(ident + 1, 0, recall(DELEGATED)), Err(Rejection::AuthError(AuthStat::BadCredential))),
        (program, arguments(ident, 1, recall(DELEGATED)), Ok(Status::MinorVersMismatch)),
        (program, arguments(ident, 0, recall(other)), Ok(Status::BadStateid)),
        (program, arguments(ident, 0, CallbackArgOp::CbNotifyLock(no_lock)), Ok(Status::OpIllegal)),
    ] {
        let message = call(&mut server, &arguments, program).await.unwrap();
        assert_eq!(status(&message), expected, "{arguments:?}");
        assert_eq!((delegations(&mount), fake.count("Delegreturn")), (1, 0));
    }
    let message = call(&mut server, &arguments(ident, 0, recall(DELEGATED)), program).await.unwrap();
    assert_eq!(status(&message), Ok(Status::Ok));
    assert_eq!(delegations(&mount), 0, "nobody relies on it from now on");
    until("the delegation's return", async || fake.count("Delegreturn") == 1).await;
    let message = call(&mut server, &arguments(ident, 0, recall(DELEGATED)), program).await.unwrap();
    assert_eq!(status(&message), Ok(Status::BadStateid));
}

#[tokio::test]
async fn nobody_but_the_server_is_answered_and_a_stream_without_sense_ends() {
    let Giving { mount, place, .. } = giving(90).await;
    let _file = open(&mount, b"file", OpenOptions::read()).await;
    let recall = arguments(place.ident, 0, recall(DELEGATED));
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut stranger = socket.connect(place.address).await.unwrap();
    assert_eq!(call(&mut stranger, &recall, place.program).await, None);
    let mut endless = TcpStream::connect(place.address).await.unwrap();
    endless.write_all(&rpc::record::last_mark(1 << 20).to_be_bytes()).await.unwrap();
    assert_eq!(endless.read(&mut [0; 4]).await.unwrap_or_default(), 0);
    // Connections that the server has forgotten keep it from no new one.
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(TcpStream::connect(place.address).await.unwrap());
    }
    assert_eq!(delegations(&mount), 1);
    let mut server = TcpStream::connect(place.address).await.unwrap();
    let message = call(&mut server, &recall, place.program).await.unwrap();
    assert_eq!(status(&message), Ok(Status::Ok));
    let first = &mut idle[0];
    assert_eq!(first.read(&mut [0; 4]).await.unwrap_or_default(), 0, "the oldest went for the newest");
}

#[tokio::test]
async fn delegations_go_back_when_the_server_cannot_call_and_it_is_told_the_place_again() {
    let Giving { mount, fake, is_path_down, .. } = giving(1).await;
    let _file = open(&mount, b"file", OpenOptions::read()).await;
    assert_eq!((delegations(&mount), fake.count("Setclientid")), (1, 1));
    is_path_down.store(true, Ordering::Relaxed);
    until("the return and the new place", async || {
        fake.count("Delegreturn") == 1 && fake.count("SetclientidConfirm") > 1
    })
    .await;
    is_path_down.store(false, Ordering::Relaxed);
    assert_eq!(delegations(&mount), 0);
    let _again = open(&mount, b"file", OpenOptions::read()).await;
    assert_eq!(delegations(&mount), 1);
}

#[tokio::test]
async fn port_for_callbacks_is_closed_when_the_mount_is_gone() {
    let Giving { mount, place, .. } = giving(90).await;
    drop(TcpStream::connect(place.address).await.unwrap());
    mount.unmount().await.unwrap();
    until("a closed port", async || TcpStream::connect(place.address).await.is_err()).await;
}

#[tokio::test]
async fn address_that_is_not_of_this_machine_is_refused_by_its_name() {
    let export = Export::start();
    let callback_address = Some("192.0.2.1:0".parse().unwrap());
    let error = Mount::connect(&export.url(), &Options { callback_address, ..options(&export) }).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("192.0.2.1:0") && text.contains("name an address of this machine"), "{text}");
    // Later versions are called over their own connections, and open no port.
    let later = Options { callback_address, ..export.options(Version::V4_1) };
    Mount::connect(&export.url(), &later).await.unwrap().unmount().await.unwrap();
}
