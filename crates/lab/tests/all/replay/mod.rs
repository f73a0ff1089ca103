//! Captures of Wharf's client, written by a proxy, and their replays.

mod compounds;
mod recorder;

use std::time::Duration;

use client::proto::nfs3::PROCEDURES;
use client::{Bytes, Detail, Mount, Options, Url};
use lab::bench::{BenchResult, Stop};
use lab::replay::{Capture, Error, Pace, Replay, run};
use measure::record::ReplaySummary;
use vfs::{CreateMode, SetAttributes, Stability};

use self::recorder::{Passed, Procedures, Recorder, pcap};
use crate::bench::Export;

const WRITE: u32 = 7;
/// More bytes than any packet has.
const WHOLE: usize = 1 << 20;

fn options() -> Options {
    Options { use_privileged_port: false, version: client::Version::V3, ..Options::default() }
}

fn url(recorder: &Recorder, path: &str) -> Url {
    format!("nfs://{}/files{path}", recorder.address).parse().unwrap()
}

fn replay(url: Url, pace: Pace) -> Replay {
    Replay {
        on_measured: None,
        name: "capture".to_owned(),
        url,
        options: options(),
        pace,
        max_bytes: Replay::DEFAULT_MAX_BYTES,
        server_pid: None,
        watcher: None,
        stop: Stop::default(),
    }
}

