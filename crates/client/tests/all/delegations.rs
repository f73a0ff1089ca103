//! Files that the server delegates to the client: cached and opened without asking, and returned when somebody else
//! wants them.

use std::time::Duration;

use buffer::Buffer;
use client::{File, LockKind, Mount, OpenOptions, Options, Version};
use proto::Operation;
use proto::nfs4::{
    ACE_ALLOW, Ace, ArgOp, Bitmap, CallbackArgOp, CbCompound, CbCompoundArgs, CbCompoundReply, CbRecallAnyArgs,
    CbSequenceArgs, Delegation, OpNumber, Principal, RECALL_ANY_READ_DELEGATION, RECALL_ANY_WRITE_DELEGATION,
    ReadDelegation, Res, ResOp, SEQ_STATUS_RECALLABLE_STATE_REVOKED, SlotId, SpaceLimit, Stateid, Status as Wire,
    TestStateidOk, WriteDelegation,
};
use rpc::{CallResult, Credential, Procedure, Reply};
use vfs::{CreateMode, SetAttributes, Stability};
use xdr::{Decode, Encode, Encoder};

use crate::fake4;
use crate::real::proxy::{Proxy, XID};
use crate::real::{Export, until};

const VERSIONS: [Version; 2] = [Version::V4_1, Version::V4_2];
/// How long something is waited for that comes soon.
const PATIENCE: Duration = Duration::from_secs(20);

async fn make(mount: &Mount, name: &[u8], data: &'static str) {
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let options = OpenOptions::write().creating(CreateMode::Unchecked, set);
    let file = mount.open(&mount.root().handle, name, &options).await.unwrap();
    file.write(0, data.into(), Stability::File).await.unwrap();
    file.close().await.unwrap();
}

async fn open(mount: &Mount, name: &[u8], options: OpenOptions) -> File {
    mount.open(&mount.root().handle, name, &options).await.unwrap()
}

async fn text(file: &File) -> String {
    String::from_utf8(file.read(0, 100).await.unwrap().bytes.to_vec()).unwrap()
}

/// How many calls `work` makes.
async fn calls<T>(mount: &Mount, work: impl Future<Output = T>) -> (T, u64) {
    let before = mount.counters().calls;
    let done = work.await;
    (done, mount.counters().calls - before)
}

/// A file that is delegated to this mount.
async fn delegated(mount: &Mount, name: &[u8]) -> File {
    make(mount, name, "first").await;
    open(mount, name, OpenOptions::read()).await
}

#[tokio::test]
async fn delegated_file_is_opened_and_believed_without_asking() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        let file = delegated(&mount, b"file").await;
        let (again, asked) = calls(&mount, open(&mount, b"file", OpenOptions::read())).await;
        assert_eq!(asked, 0, "{version}: the second open asks nobody");
        let (by_handle, asked) = calls(&mount, mount.open_handle(file.handle(), &OpenOptions::read())).await;
        assert_eq!((asked, by_handle.unwrap().handle()), (0, file.handle()));
        let (size, asked) = calls(&mount, mount.attributes_at_open(file.handle())).await;
        assert_eq!((size.unwrap().size_bytes, asked), (5, 0));
        assert_eq!((text(&file).await, text(&again).await), ("first".to_owned(), "first".to_owned()));
        let ((), asked) = calls(&mount, async { again.close().await.unwrap() }).await;
        assert_eq!(asked, 0, "the server knows of no open");
        file.close().await.unwrap();
        mount.remove(&mount.root().handle, b"file").await.unwrap();
        mount.unmount().await.unwrap();
    }
}

