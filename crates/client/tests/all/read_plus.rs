//! Reading through READ_PLUS: what comes into the caller's buffer, from servers that know it, that do not, and that
//! lie.

use std::sync::Arc;

use bytes::Bytes;
use client::{File, Lie, Mount, OpenOptions, Options, ReadInto, Reason, Segment, Version};
use proto::nfs4::{ReadPlusArgs, ReadPlusOk, ReadPlusSegment, Res, Status};
use vfs::{CreateMode, SetAttributes, Stability};

use crate::real::Export;
use crate::real::forger::{Forge, Forger};

const KIB: u64 = 1024;
/// Data from 64 KiB to 68 KiB and from 100 KiB to 100 KiB + 3, holes elsewhere.
const LENGTH: usize = 100 * 1024 + 3;

fn content() -> Vec<u8> {
    let mut bytes = vec![0; LENGTH];
    bytes[64 << 10..68 << 10].fill(7);
    bytes[100 << 10..].fill(9);
    bytes
}

async fn make(mount: &Mount) -> File {
    let create = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let options = OpenOptions::both().creating(CreateMode::Unchecked, create);
    let file = mount.open(&mount.root().handle, b"sparse", &options).await.unwrap();
    file.write(64 * KIB, Bytes::from(vec![7; 4096]), Stability::File).await.unwrap();
    file.write(100 * KIB, Bytes::from(vec![9; 3]), Stability::File).await.unwrap();
    file
}

async fn mount(address: std::net::SocketAddr, parameters: &str) -> Mount {
    let url = format!("nfs://{address}/files?version=4.2{parameters}").parse().unwrap();
    let options = Options { use_privileged_port: false, ..Options::default() };
    Mount::connect(&url, &options).await.unwrap()
}

/// Reads a file of the real server whose replies to READ_PLUS go through `forge`.
async fn behind(forge: Box<Forge>) -> (Export, Forger, Mount, File) {
    let export = Export::start();
    let forger = Forger::start(export.address(), forge).await;
    let mount = mount(forger.address, "").await;
    let file = make(&mount).await;
    (export, forger, mount, file)
}

fn data(offset: u64, bytes: &'static [u8]) -> ReadPlusSegment<'static> {
    ReadPlusSegment::Data { offset, data: bytes }
}

fn hole(offset: u64, length: u64) -> ReadPlusSegment<'static> {
    ReadPlusSegment::Hole { offset, length }
}

