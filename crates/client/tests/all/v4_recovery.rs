//! What the client of NFSv4 does when the server restarts, forgets it, or takes something away.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{File, LockKind, Mount, OpenOptions, Options, Reason, Version};
use proto::nfs4::{
    ArgOp, OpNumber, OpenClaim, Res, ResOp, SEQ_STATUS_ADMIN_STATE_REVOKED, SEQ_STATUS_BACKCHANNEL_FAULT,
    SEQ_STATUS_CB_PATH_DOWN, SEQ_STATUS_DEVID_CHANGED, SEQ_STATUS_LEASE_MOVED, SEQ_STATUS_RESTART_RECLAIM_NEEDED,
    Status as Wire,
};
use vfs::{CreateMode, SetAttributes, Stability};

use crate::fake4::{self, Fake};
use crate::real::proxy::Proxy;
use crate::real::{Export, until};

const VERSIONS: [Version; 3] = [Version::V4_0, Version::V4_1, Version::V4_2];
const LEASE: Duration = Duration::from_secs(1);
/// How long something is waited for that comes soon.
const PATIENCE: Duration = Duration::from_secs(20);

async fn mount(address: SocketAddr, version: Version) -> Mount {
    let url = format!("nfs://{address}/files").parse().unwrap();
    let options = Options { version, use_privileged_port: false, is_hard: true, ..Options::default() };
    Mount::connect(&url, &options).await.unwrap()
}

async fn open(mount: &Mount, name: &[u8], options: OpenOptions) -> File {
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    mount.open(&mount.root().handle, name, &options.creating(CreateMode::Unchecked, set)).await.unwrap()
}

