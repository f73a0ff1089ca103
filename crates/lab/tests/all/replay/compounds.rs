//! Captures of NFSv4: what arrives at the second server is what arrived at the first.

use std::collections::BTreeMap;

use client::proto::Operation;
use client::proto::nfs4::{self, ArgOp, Attribute, CompoundArgs, OpNumber};
use client::{File, LockKind, Mount, OpenOptions, Options, Status, Version};
use lab::bench::BenchResult;
use lab::replay::{Capture, Pace, run};
use vfs::{CreateMode, Stability};
use xdr::{Decode, Decoder};

use super::recorder::{Passed, Recorder, messages, pcap};
use super::{WHOLE, found, make_files, on_runtime, replay, set, url, use_files};
use crate::bench::Export;

/// The operations of each kind, and the bytes that they ask to read or to write.
type Operations = BTreeMap<OpNumber, (u32, u64)>;

fn options(version: Version) -> Options {
    Options { version, ..super::options() }
}

/// The operations that a client sent on one connection, but for those of its session and its lease.
fn operations(stream: &[u8]) -> Operations {
    let mut operations = Operations::new();
    for message in messages(stream) {
        let call = rpc::Call::parse(message).unwrap();
        if (call.procedure.program, call.procedure.version, call.procedure.number)
            != (nfs4::PROGRAM, nfs4::VERSION, nfs4::Compound::PROCEDURE)
        {
            continue;
        }
        let compound = CompoundArgs::decode(&mut call.arguments.clone()).unwrap();
        if compound.operations.iter().any(asks_for_lease) {
            continue;
        }
        let compound: Vec<(OpNumber, u64)> = compound.operations.iter().map(kind_and_bytes).collect();
        let is_about_files = |kind: OpNumber| {
            use OpNumber as N;
            !matches!(
                kind,
                N::Sequence
                    | N::ExchangeId
                    | N::CreateSession
                    | N::ReclaimComplete
                    | N::DestroySession
                    | N::DestroyClientid
                    | N::BindConnToSession
                    | N::Setclientid
                    | N::SetclientidConfirm
                    | N::Renew
                    | N::Delegreturn
            )
        };
        let own: Vec<_> = compound.iter().filter(|(kind, _)| is_about_files(*kind)).collect();
        let has_session = own.len() + 1 == compound.len() && compound[0].0 == OpNumber::Sequence;
        if has_session || own.len() == compound.len() {
            for (kind, bytes) in own {
                let sum = operations.entry(*kind).or_default();
                *sum = (sum.0 + 1, sum.1 + bytes);
            }
        }
    }
    operations
}

fn asks_for_lease(operation: &ArgOp<'_>) -> bool {
    matches!(operation, ArgOp::Getattr(get) if get.request == Attribute::set(&[Attribute::LeaseTime]))
}

/// The kind of an operation. The replay has a directory of its own in the place of the root.
fn kind_and_bytes(operation: &ArgOp<'_>) -> (OpNumber, u64) {
    let mut buffer = buffer::Buffer::new();
    xdr::Encode::encode(operation, &mut xdr::Encoder::new(&mut buffer));
    let number = Decoder::new(buffer.as_slice()).u32().unwrap();
    match operation {
        ArgOp::Putrootfh => (OpNumber::Putfh, 0),
        ArgOp::Read(read) => (OpNumber::Read, read.count.into()),
        ArgOp::ReadPlus(read) => (OpNumber::ReadPlus, read.count.into()),
        ArgOp::Write(write) => (OpNumber::Write, write.data.len() as u64),
        _ => (OpNumber::from_number(number).unwrap(), 0),
    }
}

/// The operations on each connection that has some.
fn sent(recorder: &Recorder) -> Vec<Operations> {
    let sent = recorder.sent();
    sent.iter().map(|stream| operations(stream)).filter(|operations| !operations.is_empty()).collect()
}