fn says(eof: bool, segments: Vec<ReadPlusSegment<'static>>) -> Option<Res<ReadPlusOk<'static>>> {
    Some(Res::Ok(ReadPlusOk { eof, segments }))
}

#[tokio::test]
async fn every_version_reads_the_same_bytes_whatever_is_a_hole() {
    let export = Export::start();
    make(&export.mount(Version::V4_2).await).await.close().await.unwrap();
    for version in [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2] {
        let mount = export.mount(version).await;
        let file = mount.open(&mount.root().handle, b"sparse", &OpenOptions::read()).await.unwrap();
        for (offset, length) in [(0, LENGTH + 50), (1, 65_600), (65_000, 40_000), (70_000, 10), (102_400, 2)] {
            let mut buffer = vec![0xff; length];
            let read = file.read_into(offset as u64, &mut buffer).await.unwrap();
            let most = length.min(mount.sizes().read as usize);
            let wanted = &content()[offset..LENGTH.min(offset + most)];
            assert_eq!(read.count, wanted.len(), "{version}: {offset}+{length}");
            assert!(buffer[..read.count] == *wanted, "{version}: {offset}+{length}");
            assert_eq!(read.is_eof, offset + read.count == LENGTH, "{version}: {offset}+{length}");
            assert!(buffer[read.count..].iter().all(|byte| *byte == 0xff), "nothing behind it");
            let bytes = file.read(offset as u64, length as u32).await.unwrap().bytes;
            assert!(wanted.starts_with(&bytes) && !bytes.is_empty(), "{version}: {offset}+{length}");
        }
        let behind = file.read_into(LENGTH as u64 + 5, &mut [0; 9]).await.unwrap();
        assert_eq!(behind, ReadInto { count: 0, is_eof: true }, "{version}");
    }
}

#[tokio::test]
async fn option_turns_it_off_and_older_versions_have_none() {
    let export = Export::start();
    let forger = Forger::start(export.address(), Box::new(|_, _| None)).await;
    let without = mount(forger.address, "&noreadplus").await;
    let file = make(&without).await;
    assert_eq!(file.read(0, 1 << 20).await.unwrap().bytes, content());
    assert!(!without.uses_read_plus() && forger.asked().is_empty());
    assert!(!export.mount(Version::V4_1).await.uses_read_plus());
    let with = mount(forger.address, "").await;
    let file = with.open(&with.root().handle, b"sparse", &OpenOptions::read()).await.unwrap();
    assert_eq!(file.read(0, 1 << 20).await.unwrap().bytes, content());
    assert_eq!(forger.asked().len(), 1);
}

#[tokio::test]
async fn hole_longer_than_the_buffer_fills_the_buffer_and_is_not_the_end() {
    for (begins, length) in [(0, u64::MAX), (5, 200), (10, 91)] {
        let (_export, _forger, _mount, file) =
            behind(Box::new(move |_, _| says(true, vec![hole(begins, length)]))).await;
        let mut buffer = [0xff; 90];
        let read = file.read_into(10, &mut buffer).await.unwrap();
        assert_eq!((read, buffer), (ReadInto { count: 90, is_eof: false }, [0; 90]), "{begins}+{length}");
    }
}

#[tokio::test]
async fn short_reply_is_asked_again_from_where_it_ended() {
    let (_export, forger, _mount, file) = behind(Box::new(|number, args: &ReadPlusArgs| match number {
        0 => says(false, vec![hole(0, 3), data(3, b"ab")]),
        1 if args.offset == 5 => says(false, vec![data(5, b"c")]),
        2 if args.offset == 6 => says(false, vec![hole(6, 2)]),
        _ => says(true, vec![data(args.offset, b"de")]),
    }))
    .await;
    let mut buffer = [0xff; 20];
    let read = file.read_into(0, &mut buffer).await.unwrap();
    assert_eq!(read, ReadInto { count: 10, is_eof: true });
    assert_eq!(&buffer[..10], b"\0\0\0abc\0\0de");
    let asked: Vec<_> = forger.asked().iter().map(|args| (args.offset, args.count)).collect();
    assert_eq!(asked, [(0, 20), (5, 15), (6, 14), (8, 12)]);
}

#[tokio::test]
async fn file_that_is_cut_while_it_is_read_ends_where_the_last_reply_says() {
    let (_export, _forger, mount, file) = behind(Box::new(|number, _| match number {
        0 | 2 => says(false, vec![data(0, b"ab"), hole(2, 2)]),
        _ => says(true, vec![]),
    }))
    .await;
    let cut = SetAttributes { size_bytes: Some(4), ..SetAttributes::default() };
    mount.setattr(file.handle(), &cut).await.unwrap();
    let mut buffer = [0xff; 8];
    assert_eq!(file.read_into(0, &mut buffer).await.unwrap(), ReadInto { count: 4, is_eof: true });
    assert_eq!(&buffer, b"ab\0\0\xff\xff\xff\xff");
    let filled = file.fill(0, 8).await.unwrap();
    let wanted = [Segment::Data { offset: 0, bytes: "ab".into() }, Segment::Hole { offset: 2, length: 2 }];
    assert_eq!((&filled.segments[..], filled.is_eof), (&wanted[..], true));
    assert!(mount.uses_read_plus());
}

#[tokio::test]
async fn server_that_answers_in_crumbs_fills_the_buffer_all_the_same() {
    let crumbs = |_: usize, args: &ReadPlusArgs| says(false, vec![data(args.offset, b"x")]);
    let (_export, forger, _mount, file) = behind(Box::new(crumbs)).await;
    let mut buffer = vec![0; 100];
    // Not by `read_at`, which wants whole blocks.
    assert_eq!(file.read_into(0, &mut buffer).await.unwrap(), ReadInto { count: 100, is_eof: false });
    assert_eq!((buffer, forger.asked().len()), (vec![b'x'; 100], 100));
}

#[tokio::test]
async fn read_takes_over_on_whichever_reply_the_server_says_that_it_cannot() {
    for status in [Status::NotSupp, Status::UnionNotSupp, Status::OpIllegal] {
        for first_refused in [0, 3] {
            let refuse = move |number: usize, _: &ReadPlusArgs| (number >= first_refused).then_some(Res::Fail(status));
            let (_export, forger, mount, file) = behind(Box::new(refuse)).await;
            for _ in 0..6 {
                let mut buffer = vec![0xff; LENGTH];
                let read = file.read_into(0, &mut buffer).await.unwrap();
                assert!(read.count == LENGTH && buffer == content(), "{status:?} from {first_refused} on");
            }
            assert!(!mount.uses_read_plus());
            assert_eq!(forger.asked().len(), first_refused + 1, "{status:?} is remembered");
        }
    }
}

#[tokio::test]
async fn reads_that_are_under_way_when_the_first_refusal_comes_have_their_own() {
    let (_export, _forger, _mount, file) = behind(Box::new(|_, _| Some(Res::Fail(Status::NotSupp)))).await;
    let file = Arc::new(file);
    let mut reads = tokio::task::JoinSet::new();
    for number in 0..50 {
        let file = Arc::clone(&file);
        reads.spawn(async move { (number, file.read(number * 2000, 2000).await.unwrap().bytes) });
    }
    while let Some(read) = reads.join_next().await {
        let (number, bytes) = read.unwrap();
        let at = number as usize * 2000;
        assert_eq!(bytes, content()[at..at + 2000], "{number}");
    }
}

#[tokio::test]
async fn other_refusals_are_the_readers_business() {
    let (_export, _forger, mount, file) = behind(Box::new(|_, _| Some(Res::Fail(Status::Io)))).await;
    assert_eq!(file.read(0, 10).await.unwrap_err().status(), Some(client::Status::Io));
    assert!(mount.uses_read_plus());
}

#[tokio::test]
async fn segments_that_cannot_be_are_errors_and_read_takes_over() {
    type Check = fn(&Lie) -> bool;
    let cases: [(Vec<ReadPlusSegment<'static>>, Check); 6] = [
        (vec![data(0, b"abc"), data(2, b"def")], |lie| matches!(lie, Lie::Segment { expected: 3, got: 2 })),
        (vec![data(0, b"abc"), data(4, b"def")], |lie| matches!(lie, Lie::Segment { expected: 3, got: 4 })),
        (vec![data(3, b"abc"), data(0, b"abc")], |lie| matches!(lie, Lie::Segment { expected: 0, got: 3 })),
        (vec![hole(0, u64::MAX), hole(7, u64::MAX)], |lie| matches!(lie, Lie::Segment { got: 7, .. })),
        (vec![hole(u64::MAX, 5)], |lie| matches!(lie, Lie::Segment { expected: 0, got: u64::MAX })),
        (vec![hole(0, 0), data(0, b"")], |lie| matches!(lie, Lie::NoData)),
    ];
    for (segments, is_it) in cases {
        let told = segments.clone();
        let (_export, _forger, mount, file) = behind(Box::new(move |_, _| says(false, told.clone()))).await;
        let error = file.read_plus(0, 100).await.unwrap_err();
        assert!(matches!(error.reason(), Reason::Lie(lie) if is_it(lie)), "{segments:?}: {error}");
        assert_read_takes_over(&mount, &file).await;
    }
}

/// Reads what is in the file, and no READ_PLUS of the mount is sent from then on.
async fn assert_read_takes_over(mount: &Mount, file: &File) {
    let mut buffer = vec![0xff; LENGTH];
    assert_eq!(file.read_into(0, &mut buffer).await.unwrap().count, LENGTH);
    assert!(buffer == content() && !mount.uses_read_plus());
}

#[tokio::test]
async fn data_beyond_what_was_asked_for_is_cut_off() {
    let (_export, _forger, _mount, file) =
        behind(Box::new(|_, _| says(true, vec![data(8, b"0123456789"), hole(18, 4), data(22, b"abc")]))).await;
    for (length, wanted) in [(5, &b"23456"[..]), (10, b"23456789\0\0"), (14, b"23456789\0\0\0\0ab")] {
        let mut buffer = vec![0xff; length];
        let read = file.read_into(10, &mut buffer).await.unwrap();
        assert_eq!((&buffer[..], read.is_eof), (wanted, false));
        assert_eq!(file.read(10, length as u32).await.unwrap().bytes.as_ref(), wanted);
    }
    let mut buffer = [0xff; 15];
    assert!(file.read_into(10, &mut buffer).await.unwrap().is_eof);
    assert_eq!(&buffer, b"23456789\0\0\0\0abc");
}

#[tokio::test]
async fn more_segments_than_any_reply_has_are_refused() {
    let many = (0..4097).map(|offset| hole(offset, 1)).collect::<Vec<_>>();
    let (_export, _forger, mount, file) = behind(Box::new(move |_, _| says(false, many.clone()))).await;
    let error = file.read_plus(0, 5000).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Lie(Lie::TooManySegments(4097))), "{error}");
    assert_read_takes_over(&mount, &file).await;
}
