//! What is peculiar to locks of NFSv2 and NFSv3: where the lock manager is, what its versions can say, and what it may
//! answer. What holds in all versions is in `locks.rs`.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{File, LockKind, Mount, OpenOptions, Options, Reason, Status, Transport, Tunnel, Version};
use proto::nfs3;
use proto::nlm::{self, Holder, NetObj, Res, Status as Wire, TestOk, TestReply, V4};
use proto::rpcbind::{Getaddr, Uaddr, netid};
use tokio::net::TcpStream;
use vfs::{CreateMode, SetAttributes};

use crate::fake::{self, Answer, Question};
use crate::real::{Export, older};

const WHOLE: u64 = u64::MAX;
const VERSIONS: [Version; 2] = [Version::V2, Version::V3];
/// For how long something that must come is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

async fn open(mount: &Mount, name: &[u8]) -> File {
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let options = OpenOptions::both().creating(CreateMode::Unchecked, set);
    mount.open(&mount.root().handle, name, &options).await.unwrap()
}

#[tokio::test]
async fn ranges_that_the_version_cannot_name_are_refused() {
    let export = Export::start();
    let (older, newer) = (export.mount(Version::V2).await, export.mount(Version::V3).await);
    let (older, newer) = (open(&older, b"file").await, open(&newer, b"file").await);
    let refused = older.try_lock(LockKind::Shared, 1 << 33, 10).await.unwrap_err();
    assert_eq!(refused.status(), Some(Status::FileTooBig), "{refused}");
    newer.try_lock(LockKind::Shared, 1 << 33, 10).await.unwrap();
    for file in [older, newer] {
        assert_eq!(file.try_lock(LockKind::Shared, 5, 0).await.unwrap_err().status(), Some(Status::Invalid));
        file.close().await.unwrap();
    }
}

/// A file of a server made by hand, whose lock manager answers as a test says.
async fn lying(answer: impl Fn(&Question) -> Option<Answer> + Send + Sync + 'static) -> File {
    let mount = fake::mount(move |question| {
        if question.program == nlm::PROGRAM {
            return answer(question).or_else(|| Some(fake::results(())));
        }
        if question.is::<nfs3::Lookup>() {
            let attributes = Some(fake::fattr(nfs3::FileType::Regular, 10));
            let ok = nfs3::LookupOk { object: fake::handle(fake::FILE), attributes, dir_attributes: None };
            return Some(fake::results(nfs3::Res::<_, nfs3::PostOpAttr>::Ok(ok)));
        }
        None
    })
    .await;
    mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap()
}

fn status(question: &Question, status: Wire) -> Answer {
    let cookie = match question.procedure {
        2 => question.arguments::<nlm::Lock<V4>>().cookie,
        3 => question.arguments::<nlm::Cancel<V4>>().cookie,
        _ => question.arguments::<nlm::Unlock<V4>>().cookie,
    };
    fake::results(Res { cookie, status })
}

#[tokio::test]
async fn grace_period_is_waited_for() {
    let asked = AtomicUsize::new(0);
    let file = lying(move |question| match question.procedure {
        2 if asked.fetch_add(1, Ordering::Relaxed) < 2 => Some(status(question, Wire::DeniedGracePeriod)),
        2 | 4 => Some(status(question, Wire::Granted)),
        _ => None,
    })
    .await;
    tokio::time::timeout(PATIENCE, file.try_lock(LockKind::Shared, 0, 1)).await.unwrap().unwrap();
    file.close().await.unwrap();
}