/// What a client does with open files; `name` is a name of its own.
async fn use_open_files(mount: &Mount, name: &str) {
    let root = mount.root().handle;
    let dir = mount.lookup(&root, b"old dir").await.unwrap().handle;
    let old = mount.open(&dir, b"old 2", &OpenOptions::read()).await.unwrap();
    assert_eq!(old.read(1000, 50_000).await.unwrap().bytes.len(), 50_000);
    assert!(mount.open(&dir, format!("no {name}").as_bytes(), &OpenOptions::read()).await.is_err());
    let creating = OpenOptions::both().creating(CreateMode::Unchecked, set(0o640));
    let new = mount.open(&dir, name.as_bytes(), &creating).await.unwrap();
    // Much more than a packet has, so that the GETATTR behind the data counts too.
    let data: client::Bytes = vec![3; 1_000_000].into();
    let writes = (0..4_u64).map(|block| new.write(block * 1_000_000, data.clone(), Stability::Unstable));
    assert!(futures_util::future::join_all(writes).await.iter().all(|written| written.is_ok()));
    new.commit(0, 0).await.unwrap();
    lock(&new).await;
    new.set_len(70_000).await.unwrap();
    new.read(0, 70_000).await.unwrap();
    if mount.version() == Version::V4_2 {
        new.allocate(200_000, 5000).await.unwrap();
        new.deallocate(0, 4096).await.unwrap();
        assert_eq!(new.seek_data(0).await.unwrap(), Some(4096));
        new.copy_from(&old, 0, 300_000, 20_000).await.unwrap();
        new.set_xattr("kind", b"new", client::XattrMode::Either).await.unwrap();
        assert_eq!(new.get_xattr("kind").await.unwrap().unwrap(), b"new");
    }
    old.close().await.unwrap();
    new.close().await.unwrap();
    mount.remove(&dir, name.as_bytes()).await.unwrap();
}

async fn lock(file: &File) {
    file.lock(LockKind::Exclusive, 0, 100).await.unwrap();
    file.lock(LockKind::Exclusive, 500, 100).await.unwrap();
    file.unlock(0, 1000).await.unwrap();
}

/// A capture of two clients, and what they sent on each connection.
fn recorded(version: Version) -> (Vec<Passed>, Vec<Operations>) {
    let export = Export::start();
    let recorder = Recorder::start(export.address());
    on_runtime(async {
        make_files(&export).await;
        let connect = || async { Mount::connect(&url(&recorder, ""), &options(version)).await.unwrap() };
        let (one, two) = (connect().await, connect().await);
        futures_util::future::join(use_files(&one, "first"), use_files(&two, "second")).await;
        futures_util::future::join(use_open_files(&one, "third"), use_open_files(&two, "fourth")).await;
        let dir = two.lookup(&two.root().handle, b"old dir").await.unwrap().handle;
        two.remove(&dir, b"old 1").await.unwrap();
        let gone = one.lookup(&dir, b"old 1").await.unwrap_err();
        assert_eq!(gone.status(), Some(Status::NoEntry));
    });
    (recorder.packets(), sent(&recorder))
}

/// Replays a capture on an empty export. Returns what was found, and what the server was asked on each connection
/// behind that of the preparation.
fn replayed(capture: &[u8], pace: Pace) -> (BenchResult, Vec<Operations>) {
    let export = Export::start();
    let recorder = Recorder::start(export.address());
    let capture = Capture::read(capture, None).unwrap();
    let version = capture.version();
    let replay = lab::replay::Replay { options: options(version), ..replay(url(&recorder, ""), pace) };
    let result = run(&replay, &capture).unwrap();
    let mut sent = sent(&recorder);
    sent.remove(0);
    (result, sent)
}

#[test]
fn operations_and_bytes_are_those_of_the_capture_on_every_connection_in_all_minor_versions() {
    for version in [Version::V4_1, Version::V4_2, Version::V4_0] {
        let (packets, captured) = recorded(version);
        assert!(captured.len() == 2 && captured[0].len() >= 18, "{captured:?}");
        for pace in [Pace::Times(1.0), Pace::Max] {
            let (result, sent) = replayed(&pcap(&packets, WHOLE), pace);
            let found = found(&result);
            assert!(result.first_error.is_none(), "{:?}", result.first_error);
            assert!(found.otherwise.is_empty(), "{version}: {:?}", found.otherwise);
            assert_eq!(sent, captured, "{version}: {:?}", found.remarks);
            assert!(found.remarks.iter().all(|remark| remark.contains("session, lease")), "{:?}", found.remarks);
        }
    }
}