#[tokio::test]
async fn conflicting_open_of_another_client_gets_the_file_and_the_first_reads_what_it_wrote() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (export.mount(version).await, export.mount(version).await);
        let first = delegated(&mine, b"file").await;
        // This one is open by the delegation alone, and has to be opened at the server before that goes.
        let local = open(&mine, b"file", OpenOptions::read()).await;
        let writer = open(&yours, b"file", OpenOptions::write()).await;
        writer.write(0, "other".into(), Stability::File).await.unwrap();
        writer.close().await.unwrap();
        assert_eq!((text(&first).await, text(&local).await), ("other".to_owned(), "other".to_owned()), "{version}");
        let (file, asked) = calls(&mine, open(&mine, b"file", OpenOptions::read())).await;
        assert!(asked > 0, "{version}: nothing is delegated any more");
        for file in [file, first, local] {
            file.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn change_of_another_version_waits_for_the_return() {
    let export = Export::start();
    let (mine, yours) = (export.mount(Version::V4_1).await, export.mount(Version::V3).await);
    let file = delegated(&mine, b"file").await;
    let other = open(&yours, b"file", OpenOptions::write()).await;
    other.write(0, "third".into(), Stability::File).await.unwrap();
    assert_eq!(text(&file).await, "third");
    assert_eq!(mine.attributes_at_open(file.handle()).await.unwrap().size_bytes, 5);
    let (_, asked) = calls(&mine, mine.attributes_at_open(file.handle())).await;
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn lock_of_a_file_that_is_open_by_its_delegation_alone_is_the_servers() {
    let export = Export::start();
    let (mine, yours) = (export.mount(Version::V4_2).await, export.mount(Version::V4_2).await);
    let _first = delegated(&mine, b"file").await;
    let local = open(&mine, b"file", OpenOptions::read()).await;
    let held = mine.statistics().held;
    assert_eq!((held.delegations, held.opens, held.local_opens, held.local_open_owners), (1, 1, 1, 1));
    local.lock(LockKind::Shared, 0, 10).await.unwrap();
    let held = mine.statistics().held;
    assert_eq!((held.delegations, held.opens, held.locks), (1, 2, 1), "the server knows the open that has a lock");
    assert_eq!((held.local_opens, held.local_open_owners, held.local_locks), (0, 0, 0));
    let other = open(&yours, b"file", OpenOptions::both()).await;
    assert!(other.try_lock(LockKind::Exclusive, 5, 1).await.is_err());
    assert_eq!(text(&local).await, "first");
    local.unlock(0, 10).await.unwrap();
    other.try_lock(LockKind::Exclusive, 5, 1).await.unwrap();
}

#[tokio::test]
async fn name_that_this_client_moved_away_is_asked_for_again() {
    let export = Export::start();
    let mount = export.mount(Version::V4_1).await;
    let root = mount.root().handle;
    let _file = delegated(&mount, b"file").await;
    mount.rename(&root, b"file", &root, b"elsewhere").await.unwrap();
    let missing = mount.open(&root, b"file", &OpenOptions::read()).await.unwrap_err();
    assert_eq!(missing.status(), Some(client::Status::NoEntry));
    make(&mount, b"file", "another").await;
    assert_eq!(text(&open(&mount, b"file", OpenOptions::read()).await).await, "another");
}

#[tokio::test]
async fn delegations_are_returned_when_the_mount_ends() {
    let export = Export::start();
    let (mine, yours) = (export.mount(Version::V4_1).await, export.mount(Version::V4_1).await);
    delegated(&mine, b"file").await.close().await.unwrap();
    mine.unmount().await.unwrap();
    let (writer, asked) = calls(&yours, open(&yours, b"file", OpenOptions::write())).await;
    assert_eq!(asked, 1, "nobody is in the way");
    writer.close().await.unwrap();
}

#[tokio::test]
async fn delegation_is_reclaimed_when_the_server_restarts() {
    for version in VERSIONS {
        let mut export = Export::restartable(Duration::from_secs(1));
        let options = Options { is_hard: true, ..export.options(version) };
        let mount = Mount::connect(&export.url(), &options).await.unwrap();
        let file = delegated(&mount, b"file").await;
        let local = open(&mount, b"file", OpenOptions::read()).await;
        export.restart();
        assert_eq!((text(&file).await, text(&local).await), ("first".to_owned(), "first".to_owned()), "{version}");
        // The name may lead elsewhere by now, the handle may not.
        let (again, asked) = calls(&mount, mount.open_handle(file.handle(), &OpenOptions::read())).await;
        let again = again.unwrap();
        assert_eq!(asked, 0, "{version}: it is delegated still");
        let yours = Mount::connect(&export.url(), &options).await.unwrap();
        let writing = async {
            let writer = open(&yours, b"file", OpenOptions::write()).await;
            writer.write(0, "after".into(), Stability::File).await.unwrap();
        };
        tokio::time::timeout(PATIENCE, writing).await.unwrap();
        for file in [&file, &local, &again] {
            assert_eq!(text(file).await, "after", "{version}");
        }
    }
}

#[tokio::test]
async fn mount_that_wants_none_asks_each_time() {
    let export = Export::start();
    let options = Options { uses_delegations: false, ..export.options(Version::V4_1) };
    let mount = Mount::connect(&export.url(), &options).await.unwrap();
    let _file = delegated(&mount, b"file").await;
    let (_again, asked) = calls(&mount, open(&mount, b"file", OpenOptions::read())).await;
    assert_eq!(asked, 1);
}

/// Asks the client in the server's place to keep no more than `keep` delegations of each kind.
async fn recall_any(proxy: &Proxy, keep: u32) -> Wire {
    let slot = SlotId(0);
    let sequence = CbSequenceArgs {
        session: proxy.session(),
        sequence: 1,
        slot,
        highest_slot: slot,
        cache_this: false,
        referring_calls: Vec::new(),
    };
    let mut types = Bitmap::EMPTY;
    [RECALL_ANY_READ_DELEGATION, RECALL_ANY_WRITE_DELEGATION].iter().for_each(|number| types.insert(*number));
    let recall = CbRecallAnyArgs { objects_to_keep: keep, types };
    let operations = vec![CallbackArgOp::CbSequence(sequence), CallbackArgOp::CbRecallAny(recall)];
    let arguments = CbCompoundArgs { tag: b"", minor_version: 1, callback_ident: 0, operations };
    let mut buffer = Buffer::new();
    let mut to = Encoder::new(&mut buffer);
    let (program, version, number) = (CbCompound::PROGRAM, CbCompound::VERSION, CbCompound::PROCEDURE);
    Procedure { program, version, number }.encode_call(XID, &Credential::None, &mut to);
    arguments.encode(&mut to);
    let message = proxy.call_client(buffer.as_slice()).await;
    let CallResult::Success(mut from) = Reply::parse(&message).unwrap().outcome else { panic!("{message:?}") };
    CbCompoundReply::decode(&mut from).unwrap().status
}

#[tokio::test]
async fn server_that_wants_some_back_gets_those_used_longest_ago() {
    let export = Export::start();
    let proxy = Proxy::start(export.address()).await;
    let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
    let mount = Mount::connect(&url, &export.options(Version::V4_1)).await.unwrap();
    let names: [&[u8]; 3] = [b"one", b"two", b"three"];
    for name in names {
        delegated(&mount, name).await.close().await.unwrap();
    }
    open(&mount, b"one", OpenOptions::read()).await.close().await.unwrap();
    assert_eq!(recall_any(&proxy, 1).await, Wire::Ok);
    until("both delegations' return", async || proxy.count(OpNumber::Delegreturn as u32) == 2).await;
    let (kept, asked) = calls(&mount, open(&mount, b"one", OpenOptions::read())).await;
    assert_eq!(asked, 0);
    let (_two, asked) = calls(&mount, open(&mount, b"two", OpenOptions::read())).await;
    assert_eq!(asked, 1);
    kept.close().await.unwrap();
}

#[tokio::test]
async fn delegation_is_recalled_over_the_connection_that_took_the_place_of_a_lost_one() {
    let export = Export::start();
    let proxy = Proxy::start(export.address()).await;
    let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
    let mine = Mount::connect(&url, &export.options(Version::V4_2)).await.unwrap();
    let yours = export.mount(Version::V4_2).await;
    let file = delegated(&mine, b"file").await;
    let local = open(&mine, b"file", OpenOptions::read()).await;
    let bound = proxy.count(OpNumber::BindConnToSession as u32);
    proxy.cut(0);
    until("a bound connection", async || proxy.count(OpNumber::BindConnToSession as u32) > bound).await;
    let writer = open(&yours, b"file", OpenOptions::write()).await;
    writer.write(0, "other".into(), Stability::File).await.unwrap();
    assert_eq!((text(&file).await, text(&local).await), ("other".to_owned(), "other".to_owned()));
    assert_eq!(proxy.sessions(), 1);
}

const DELEGATED: Stateid = Stateid { seqid: 1, other: *b"delegated!!!" };

fn write_delegation() -> WriteDelegation<'static> {
    let space_limit = SpaceLimit::Size { size_bytes: 0 };
    WriteDelegation { stateid: DELEGATED, recall: false, space_limit, permissions: everybody() }
}

/// A fake whose OPENs come with this delegation.
async fn giving(delegation: Delegation<'static>) -> (Mount, std::sync::Arc<fake4::Fake>) {
    giving_with(delegation, true).await
}

async fn giving_with(delegation: Delegation<'static>, uses_delegations: bool) -> (Mount, std::sync::Arc<fake4::Fake>) {
    let (address, fake) = fake4::start(move |operation, _| match operation {
        ArgOp::Open(_) => Some(ResOp::Open(Res::Ok(fake4::opened(delegation)))),
        // It does not even take back what it gave.
        ArgOp::Delegreturn(_) => Some(ResOp::Delegreturn(Res::Fail(Wire::BadStateid))),
        _ => None,
    })
    .await;
    let options = Options { uses_delegations, ..fake4::options() };
    (Mount::connect(&format!("nfs://{address}/").parse().unwrap(), &options).await.unwrap(), fake)
}

fn everybody() -> Ace<'static> {
    Ace { ace_type: ACE_ALLOW, flags: 0, access_mask: 0, who: Principal(b"EVERYONE@") }
}

