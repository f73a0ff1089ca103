//! Copies at a server that is wrong about them. No time passes but that of the runtime.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{Copied, OpenOptions, Options, Reason, RemoteFs, Result, Status as Neutral, Version};
use proto::nfs4::{
    ArgOp, CopyOk, CopyRequirements, OffloadStatusOk, Res, ResOp, ResOr, StableHow, Stateid, Status, WriteResponse,
};
use tokio::runtime::Builder;
use tokio::time::{Instant, timeout};
use vfs::{Context, CopyRange, Error, FileSystem, Name, OpenMode, Place};

use crate::fake4::{self, Fake};

const CX: Context<'static> = Context::ROOT;

/// How long no copy may take that ends at all.
const LONG: Duration = Duration::from_secs(3600);

/// A COPY that is over and copied `count` bytes, or one that goes on.
fn copied(count: u64, callback_id: Option<Stateid>) -> ResOp<'static> {
    let response = WriteResponse { callback_id, count, committed: StableHow::FileSync, verifier: [0; 8] };
    let requirements = CopyRequirements { consecutive: true, synchronous: callback_id.is_none() };
    ResOp::Copy(ResOr::Ok(CopyOk { response, requirements }))
}

fn status(count: u64, complete: Option<Status>) -> Res<OffloadStatusOk> {
    Res::Ok(OffloadStatusOk { count, complete })
}

fn options() -> Options {
    Options { version: Version::V4_2, ..fake4::options() }
}

/// Whoever copies would take it for the end of the source: `cp` would leave a copy that is too short, and say nothing.
#[test]
fn server_that_copies_nothing_before_the_end_of_the_source_is_not_taken_for_that_end() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let special = |operation: &ArgOp<'_>, _: &[u8]| match operation {
        ArgOp::Copy(_) => Some(copied(0, None)),
        _ => fake4::newer(operation),
    };
    let (mount, fake) = runtime.block_on(fake4::mount_in_memory(special, |_, results| results, options())).unwrap();
    let files = RemoteFs::new(mount, runtime.handle().clone());
    let open = |name: &str, mode| {
        let place = Place { dir: files.root(), name: Name::new(name.as_bytes()).unwrap() };
        files.open(&CX, &files.lookup(&CX, place).unwrap().handle, mode).unwrap()
    };
    let (from, to) = (open("from", OpenMode::Read), open("to", OpenMode::Write));
    let copy = |from_bytes| to.copy_range(&CX, &*from, CopyRange { from_bytes, to_bytes: 0, length_bytes: 100 });
    let refused = copy(3);
    assert!(matches!(refused, Err(Error::NotSupported)), "the caller reads and writes then: {refused:?}");
    assert_eq!(copy(5).unwrap(), 0, "the file has five bytes");
    assert_eq!(fake.count("Copy"), 2);
}

/// Waits for a copy of all of a file that goes on, whose server tells these of it, one after the other and the last one
/// again and again. Gives how long that took too.
async fn wait_for_copy(
    tells: Vec<Res<OffloadStatusOk>>,
    is_hard: bool,
) -> (Option<Result<Copied>>, Duration, Arc<Fake>) {
    wait_for_copy_of(0, tells, is_hard).await
}

/// The same for so many bytes.
async fn wait_for_copy_of(
    count: u64,
    tells: Vec<Res<OffloadStatusOk>>,
    is_hard: bool,
) -> (Option<Result<Copied>>, Duration, Arc<Fake>) {
    let tells = Mutex::new(tells.into_iter().rev().collect::<Vec<_>>());
    let special = move |operation: &ArgOp<'_>, _: &[u8]| match operation {
        ArgOp::Copy(_) => Some(copied(0, Some(Stateid { seqid: 1, other: *b"the copy one" }))),
        ArgOp::OffloadStatus(_) => {
            let mut tells = tells.lock().unwrap();
            let last = tells.last().cloned().unwrap();
            if tells.len() > 1 {
                tells.pop();
            }
            Some(ResOp::OffloadStatus(last))
        }
        _ => fake4::newer(operation),
    };
    let options = Options { is_hard, ..options() };
    let (mount, fake) = fake4::mount_in_memory(special, |_, results| results, options).await.unwrap();
    let root = mount.root().handle;
    let from = mount.open(&root, b"from", &OpenOptions::read()).await.unwrap();
    let to = mount.open(&root, b"to", &OpenOptions::both()).await.unwrap();
    let began = Instant::now();
    let copying = to.begin_copy(&from, 0, 0, count).await.unwrap();
    assert!(copying.goes_on());
    let ended = timeout(LONG, copying.end(|_| ())).await.ok();
    let took = began.elapsed();
    timeout(LONG, mount.copies_ended()).await.unwrap();
    (ended, took, fake)
}