#[tokio::test]
async fn lock_that_waits_without_being_asked_to_is_cancelled() {
    let cancelled = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&cancelled);
    let file = lying(move |question| match question.procedure {
        2 => Some(status(question, Wire::Blocked)),
        3 => {
            count.fetch_add(1, Ordering::Relaxed);
            Some(status(question, Wire::Granted))
        }
        1 => Some(Answer::Reject(rpc::Rejection::SystemError)),
        _ => None,
    })
    .await;
    assert!(file.try_lock(LockKind::Shared, 0, 1).await.is_err());
    assert_eq!(cancelled.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn answers_that_cannot_be_are_errors() {
    let other_cookie = |_: &Question| Some(fake::results(Res { cookie: NetObj(b"other"), status: Wire::Granted }));
    let unknown_status = |_: &Question| Some(Answer::Results(vec![0, 0, 0, 0, 0, 0, 0, 77]));
    let long_cookie = |_: &Question| Some(Answer::Results(vec![0xff; 8]));
    let nothing = |_: &Question| Some(Answer::Results(Vec::new()));
    type Lies = Box<dyn Fn(&Question) -> Option<Answer> + Send + Sync>;
    let lies: [Lies; 4] = [Box::new(other_cookie), Box::new(unknown_status), Box::new(long_cookie), Box::new(nothing)];
    for lie in lies {
        let file = lying(move |question| if question.procedure == 0 { None } else { lie(question) }).await;
        for refused in [
            file.try_lock(LockKind::Shared, 0, 1).await.unwrap_err(),
            file.test_lock(LockKind::Shared, 0, 1).await.unwrap_err(),
        ] {
            assert!(matches!(refused.reason(), Reason::Lie(_) | Reason::BadReply(_)), "{refused}");
        }
        // It may be locked, and of what is said to unlocking it nothing is true either.
        assert!(file.close().await.is_err());
    }
}

#[tokio::test]
async fn holder_that_reaches_past_all_bytes_is_told_as_it_is() {
    let file = lying(|question| match question.procedure {
        1 => {
            let cookie = question.arguments::<nlm::Test<V4>>().cookie;
            let holder = Holder { exclusive: true, svid: -1, owner: NetObj(b""), offset: u64::MAX, length: u64::MAX };
            Some(fake::results(TestOk { cookie, reply: TestReply::Denied(holder) }))
        }
        _ => None,
    })
    .await;
    let refused = file.test_lock(LockKind::Shared, 0, 1).await.unwrap_err();
    assert!(refused.to_string().contains("the end"), "{refused}");
}

#[tokio::test]
async fn server_without_a_lock_manager_says_so() {
    let mount = fake::mount(|question| {
        let is_locks = question.program == nlm::PROGRAM;
        is_locks.then_some(Answer::Reject(rpc::Rejection::ProgramUnavailable))
    })
    .await;
    let file = mount.open_handle(&mount.root().handle, &OpenOptions::both()).await.unwrap();
    let refused = file.try_lock(LockKind::Shared, 0, 1).await.unwrap_err();
    assert!(refused.status().is_none(), "{refused}");
}

#[tokio::test]
async fn lock_manager_is_found_at_a_port_of_its_own() {
    let export = Export::start();
    for version in VERSIONS {
        let options = Options { lock_port: Some(export.address().port()), ..export.options(version) };
        let mount = Mount::connect(&export.url(), &options).await.unwrap();
        let file = open(&mount, b"file").await;
        file.lock(LockKind::Exclusive, 0, WHOLE).await.unwrap();
        file.close().await.unwrap();
    }
}

/// An rpcbind of one version, which has every program at port 2049 of an IPv6 address, and the programs that it was
/// asked for.
async fn rpcbind_of(version: u32) -> (SocketAddr, Arc<Mutex<Vec<u32>>>) {
    let asked: Arc<Mutex<Vec<u32>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let address = fake::serve(move |question| {
        if question.version != version {
            return Answer::Reject(rpc::Rejection::ProgramMismatch { low: version, high: version });
        }
        assert_eq!((question.program, question.procedure), (proto::rpcbind::PROGRAM, 3));
        let query = question.arguments::<Getaddr<4>>();
        assert_eq!(query.netid, netid::TCP6);
        seen.lock().unwrap().push(query.program);
        fake::results(Uaddr { text: b"2001:db8::1.8.1" })
    })
    .await;
    (address, asked)
}

#[tokio::test]
async fn lock_manager_of_a_server_with_ipv6_is_found_by_getaddr_in_version_4_or_3_of_rpcbind() {
    let export = Export::start();
    let server = export.address();
    for version in [4, 3] {
        let (rpcbind, asked) = rpcbind_of(version).await;
        let tunnel = Tunnel::new(move |address: SocketAddr| {
            TcpStream::connect(if address.port() == proto::rpcbind::PORT { rpcbind } else { server })
        });
        let options = Options { tunnel: Some(tunnel), ..export.options(Version::V3) };
        let mount = Mount::connect(&"nfs://[2001:db8::1]/files".parse().unwrap(), &options).await.unwrap();
        let file = open(&mount, b"file").await;
        file.lock(LockKind::Exclusive, 0, WHOLE).await.unwrap();
        assert_eq!(asked.lock().unwrap().last(), Some(&nlm::PROGRAM), "version {version}");
        let other = open(&export.mount(Version::V3).await, b"file").await;
        assert!(other.try_lock(LockKind::Shared, 0, 1).await.is_err());
        file.close().await.unwrap();
    }
}

/// Less than the time after which the server is asked about a lock anyway, with what the restart takes.
const GRACE: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restart_of_a_server_without_streams_is_noticed_by_a_call_that_finds_nobody() {
    let mut export = Export::restartable(GRACE);
    let timeout = Some(Duration::from_millis(100));
    let options = Options { transport: Transport::Udp, is_hard: true, timeout, ..export.options(Version::V3) };
    let mount = Mount::connect(&export.url(), &options).await.unwrap();
    let file = open(&mount, b"file").await;
    file.lock(LockKind::Exclusive, 0, 10).await.unwrap();
    let asking = {
        let mount = mount.clone();
        tokio::spawn(async move {
            loop {
                mount.getattr(&mount.root().handle).await.unwrap();
            }
        })
    };
    export.restart_after(Duration::from_secs(1));
    let other = open(&export.mount(Version::V3).await, b"file").await;
    let refused = tokio::time::timeout(PATIENCE, other.try_lock(LockKind::Shared, 5, 1)).await.unwrap().unwrap_err();
    assert!(matches!(refused.reason(), Reason::Locked { offset: 0, length: 10, .. }), "{refused}");
    assert!(mount.counters().refusals > 0);
    asking.abort();
    file.close().await.unwrap();
}

#[tokio::test]
async fn lock_manager_of_version_1_serves_nfs_version_2() {
    let export = Export::start();
    let address = older::lacking(export.address(), nlm::PROGRAM, 3).await;
    let url = format!("nfs://{address}/files").parse().unwrap();
    let mount = Mount::connect(&url, &export.options(Version::V2)).await.unwrap();
    let (file, other) = (open(&mount, b"file").await, open(&export.mount(Version::V3).await, b"file").await);
    file.lock(LockKind::Exclusive, 5, 10).await.unwrap();
    let refused = other.try_lock(LockKind::Shared, 0, WHOLE).await.unwrap_err();
    assert!(matches!(refused.reason(), Reason::Locked { offset: 5, length: 10, .. }), "{refused}");
    let refused = file.try_lock(LockKind::Shared, 1 << 32, 1).await.unwrap_err();
    assert_eq!(refused.status(), Some(Status::FileTooBig), "{refused}");
    file.close().await.unwrap();
    other.try_lock(LockKind::Shared, 0, WHOLE).await.unwrap();
}

/// A file of a server over UDP, whose lock manager answers as a test says and grants everything else.
async fn over_datagrams(answer: impl Fn(&Question) -> Option<Answer> + Send + Sync + 'static) -> File {
    let answer = move |question: &Question| match question.program {
        nlm::PROGRAM if question.procedure == 0 => fake::results(()),
        nlm::PROGRAM => answer(question).unwrap_or_else(|| status(question, Wire::Granted)),
        _ => fake::basics(question),
    };
    let address = fake::serve(answer).await;
    let (timeout, retransmissions) = (Some(Duration::from_millis(100)), Some(1));
    let options = Options { transport: Transport::Udp, timeout, retransmissions, ..fake::options() };
    let mount = Mount::connect(&format!("nfs://{address}/export").parse().unwrap(), &options).await.unwrap();
    mount.open_handle(&mount.root().handle, &OpenOptions::both()).await.unwrap()
}

#[tokio::test]
async fn lock_whose_datagram_is_lost_is_asked_for_again_by_the_same_call() {
    let calls: Arc<Mutex<Vec<rpc::Xid>>> = Arc::default();
    let seen = Arc::clone(&calls);
    let file = over_datagrams(move |question| {
        let mut calls = seen.lock().unwrap();
        calls.push(question.xid);
        (calls.len() == 1).then_some(Answer::Silence)
    })
    .await;
    file.try_lock(LockKind::Shared, 0, 1).await.unwrap();
    let calls = calls.lock().unwrap().clone();
    assert!(calls.len() >= 2 && calls[0] == calls[1], "{calls:?}");
}

#[tokio::test]
async fn lock_whose_answer_never_comes_is_unlocked_when_the_file_is_closed() {
    let unlocked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&unlocked);
    let file = over_datagrams(move |question| {
        count.fetch_add(usize::from(question.procedure == 4), Ordering::Relaxed);
        (question.procedure == 2).then_some(Answer::Silence)
    })
    .await;
    let failed = file.try_lock(LockKind::Shared, 0, 1).await.unwrap_err();
    assert!(matches!(failed.reason(), Reason::NoReply(_)), "{failed}");
    file.close().await.unwrap();
    assert_ne!(unlocked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn server_without_room_for_a_lock_is_asked_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let file = lying(move |question| {
        (question.procedure == 2).then(|| {
            counter.fetch_add(1, Ordering::Relaxed);
            status(question, Wire::DeniedNoLocks)
        })
    })
    .await;
    let refused = tokio::time::timeout(PATIENCE, file.try_lock(LockKind::Shared, 0, 10)).await.unwrap().unwrap_err();
    assert_eq!(refused.status(), Some(Status::NoLocks), "{refused}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