#[test]
fn connections_of_one_client_are_connections_of_one_client_in_the_replay() {
    let export = Export::start();
    let recorder = Recorder::start(export.address());
    on_runtime(async {
        make_files(&export).await;
        let options = Options { connections: 3, ..options(Version::V4_1) };
        let mount = Mount::connect(&url(&recorder, ""), &options).await.unwrap();
        let work = ["one", "two", "three"].map(|name| use_open_files(&mount, name));
        futures_util::future::join_all(work).await;
    });
    let (result, mut replayed) = replayed(&pcap(&recorder.packets(), WHOLE), Pace::Max);
    let found = found(&result);
    assert!(found.otherwise.is_empty() && result.first_error.is_none(), "{:?}", found.otherwise);
    assert_eq!(result.summary.connections, 3);
    let mut captured = sent(&recorder);
    [&mut captured, &mut replayed].into_iter().for_each(|sent| sent.sort());
    assert_eq!(replayed, captured, "{:?}", found.remarks);
}

#[test]
fn capture_that_begins_after_the_open_reads_and_writes_without_it_and_says_so() {
    let export = Export::start();
    let recorder = Recorder::start(export.address());
    let missed = on_runtime(async {
        make_files(&export).await;
        let mount = Mount::connect(&url(&recorder, ""), &options(Version::V4_2)).await.unwrap();
        let dir = mount.lookup(&mount.root().handle, b"old dir").await.unwrap().handle;
        let file = mount.open(&dir, b"old 1", &OpenOptions::both()).await.unwrap();
        let missed = recorder.packets().len();
        file.read(0, 50_000).await.unwrap();
        file.write(10_000, vec![1; 5000].into(), Stability::File).await.unwrap();
        lock(&file).await;
        file.close().await.unwrap();
        missed
    });
    let (result, _) = replayed(&pcap(&recorder.packets()[missed..], WHOLE), Pace::Max);
    let found = found(&result);
    assert!(found.otherwise.is_empty() && result.first_error.is_none(), "{:?}", found.otherwise);
    let bytes: u64 = result.summary.directions.iter().map(|direction| direction.work.bytes).sum();
    assert_eq!(bytes, 55_000, "{:?}", found.remarks);
    for remark in ["calls use files without an open", "start the capture before the mount"] {
        assert!(found.remarks.iter().any(|found| found.contains(remark)), "{:?}", found.remarks);
    }
}

#[test]
fn one_version_is_replayed_and_the_others_are_counted() {
    let (packets, _) = recorded(Version::V4_0);
    let capture = pcap(&packets, WHOLE);
    let error = Capture::read(&capture[..], Some(Version::V4_2)).unwrap_err().to_string();
    assert!(error.contains("NFSv4.0: one version is replayed at a time, and --version chooses it"), "{error}");
    assert_eq!(Capture::read(&capture[..], Some(Version::V4_0)).unwrap().version(), Version::V4_0);
}

#[test]
fn damaged_captures_are_read_without_a_panic() {
    let capture = pcap(&recorded(Version::V4_2).0, WHOLE);
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut damaged = capture.clone();
        for _ in 0..random.usize(1..40) {
            let at = random.usize(24..damaged.len());
            damaged[at] = random.u8(..);
        }
        damaged.truncate(random.usize(24..=damaged.len()));
        let _ = Capture::read(&damaged[..], None);
    }
}

#[test]
fn missing_packets_and_short_ones_cost_the_calls_in_them() {
    let (packets, captured) = recorded(Version::V4_2);
    let rest: Vec<Passed> =
        packets.iter().enumerate().filter(|(number, _)| number % 10 != 7).map(|(_, packet)| packet.clone()).collect();
    for capture in [pcap(&rest, WHOLE), pcap(&packets, 300)] {
        let (result, sent) = replayed(&capture, Pace::Max);
        let count =
            |sent: &[Operations]| sent.iter().flat_map(|sent| sent.values()).map(|(count, _)| count).sum::<u32>();
        let remarks = &found(&result).remarks;
        assert!((count(&captured) / 3..count(&captured)).contains(&count(&sent)), "{remarks:?}");
        assert!(result.first_error.is_none(), "{:?}", result.first_error);
    }
}