#[tokio::test(start_paused = true)]
async fn server_that_has_no_time_to_say_how_far_its_copy_is_is_asked_again() {
    for busy in [Status::Delay, Status::Grace] {
        let tells =
            vec![Res::Fail(busy), Res::Fail(busy), status(3, None), Res::Fail(busy), status(5, Some(Status::Ok))];
        let (ended, _, fake) = wait_for_copy(tells, false).await;
        assert_eq!(ended.expect("the copy ends").unwrap().count, 5, "{busy:?}");
        assert_eq!((fake.count("OffloadStatus"), fake.count("OffloadCancel")), (5, 0), "{busy:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_never_says_how_far_its_copy_is_is_waited_for_like_a_silent_one_and_told_to_end_it() {
    let patience = options().patience().unwrap();
    let (ended, took, fake) = wait_for_copy(vec![Res::Fail(Status::Delay)], false).await;
    let error = ended.expect("the copy ends").unwrap_err();
    assert_eq!(error.status(), Some(Neutral::TryLater), "{error}");
    assert!(took >= patience && took < patience * 2, "{took:?}");
    assert_eq!(fake.count("OffloadCancel"), 1);
}

#[tokio::test(start_paused = true)]
async fn copy_that_comes_no_further_ends_with_an_error_that_says_so_and_is_cancelled() {
    let patience = options().patience().unwrap();
    let tells = vec![status(0, None), status(1, None), status(4, None)];
    let (ended, took, fake) = wait_for_copy(tells, false).await;
    let error = ended.expect("the copy ends").unwrap_err();
    let Reason::CopyStalled { copied, waited } = error.reason() else { panic!("{error}") };
    assert!(*copied == 4 && *waited >= patience && took < patience * 2, "{error} after {took:?}");
    assert!(error.to_string().contains("no further than byte 4"), "{error}");
    assert_eq!(fake.count("OffloadCancel"), 1);
}

/// How many bytes are copied where a server tells no number, and how long that may take: a second for each 64 KiB.
const UNCOUNTED: u64 = 64 << 20;
const TIME_FOR_UNCOUNTED: Duration = Duration::from_secs(1024);

#[tokio::test(start_paused = true)]
async fn server_that_tells_no_number_of_bytes_before_the_end_has_time_for_all_of_them() {
    // Asked every other second, it copies for much longer than a silent server is waited for.
    let tells = (0..400).map(|_| status(0, None)).chain([status(UNCOUNTED, Some(Status::Ok))]);
    let (ended, took, fake) = wait_for_copy_of(UNCOUNTED, tells.collect(), false).await;
    assert_eq!(ended.expect("the copy ends").unwrap().count, UNCOUNTED);
    assert!(took > options().patience().unwrap() * 20, "{took:?}");
    assert_eq!(fake.count("OffloadCancel"), 0);
}

#[tokio::test(start_paused = true)]
async fn server_that_copies_without_a_number_and_without_an_end_is_given_up_and_told_to_end_it() {
    let (ended, took, fake) = wait_for_copy_of(UNCOUNTED, vec![status(0, None)], false).await;
    let error = ended.expect("the copy ends").unwrap_err();
    assert!(matches!(error.reason(), Reason::CopyStalled { copied: 0, .. }), "{error}");
    let limit = options().patience().unwrap() + TIME_FOR_UNCOUNTED;
    assert!(took >= limit && took < limit * 2, "{took:?}");
    assert_eq!(fake.count("OffloadCancel"), 1);
}

#[tokio::test(start_paused = true)]
async fn copy_that_comes_on_slowly_is_waited_for_however_long_it_takes() {
    // A byte for each time that the server is asked, which is longer than any patience altogether.
    let tells = (0..500).map(|count| status(count, None)).chain([status(500, Some(Status::Ok))]);
    let (ended, took, _) = wait_for_copy(tells.collect(), false).await;
    assert_eq!(ended.expect("the copy ends").unwrap().count, 500);
    assert!(took > options().patience().unwrap() * 10, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn hard_mount_waits_for_a_copy_that_comes_no_further() {
    for tells in [status(4, None), Res::Fail(Status::Delay)] {
        let (ended, _, fake) = wait_for_copy(vec![tells], true).await;
        assert!(ended.is_none(), "{ended:?}");
        assert_eq!(fake.count("OffloadCancel"), 1, "nobody waits for it now");
    }
}
