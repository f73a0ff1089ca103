//! Servers that are busy while they are mounted, and that repeat the cookies of a directory.

use std::sync::atomic::{AtomicU32, Ordering};

use client::{Detail, Lie, Mount, Reason, Status as Neutral};
use proto::nfs3::{self, PostOpAttr};
use proto::nfs4::{ArgOp, Res, ResOp, Status};

use crate::fake::{self, Answer, Question, basics, options, results, serve};
use crate::fake4;

/// How often a step is refused before it is carried out.
const REFUSALS: u32 = 2;

#[tokio::test]
async fn busy_server_of_nfsv3_is_asked_again_at_each_step_of_a_mount() {
    let steps: [fn(&Question) -> Option<Answer>; 2] = [
        |question| {
            let busy = || results(nfs3::Res::<(), ()>::Fail(nfs3::Status::Jukebox, ()));
            question.is::<nfs3::Getattr>().then(busy)
        },
        |question| {
            let busy = || results(nfs3::Res::<(), PostOpAttr>::Fail(nfs3::Status::Jukebox, None));
            question.is::<nfs3::Fsinfo>().then(busy)
        },
    ];
    for step in steps {
        let refusals = AtomicU32::new(0);
        let is_refused = move || refusals.fetch_add(1, Ordering::Relaxed) < REFUSALS;
        let address = serve(move |question| match step(question) {
            Some(busy) if is_refused() => busy,
            _ => basics(question),
        })
        .await;
        Mount::connect(&format!("nfs://{address}/export").parse().unwrap(), &options()).await.unwrap();
    }
}

type Busy = fn(&ArgOp<'_>) -> Option<ResOp<'static>>;

#[tokio::test(start_paused = true)]
async fn busy_server_of_nfsv4_is_asked_again_at_each_step_of_a_mount() {
    let steps: [Busy; 4] = [
        |operation| matches!(operation, ArgOp::ExchangeId(_)).then(|| ResOp::ExchangeId(Res::Fail(Status::Delay))),
        |operation| matches!(operation, ArgOp::Putrootfh).then(|| ResOp::Putrootfh(Res::Fail(Status::Delay))),
        |operation| matches!(operation, ArgOp::Getattr(_)).then(|| ResOp::Getattr(Res::Fail(Status::Delay))),
        |operation| matches!(operation, ArgOp::Getattr(_)).then(|| ResOp::Getattr(Res::Fail(Status::Grace))),
    ];
    for (number, step) in steps.into_iter().enumerate() {
        let refusals = AtomicU32::new(0);
        let special = move |operation: &ArgOp<'_>, _: &[u8]| {
            let busy = step(operation)?;
            (refusals.fetch_add(1, Ordering::Relaxed) < REFUSALS).then_some(busy)
        };
        let mounted = fake4::mount_in_memory(special, |_, results| results, fake4::options()).await;
        assert!(mounted.is_ok(), "step {number}: {:?}", mounted.err());
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_is_busy_for_ever_is_given_up_like_a_silent_one() {
    let busy = |operation: &ArgOp<'_>, _: &[u8]| match operation {
        ArgOp::Putrootfh => Some(ResOp::Putrootfh(Res::Fail(Status::Delay))),
        _ => None,
    };
    let (options, began) = (fake4::options(), tokio::time::Instant::now());
    let patience = options.patience().unwrap();
    let error = fake4::mount_in_memory(busy, |_, results| results, options).await.err().unwrap();
    assert_eq!(error.status(), Some(Neutral::TryLater), "{error}");
    assert!(began.elapsed() >= patience && began.elapsed() < 2 * patience, "{:?}", began.elapsed());
}

fn page(entries: &[(&[u8], u64)]) -> Answer {
    let head = nfs3::ReaddirHead { dir_attributes: None, verifier: [1; 8] };
    let entries =
        entries.iter().map(|(name, cookie)| nfs3::DirEntry { fileid: *cookie, name, cookie: *cookie }).collect();
    results(nfs3::Res::<_, PostOpAttr>::Ok(nfs3::ReaddirOk { head, entries, eof: true }))
}

#[tokio::test]
async fn cookie_that_two_entries_have_is_named_as_the_fault_of_the_server() {
    let mount = fake::mount(|question| {
        question.is::<nfs3::Readdir>().then(|| page(&[(b"a", 1), (b"b", 2), (b"c", 2), (b"d", 3)]))
    })
    .await;
    let error = mount.read_dir(&mount.root().handle, Detail::Names).next().await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Lie(Lie::CookieLoop)), "{error}");
    let error = mount.root_dir().read_dir(Detail::Names).next().await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Lie(Lie::CookieLoop)), "{error}");
}