fn set(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Makes what exists before the capture.
async fn make_files(export: &Export) {
    let mount = Mount::connect(&export.url(""), &options()).await.unwrap();
    let root = mount.root().handle;
    let dir = mount.mkdir(&root, b"old dir", &set(0o755)).await.unwrap().handle;
    for number in 0..3 {
        let name = format!("old {number}");
        let file = mount.create(&dir, name.as_bytes(), CreateMode::Guarded, &set(0o644)).await.unwrap().handle;
        mount.write(&file, 0, vec![7; 100_000].into(), Stability::File).await.unwrap();
    }
    mount.symlink(&dir, b"old link", b"somewhere", &set(0o777)).await.unwrap();
}

/// What a client does with old and new files; `name` is a name of its own.
async fn use_files(mount: &Mount, name: &str) {
    let root = mount.root().handle;
    let dir = mount.lookup(&root, b"old dir").await.unwrap().handle;
    let mut listing = mount.read_dir(&dir, Detail::Entries);
    while listing.next().await.unwrap().is_some() {}
    let old = mount.lookup(&dir, b"old 1").await.unwrap().handle;
    mount.read(&old, 40_000, 20_000).await.unwrap();
    mount.getattr(&old).await.unwrap();
    let link = mount.lookup(&dir, b"old link").await.unwrap().handle;
    assert_eq!(mount.readlink(&link).await.unwrap(), b"somewhere");
    assert!(mount.lookup(&dir, name.as_bytes()).await.is_err());
    let new = mount.create(&dir, name.as_bytes(), CreateMode::Guarded, &set(0o600)).await.unwrap().handle;
    let data: Bytes = vec![9; 70_000].into();
    let writes = (0..4_u64).map(|block| mount.write(&new, block * 70_000, data.clone(), Stability::Unstable));
    assert!(futures_util::future::join_all(writes).await.iter().all(|written| written.is_ok()));
    mount.commit(&new, 0, 0).await.unwrap();
    mount.read(&new, 0, 10_000).await.unwrap();
    let made = mount.mkdir(&dir, format!("{name} dir").as_bytes(), &set(0o755)).await.unwrap().handle;
    mount.rename(&dir, name.as_bytes(), &made, b"moved").await.unwrap();
    mount.link(&new, &made, b"linked").await.unwrap();
    mount.setattr(&new, &SetAttributes { size_bytes: Some(5), ..set(0o400) }).await.unwrap();
    assert!(mount.rmdir(&dir, format!("{name} dir").as_bytes()).await.is_err());
    mount.remove(&made, b"moved").await.unwrap();
    mount.remove(&made, b"linked").await.unwrap();
    mount.rmdir(&dir, format!("{name} dir").as_bytes()).await.unwrap();
    assert!(mount.getattr(&new).await.is_err(), "the file is gone");
    mount.fsstat(&root).await.unwrap();
}

/// A capture of two clients, and the procedures of each connection.
fn recorded() -> (Vec<Passed>, Vec<Procedures>) {
    let (packets, procedures, _) = recorded_with_a_rest();
    (packets, procedures)
}

/// The same, and behind how many packets nothing was in flight.
fn recorded_with_a_rest() -> (Vec<Passed>, Vec<Procedures>, usize) {
    let export = Export::start();
    let recorder = Recorder::start(export.address());
    let rest = on_runtime(async {
        make_files(&export).await;
        let connect = || async { Mount::connect(&url(&recorder, ""), &options()).await.unwrap() };
        let (one, two) = (connect().await, connect().await);
        futures_util::future::join(use_files(&one, "first"), use_files(&two, "second")).await;
        let rest = recorder.packets().len();
        // What one client removes, the other one has used before, and misses afterwards.
        let dir = two.lookup(&two.root().handle, b"old dir").await.unwrap().handle;
        two.remove(&dir, b"old 1").await.unwrap();
        assert!(one.lookup(&dir, b"old 1").await.is_err());
        rest
    });
    (recorder.packets(), recorder.procedures(), rest)
}

/// Replays a capture on an empty export. Returns what was found, and what the server was asked on each connection
/// behind that of the preparation.
fn replayed(capture: &[u8], pace: Pace) -> (BenchResult, Vec<Procedures>) {
    let export = Export::start();
    let recorder = Recorder::start(export.address());
    let capture = Capture::read(capture, None).unwrap();
    let result = run(&replay(url(&recorder, ""), pace), &capture).unwrap();
    on_runtime(async {
        let mount = Mount::connect(&export.url(""), &options()).await.unwrap();
        let mut listing = mount.read_dir(&mount.root().handle, Detail::Names);
        assert!(listing.next().await.unwrap().is_none(), "the files of the replay are removed");
    });
    let mut procedures = recorder.procedures();
    procedures.remove(0);
    (result, procedures)
}

fn found(result: &BenchResult) -> &ReplaySummary {
    result.summary.replay.as_ref().unwrap()
}

/// The counts of a report, as the recorder has them.
fn reported(found: &ReplaySummary) -> Procedures {
    let number = |name: &str| PROCEDURES.iter().position(|other| *other == name).unwrap() as u32;
    found.procedures.iter().map(|found| (number(found.name), found.calls as u32)).collect()
}

fn sum(connections: &[Procedures]) -> Procedures {
    let mut sum = Procedures::new();
    for (procedure, count) in connections.iter().flatten() {
        *sum.entry(*procedure).or_default() += count;
    }
    sum
}

#[test]
fn server_is_asked_what_the_captured_one_was_on_every_connection() {
    let (packets, captured) = recorded();
    assert!(sum(&captured).len() == 16, "{captured:?}");
    for pace in [Pace::Times(1.0), Pace::Max] {
        let (result, procedures) = replayed(&pcap(&packets, WHOLE), pace);
        assert!(result.first_error.is_none(), "{:?}", result.first_error);
        let found = found(&result);
        assert!(found.otherwise.is_empty() && found.late_ns.count() > 0, "{:?}", found.otherwise);
        assert_eq!(procedures, captured);
        assert_eq!(reported(found), sum(&captured));
        assert_eq!(found.remarks.len(), 1, "MOUNT is named: {:?}", found.remarks);
    }
}

#[test]
fn capture_of_headers_alone_loses_no_call_that_begins_a_packet() {
    let (packets, captured) = recorded();
    // Four WRITEs are sent at once, so that most of them begin where nothing is captured.
    let (result, procedures) = replayed(&pcap(&packets, 400), Pace::Max);
    let found = found(&result);
    let [captured, done] = [sum(&captured), sum(&procedures)];
    let writes = |calls: &Procedures| calls[&WRITE];
    assert!((2..8).contains(&writes(&done)) && writes(&captured) == 8, "{done:?}: {:?}", found.remarks);
    let others = |calls: &Procedures| -> Procedures {
        calls.clone().into_iter().filter(|(procedure, _)| *procedure != WRITE).collect()
    };
    assert_eq!(others(&done), others(&captured));
    assert!(found.otherwise.is_empty(), "{:?}", found.otherwise);
}

#[test]
fn missing_packets_are_reported_and_the_rest_is_replayed() {
    let (packets, captured) = recorded();
    // Calls and replies are lost alike, and not only parts of data.
    let mut small = [0; 2];
    let is_kept = |packet: &&Passed| {
        let number = &mut small[usize::from(packet.is_call)];
        *number += u32::from(packet.data.len() < 500);
        packet.data.len() >= 500 || *number % 10 != 7
    };
    let rest: Vec<Passed> = packets.iter().filter(is_kept).cloned().collect();
    let (result, procedures) = replayed(&pcap(&rest, WHOLE), Pace::Max);
    let remarks = &found(&result).remarks;
    assert!(remarks.iter().any(|remark| remark.contains("have no reply in the capture")), "{remarks:?}");
    let (all, done): (u32, u32) = (sum(&captured).values().sum(), sum(&procedures).values().sum());
    assert!(done > all / 2 && done < all, "{done} of {all}: {remarks:?}");
}

#[test]
fn packets_in_another_order_and_twice_make_the_same_load() {
    let (mut packets, captured) = recorded();
    for start in (0..packets.len().saturating_sub(2)).step_by(5) {
        let (one, two) = (packets[start].clone(), packets[start + 1].clone());
        if (one.connection, one.is_call) == (two.connection, two.is_call) {
            packets.swap(start, start + 1);
        }
        packets.insert(start + 2, one);
    }
    let (result, procedures) = replayed(&pcap(&packets, WHOLE), Pace::Max);
    assert_eq!(procedures, captured, "{:?}", found(&result).remarks);
}

#[test]
fn pace_of_the_capture_is_kept_or_doubled() {
    let (packets, _, rest) = recorded_with_a_rest();
    let paused = packets.iter().enumerate().map(|(number, packet)| {
        let pause = if number < rest { 0 } else { 1_000_000 };
        Passed { at_us: packet.at_us + pause, ..packet.clone() }
    });
    let capture = pcap(&paused.collect::<Vec<_>>(), WHOLE);
    let runtime = |pace| replayed(&capture, pace).0.summary.runtime;
    assert!(runtime(Pace::Times(1.0)) >= Duration::from_secs(1));
    let double = runtime(Pace::Times(2.0));
    assert!(double >= Duration::from_millis(500), "{double:?}");
}

#[test]
fn capture_without_nfs_is_refused_with_what_it_has() {
    let packet = |data: &[u8]| Passed {
        at_us: 1,
        connection: 0,
        is_call: true,
        sequence: 0,
        acknowledgment: 0,
        data: data.to_vec(),
    };
    let error = Capture::read(&pcap(&[packet(b"GET / HTTP/1.1\r\n\r\n")], WHOLE)[..], None).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the capture has no call of NFSv3 or NFSv4"), "{text}");
    assert!(text.contains("1 TCP connections have no calls of ONC RPC"), "{text}");
    assert!(matches!(Capture::read(&b"no capture at all, but long enough"[..], None), Err(Error::Trace(_))));
}

#[test]
fn replay_that_would_write_more_than_allowed_is_refused_before_it_writes() {
    let (packets, _) = recorded();
    let capture = Capture::read(&pcap(&packets, WHOLE)[..], None).unwrap();
    let export = Export::start();
    let replay = Replay { max_bytes: 19_999, ..replay(export.url(""), Pace::Max) };
    assert!(matches!(run(&replay, &capture), Err(Error::TooLarge { bytes: 20_000 })));
}

#[test]
fn damaged_captures_are_read_without_a_panic() {
    let capture = pcap(&recorded().0, WHOLE);
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