#[tokio::test]
async fn delegation_that_is_recalled_as_it_is_given_is_returned_once_though_the_server_refuses() {
    let read = ReadDelegation { stateid: DELEGATED, recall: true, permissions: everybody() };
    let (mount, fake) = giving(Delegation::Read(read)).await;
    let first = mount.open(&mount.root().handle, b"file", &OpenOptions::read()).await.unwrap();
    until("the first delegation's return", async || fake.count("Delegreturn") == 1).await;
    mount.open(&mount.root().handle, b"file", &OpenOptions::read()).await.unwrap();
    assert_eq!(fake.count("Open"), 2, "it is not relied on");
    drop(first);
    until("the second delegation's return", async || fake.count("Delegreturn") == 2).await;
}

#[tokio::test]
async fn delegation_for_writing_that_nobody_asked_for_is_returned_at_once() {
    let (mount, fake) = giving_with(Delegation::Write(write_delegation()), false).await;
    mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap();
    assert_eq!(fake.count("Delegreturn"), 1);
}

#[tokio::test]
async fn bytes_of_a_delegated_file_are_read_from_memory_although_attributes_are_never_believed() {
    let export = Export::start();
    let caching = client::Caching::without_attributes();
    let mut asked_each_time = Vec::new();
    for uses_delegations in [true, false] {
        let options = Options { uses_delegations, caching, ..export.options(Version::V4_2) };
        let mount = Mount::connect(&export.url(), &options).await.unwrap();
        let file = delegated(&mount, b"file").await;
        let mut buffer = [0; 5];
        file.read_at(0, &mut buffer).await.unwrap();
        let (read, asked) = calls(&mount, file.read_at(0, &mut buffer)).await;
        assert_eq!((read.unwrap(), &buffer), (5, b"first"));
        asked_each_time.push(asked);
        file.close().await.unwrap();
        mount.unmount().await.unwrap();
    }
    assert!(asked_each_time[0] == 0 && asked_each_time[1] > 0, "{asked_each_time:?}");
}