#[tokio::test]
async fn lease_of_nfs40_is_renewed_although_calls_that_renew_none_are_made_all_the_time() {
    let export = Export::restartable(LEASE);
    let proxy = Proxy::start(export.address()).await;
    let mount = mount(proxy.address, Version::V4_0).await;
    let renewing = async {
        while proxy.count(OpNumber::Renew as u32) < 3 {
            mount.getattr(&mount.root().handle).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, renewing).await.expect("the lease runs out");
}

#[tokio::test]
async fn opens_and_locks_are_reclaimed_when_the_server_restarts() {
    for version in VERSIONS {
        let mut export = Export::restartable(LEASE);
        let mine = mount(export.address(), version).await;
        let file = open(&mine, b"file", OpenOptions { denies_writes: true, ..OpenOptions::both() }).await;
        file.write(0, "before".into(), Stability::File).await.unwrap();
        file.lock(LockKind::Exclusive, 2, 3).await.unwrap();
        export.restart();
        file.write(6, " and after".into(), Stability::File).await.unwrap();
        assert_eq!(file.read(0, 100).await.unwrap().bytes.as_ref(), b"before and after", "{version}");
        let yours = mount(export.address(), version).await;
        let refused = yours.open(&yours.root().handle, b"file", &OpenOptions::write()).await.unwrap_err();
        assert_eq!(refused.status(), Some(client::Status::ShareDenied), "{version}");
        let other = yours.open(&yours.root().handle, b"file", &OpenOptions::read()).await.unwrap();
        assert!(other.try_lock(LockKind::Shared, 4, 10).await.is_err(), "{version}");
        file.close().await.unwrap();
        other.try_lock(LockKind::Shared, 4, 10).await.unwrap();
    }
}

#[tokio::test]
async fn idle_client_of_nfs40_shows_that_it_has_reclaimed_everything() {
    // Of a client that does not, the server knows only after some seconds that it will not reclaim more.
    const SOON: Duration = Duration::from_secs(8);
    let mut export = Export::restartable(Duration::from_secs(60));
    let mine = mount(export.address(), Version::V4_0).await;
    let _open = open(&mine, b"file", OpenOptions::both()).await;
    export.restart();
    let yours = mount(export.address(), Version::V4_2).await;
    let opening = tokio::time::timeout(SOON, open(&yours, b"other", OpenOptions::both()));
    opening.await.expect("the server waits for a client that has reclaimed everything");
}

#[tokio::test]
async fn lock_that_the_server_may_have_given_to_others_before_it_restarted_is_not_reclaimed() {
    for version in VERSIONS {
        let mut export = Export::restartable(LEASE);
        let proxies = [Proxy::start(export.address()).await, Proxy::start(export.address()).await];
        let [mine, yours] = [mount(proxies[0].address, version).await, mount(proxies[1].address, version).await];
        let (unlocking, locking) =
            (open(&mine, b"file", OpenOptions::both()).await, open(&yours, b"file", OpenOptions::both()).await);
        unlocking.lock(LockKind::Exclusive, 0, 10).await.unwrap();
        // The server unlocks it, and nobody hears of that.
        proxies[0].block_from_reply_to(OpNumber::Locku as u32);
        let unlocking = tokio::spawn(async move { unlocking.unlock(0, 10).await.map(|()| unlocking) });
        locking.lock(LockKind::Exclusive, 0, 10).await.unwrap();
        proxies[1].block(true);
        export.restart();
        // If it were reclaimed, it would stay so for a while.
        proxies[0].block_from_reply_to(OpNumber::Lock as u32);
        proxies[0].block(false);
        until("word of the restart", async || unlocking.is_finished() || proxies[0].seen() > 0).await;
        proxies[1].block(false);
        // Whoever has lost a lock may not write.
        locking.write(0, "mine".into(), Stability::File).await.unwrap();
        proxies[0].block(false);
        unlocking.await.unwrap().unwrap().close().await.unwrap();
        let others = open(&mount(export.address(), version).await, b"file", OpenOptions::both()).await;
        let refused = others.try_lock(LockKind::Shared, 5, 1).await.unwrap_err();
        assert!(matches!(refused.reason(), Reason::Locked { .. }), "{version}: {refused}");
    }
}

/// A client that the server received nothing from for longer than its lease, while another one took what it had.
async fn forget(export: &Export, proxy: &Proxy, version: Version) {
    proxy.block(true);
    let yours = mount(export.address(), version).await;
    // The server lets the first one be for as long as its lease lasts, and it answers later until it is over.
    let taken = yours.open(&yours.root().handle, b"locked", &OpenOptions::both()).await.unwrap();
    let taking = async {
        while taken.try_lock(LockKind::Exclusive, 0, 10).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, taking).await.unwrap();
    taken.close().await.unwrap();
    proxy.block(false);
}

#[tokio::test]
async fn locks_that_ran_out_with_the_lease_are_told_and_opens_are_had_back() {
    for version in VERSIONS {
        let export = Export::restartable(LEASE);
        let proxy = Proxy::start(export.address()).await;
        let mine = mount(proxy.address, version).await;
        let (locked, plain) =
            (open(&mine, b"locked", OpenOptions::both()).await, open(&mine, b"plain", OpenOptions::both()).await);
        locked.lock(LockKind::Exclusive, 0, 10).await.unwrap();
        plain.write(0, "data".into(), Stability::File).await.unwrap();
        forget(&export, &proxy, version).await;
        // Until the client has found out, the server itself refuses what is written under the lock.
        let lost = locked.write(0, "late".into(), Stability::File).await.unwrap_err();
        assert!(matches!(lost.reason(), Reason::StateLost), "{version}: {lost}");
        plain.write(4, " more".into(), Stability::File).await.unwrap();
        assert_eq!(plain.read(0, 100).await.unwrap().bytes.as_ref(), b"data more", "{version}");
        locked.close().await.unwrap();
        let again = open(&mine, b"locked", OpenOptions::both()).await;
        again.lock(LockKind::Exclusive, 0, 10).await.unwrap();
        again.write(0, "anew".into(), Stability::File).await.unwrap();
    }
}

#[tokio::test]
async fn open_of_nfs40_after_the_lease_ran_out_makes_the_client_known_again() {
    let is_over = AtomicBool::new(true);
    let (address, fake) = fake4::start(move |operation, _| match operation {
        ArgOp::Open(_) if is_over.swap(false, Ordering::Relaxed) => Some(ResOp::Open(Res::Fail(Wire::Expired))),
        _ => None,
    })
    .await;
    let options = Options { version: Version::V4_0, ..fake4::options() };
    let mount = Mount::connect(&format!("nfs://{address}/").parse().unwrap(), &options).await.unwrap();
    mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap();
    assert_eq!((fake.count("Setclientid"), fake.count("Open")), (2, 2));
}

/// What a fake server says of one SEQUENCE, the `number`th from now on, and later of other operations.
fn failing_sequence(number: usize, status: Wire) -> impl Fn(&ArgOp<'_>) -> Option<ResOp<'static>> {
    let count = AtomicUsize::new(0);
    move |operation| {
        let is_due = matches!(operation, ArgOp::Sequence(_)) && count.fetch_add(1, Ordering::Relaxed) == number;
        is_due.then_some(ResOp::Sequence(Res::Fail(status)))
    }
}

async fn read(file: &File) {
    // The fake has no READ, and says so under whatever state there is.
    assert_eq!(file.read(0, 10).await.unwrap_err().status(), Some(client::Status::NotSupported));
}

async fn opened(address: SocketAddr) -> (Mount, File) {
    let mount = fake4::connect(address, "/").await.unwrap();
    let file = mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap();
    (mount, file)
}

/// How many SEQUENCEs a mount and an open take.
async fn sequences() -> usize {
    let (address, fake) = fake4::start(|_, _| None).await;
    let _opened = opened(address).await;
    fake.count("Sequence")
}

#[tokio::test]
async fn session_that_is_lost_is_replaced_and_nothing_is_reclaimed_from_a_server_that_knows_the_client() {
    let before = sequences().await;
    for status in [Wire::BadSession, Wire::DeadSession] {
        let fail = failing_sequence(before, status);
        let (address, fake) = fake4::start(move |operation, _| fail(operation)).await;
        let (_mount, file) = opened(address).await;
        read(&file).await;
        assert_eq!((fake.count("CreateSession"), fake.count("ExchangeId")), (2, 1), "{status:?}");
        assert_eq!((fake.count("Open"), fake.count("ReclaimComplete")), (1, 1), "{status:?}");
    }
}

#[tokio::test]
async fn session_that_is_lost_while_a_file_is_opened_anew_is_replaced() {
    let (is_forgotten, is_lost) = (AtomicBool::new(false), AtomicBool::new(false));
    let (address, fake) = fake4::start(move |operation, _| match operation {
        ArgOp::Read(_) | ArgOp::ReadPlus(_) if !is_forgotten.swap(true, Ordering::Relaxed) => {
            Some(ResOp::Read(Res::Fail(Wire::BadStateid)))
        }
        // The first request after the stateid was refused is the OPEN.
        ArgOp::Sequence(_) if is_forgotten.load(Ordering::Relaxed) && !is_lost.swap(true, Ordering::Relaxed) => {
            Some(ResOp::Sequence(Res::Fail(Wire::BadSession)))
        }
        _ => None,
    })
    .await;
    let (_mount, file) = opened(address).await;
    read(&file).await;
    assert_eq!((fake.count("CreateSession"), fake.count("ExchangeId"), fake.count("Open")), (2, 1, 2));
}

#[tokio::test]
async fn server_that_restarts_while_a_client_connects_is_connected_to() {
    for status in [Wire::BadSession, Wire::DeadSession] {
        let fail = failing_sequence(0, status);
        let sessions = AtomicUsize::new(0);
        let (address, fake) = fake4::start(move |operation, _| match operation {
            ArgOp::CreateSession(_) if sessions.fetch_add(1, Ordering::Relaxed) == 1 => {
                Some(ResOp::CreateSession(Res::Fail(Wire::StaleClientid)))
            }
            _ => fail(operation),
        })
        .await;
        let _opened = opened(address).await;
        assert_eq!((fake.count("ExchangeId"), fake.count("Open")), (2, 1), "{status:?}");
    }
}

/// A server that forgets its client once: what `special` says of the OPENs that reclaim goes first.
async fn forgetful(
    special: impl Fn(&ArgOp<'_>) -> Option<ResOp<'static>> + Send + Sync + 'static,
) -> (SocketAddr, Arc<Fake>, Arc<Mutex<Vec<&'static str>>>) {
    let claims: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let (fail, seen) = (failing_sequence(sequences().await, Wire::BadSession), Arc::clone(&claims));
    let sessions = AtomicUsize::new(0);
    let (address, fake) = fake4::start(move |operation, _| {
        if let ArgOp::Open(args) = operation {
            seen.lock().unwrap().push(match args.claim {
                OpenClaim::Null(_) => "name",
                OpenClaim::Previous { .. } => "previous",
                _ => "handle",
            });
        }
        if matches!(operation, ArgOp::CreateSession(_)) && sessions.fetch_add(1, Ordering::Relaxed) == 1 {
            return Some(ResOp::CreateSession(Res::Fail(Wire::StaleClientid)));
        }
        special(operation).or_else(|| fail(operation))
    })
    .await;
    (address, fake, claims)
}

/// What is said of the OPENs that reclaim, one after the other, and then nothing.
fn reclaims(answers: &'static [Wire]) -> impl Fn(&ArgOp<'_>) -> Option<ResOp<'static>> {
    let count = AtomicUsize::new(0);
    move |operation| match operation {
        ArgOp::Open(args) if matches!(args.claim, OpenClaim::Previous { .. }) => {
            let status = *answers.get(count.fetch_add(1, Ordering::Relaxed))?;
            Some(ResOp::Open(Res::Fail(status)))
        }
        _ => None,
    }
}

#[tokio::test]
async fn reclaim_that_is_put_off_is_asked_for_again() {
    let (address, fake, claims) = forgetful(reclaims(&[Wire::Delay])).await;
    let (_mount, file) = opened(address).await;
    read(&file).await;
    assert_eq!(*claims.lock().unwrap(), ["name", "previous", "previous"]);
    assert_eq!(fake.count("ReclaimComplete"), 2);
}

#[tokio::test]
async fn what_cannot_be_reclaimed_is_opened_anew_after_the_end_of_reclaiming() {
    let (address, fake, claims) = forgetful(reclaims(&[Wire::NoGrace])).await;
    let (_mount, file) = opened(address).await;
    read(&file).await;
    assert_eq!(*claims.lock().unwrap(), ["name", "previous", "handle"]);
    let log = fake.log.lock().unwrap();
    let last = |name: &str| log.iter().rposition(|operation| operation == name).unwrap();
    assert!(last("ReclaimComplete") < last("Open"));
}

#[tokio::test]
async fn what_could_not_be_reclaimed_once_is_not_reclaimed_when_the_server_restarts_again() {
    let (refuse, ends) = (reclaims(&[Wire::NoGrace]), AtomicUsize::new(0));
    let (address, _fake, claims) = forgetful(move |operation| match operation {
        // That nothing more will be reclaimed is known to the server, which is gone before it says so.
        ArgOp::ReclaimComplete(_) if ends.fetch_add(1, Ordering::Relaxed) == 1 => {
            Some(ResOp::ReclaimComplete(Res::Fail(Wire::DeadSession)))
        }
        _ => refuse(operation),
    })
    .await;
    let (_mount, file) = opened(address).await;
    read(&file).await;
    assert_eq!(*claims.lock().unwrap(), ["name", "previous", "handle"]);
}

#[tokio::test]
async fn session_that_is_lost_while_it_reclaims_is_replaced_and_everything_is_reclaimed() {
    let (starts, is_lost) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (address, fake, claims) = forgetful(move |operation| match operation {
        ArgOp::ExchangeId(_) => {
            starts.fetch_add(1, Ordering::Relaxed);
            None
        }
        // The first request after the client made itself known again is the reclaim.
        ArgOp::Sequence(_) if starts.load(Ordering::Relaxed) == 2 && !is_lost.swap(true, Ordering::Relaxed) => {
            Some(ResOp::Sequence(Res::Fail(Wire::DeadSession)))
        }
        _ => None,
    })
    .await;
    let (_mount, file) = opened(address).await;
    read(&file).await;
    assert_eq!(*claims.lock().unwrap(), ["name", "previous"]);
    assert_eq!(fake.count("CreateSession"), 4, "the second one is refused");
}

#[tokio::test]
async fn nothing_is_reclaimed_from_another_server_in_the_place_of_the_first() {
    let starts = AtomicUsize::new(0);
    let (address, _, claims) = forgetful(move |operation| match operation {
        ArgOp::ExchangeId(_) => {
            let scope: &[u8] = if starts.fetch_add(1, Ordering::Relaxed) == 0 { b"one" } else { b"another" };
            Some(ResOp::ExchangeId(Res::Ok(fake4::exchanged(scope))))
        }
        _ => None,
    })
    .await;
    let (_mount, file) = opened(address).await;
    read(&file).await;
    assert_eq!(*claims.lock().unwrap(), ["name", "handle"]);
}

/// A fake whose SEQUENCEs say `flags` from some time on, and what it received then.
async fn flagged(flags: u32) -> (Mount, File, Arc<Fake>) {
    let (address, fake) = fake4::start(|_, _| None).await;
    let (mount, file) = opened(address).await;
    fake.log.lock().unwrap().clear();
    fake.flags.store(flags, Ordering::Relaxed);
    read(&file).await;
    (mount, file, fake)
}

#[tokio::test]
async fn each_flag_of_sequence_is_seen_to_once() {
    for (flag, answer) in [
        (SEQ_STATUS_CB_PATH_DOWN, "BindConnToSession"),
        (SEQ_STATUS_ADMIN_STATE_REVOKED, "TestStateid"),
        (SEQ_STATUS_LEASE_MOVED, "Getattr"),
        (SEQ_STATUS_RESTART_RECLAIM_NEEDED, "ReclaimComplete"),
        (SEQ_STATUS_BACKCHANNEL_FAULT, "CreateSession"),
    ] {
        let (_mount, file, fake) = flagged(flag).await;
        until(answer, async || fake.count(answer) == 1).await;
        for _ in 0..20 {
            read(&file).await;
        }
        assert_eq!(fake.count(answer), 1, "{answer}");
    }
}

#[tokio::test]
async fn flags_about_what_the_client_does_not_use_are_left_alone() {
    let (_mount, file, fake) = flagged(SEQ_STATUS_DEVID_CHANGED).await;
    read(&file).await;
    assert_eq!(fake.count("Sequence"), 2);
}

#[tokio::test]
async fn close_that_is_put_off_is_sent_again() {
    let put_off = AtomicBool::new(false);
    let (address, fake) = fake4::start(move |operation, _| {
        let is_first = matches!(operation, ArgOp::Close(_)) && !put_off.swap(true, Ordering::Relaxed);
        is_first.then_some(ResOp::Close(Res::Fail(Wire::Delay)))
    })
    .await;
    let (_mount, file) = opened(address).await;
    file.close().await.unwrap();
    assert_eq!(fake.count("Close"), 2);
}

#[tokio::test]
async fn open_file_that_moved_while_the_client_was_forgotten_says_so() {
    let (address, _, _) = forgetful(|operation| match operation {
        ArgOp::Open(args) if !matches!(args.claim, OpenClaim::Null(_)) => Some(ResOp::Open(Res::Fail(Wire::Moved))),
        ArgOp::Read(_) => Some(ResOp::Read(Res::Fail(Wire::Moved))),
        _ => None,
    })
    .await;
    let (_mount, file) = opened(address).await;
    let moved = file.read(0, 10).await.unwrap_err();
    assert!(matches!(moved.reason(), Reason::Moved { .. }), "{moved}");
}