#[tokio::test]
async fn delegation_that_nobody_uses_is_returned_unasked() {
    let export = Export::restartable(Duration::from_secs(1));
    let proxy = Proxy::start(export.address()).await;
    let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
    let mount = Mount::connect(&url, &export.options(Version::V4_1)).await.unwrap();
    let file = delegated(&mount, b"file").await;
    until("twelve requests", async || proxy.count(OpNumber::Sequence as u32) > 12).await;
    assert_eq!(proxy.count(OpNumber::Delegreturn as u32), 0, "an open file keeps it");
    file.close().await.unwrap();
    until("the delegation's return", async || proxy.count(OpNumber::Delegreturn as u32) == 1).await;
}

#[tokio::test]
async fn delegation_that_the_server_took_away_is_believed_no_more_and_its_files_are_opened_there() {
    let read = ReadDelegation { stateid: DELEGATED, recall: false, permissions: everybody() };
    let (address, fake) = fake4::start(move |operation, _| match operation {
        ArgOp::Open(_) => Some(ResOp::Open(Res::Ok(fake4::opened(Delegation::Read(read))))),
        ArgOp::TestStateid(args) => {
            let status = |stateid: &Stateid| if *stateid == DELEGATED { Wire::DelegRevoked } else { Wire::Ok };
            let statuses = args.stateids.iter().map(status).collect();
            Some(ResOp::TestStateid(Res::Ok(TestStateidOk { statuses })))
        }
        _ => None,
    })
    .await;
    let mount = fake4::connect(address, "/").await.unwrap();
    let root = mount.root().handle;
    let _first = mount.open(&root, b"file", &OpenOptions::read()).await.unwrap();
    let _local = mount.open(&root, b"file", &OpenOptions::read()).await.unwrap();
    assert_eq!(fake.count("Open"), 1);
    fake.flags.store(SEQ_STATUS_RECALLABLE_STATE_REVOKED, std::sync::atomic::Ordering::Relaxed);
    mount.getattr(&root).await.unwrap();
    until("the new open", async || fake.count("Open") == 2 && fake.count("FreeStateid") >= 1).await;
}
