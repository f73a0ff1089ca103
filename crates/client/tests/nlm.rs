//! Locks of NFSv2 and NFSv3 against the real lock manager, and against one that lies.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod fake;
mod real;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use client::{File, LockKind, Mount, OpenOptions, Options, Reason, Status, Version};
use fake::{Answer, Question};
use proto::nfs3;
use proto::nlm::{self, Holder, NetObj, Res, Status as Wire, TestOk, TestReply, V4};
use real::Export;
use vfs::{CreateMode, SetAttributes};

const WHOLE: u64 = u64::MAX;
const VERSIONS: [Version; 2] = [Version::V2, Version::V3];
/// For how long something that must come is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

async fn open(mount: &Mount, name: &[u8]) -> File {
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let options = OpenOptions::both().creating(CreateMode::Unchecked, set);
    mount.open(&mount.root().handle, name, &options).await.unwrap()
}

async fn lock_when_free(file: &File) {
    tokio::time::timeout(PATIENCE, file.lock(LockKind::Exclusive, 0, WHOLE)).await.unwrap().unwrap();
}

#[tokio::test]
async fn locks_of_two_mounts_conflict_and_say_where() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (export.mount(version).await, export.mount(version).await);
        let (held, other) = (open(&mine, b"locked").await, open(&yours, b"locked").await);
        held.lock(LockKind::Exclusive, 100, 50).await.unwrap();
        held.lock(LockKind::Shared, 200, 10).await.unwrap();
        let refused = other.try_lock(LockKind::Shared, 0, WHOLE).await.unwrap_err();
        assert!(matches!(refused.reason(), Reason::Locked { offset: 100, length: 50 }), "{version}: {refused}");
        let refused = other.test_lock(LockKind::Exclusive, 205, 1).await.unwrap_err();
        assert!(matches!(refused.reason(), Reason::Locked { offset: 200, length: 10 }), "{version}: {refused}");
        other.test_lock(LockKind::Shared, 205, 1).await.unwrap();
        other.try_lock(LockKind::Shared, 205, 1).await.unwrap();
        held.unlock(110, 10).await.unwrap();
        other.try_lock(LockKind::Exclusive, 110, 10).await.unwrap();
        held.close().await.unwrap();
        other.try_lock(LockKind::Exclusive, 0, WHOLE).await.unwrap();
        other.close().await.unwrap();
    }
}

#[tokio::test]
async fn two_files_of_one_mount_are_two_owners_and_meet_those_of_other_versions() {
    let export = Export::start();
    let mounts = [export.mount(Version::V2).await, export.mount(Version::V3).await, export.mount(Version::V4_1).await];
    for mine in &mounts {
        let first = open(mine, b"file").await;
        first.lock(LockKind::Exclusive, 5, WHOLE).await.unwrap();
        for yours in &mounts {
            let second = open(yours, b"file").await;
            let refused = second.try_lock(LockKind::Shared, 7, 1).await.unwrap_err();
            let Reason::Locked { offset: 5, length } = refused.reason() else { panic!("{refused}") };
            assert_eq!(*length, WHOLE, "{} and {}", mine.version(), yours.version());
            second.close().await.unwrap();
        }
        first.close().await.unwrap();
    }
}

#[tokio::test]
async fn lock_is_waited_for_until_the_other_lets_it_go() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (export.mount(version).await, export.mount(version).await);
        let (held, other) = (open(&mine, b"wanted").await, open(&yours, b"wanted").await);
        held.lock(LockKind::Exclusive, 0, WHOLE).await.unwrap();
        let waiting = tokio::spawn(async move { other.lock(LockKind::Exclusive, 5, 5).await });
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!waiting.is_finished(), "{version}");
        held.unlock(0, WHOLE).await.unwrap();
        tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap();
    }
}

#[tokio::test]
async fn dropped_file_and_dropped_lock_leave_nothing_locked() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (export.mount(version).await, export.mount(version).await);
        let other = open(&yours, b"file").await;
        let file = open(&mine, b"file").await;
        file.lock(LockKind::Exclusive, 0, WHOLE).await.unwrap();
        drop(file);
        lock_when_free(&other).await;
        other.unlock(0, WHOLE).await.unwrap();
        let file = open(&mine, b"file").await;
        file.lock(LockKind::Shared, 0, 10).await.unwrap();
        for micros in 0..50 {
            // Whenever it is dropped, before its reply or after, no lock stays but the one before.
            let _ =
                tokio::time::timeout(Duration::from_micros(micros * 40), file.lock(LockKind::Exclusive, 5, 20)).await;
            file.unlock(10, 10).await.unwrap();
            file.unlock(20, 5).await.unwrap();
            file.lock(LockKind::Shared, 0, 10).await.unwrap();
        }
        tokio::time::timeout(PATIENCE, other.lock(LockKind::Exclusive, 10, 15)).await.unwrap().unwrap();
        assert!(other.try_lock(LockKind::Exclusive, 9, 1).await.is_err(), "{version}");
        tokio::time::timeout(PATIENCE, other.lock(LockKind::Shared, 5, 5)).await.unwrap().unwrap();
    }
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

#[tokio::test]
async fn locks_are_reclaimed_after_a_restart_before_anybody_else_has_them() {
    let mut export = Export::restartable(Duration::from_secs(5));
    let (v2, v3) = (export.mount(Version::V2).await, export.mount(Version::V3).await);
    let (first, second) = (open(&v2, b"first").await, open(&v3, b"second").await);
    first.lock(LockKind::Exclusive, 0, 10).await.unwrap();
    second.lock(LockKind::Exclusive, 0, 10).await.unwrap();
    second.lock(LockKind::Shared, 20, WHOLE).await.unwrap();
    export.restart();
    let other = export.mount(Version::V3).await;
    for (name, file) in [(&b"first"[..], &first), (b"second", &second)] {
        // While the server lets locks be reclaimed nobody gets a new one, so that this waits until that is over.
        let other = open(&other, name).await;
        let refused =
            tokio::time::timeout(PATIENCE, other.try_lock(LockKind::Exclusive, 5, 1)).await.unwrap().unwrap_err();
        assert!(matches!(refused.reason(), Reason::Locked { offset: 0, length: 10 }), "{refused}");
        other.try_lock(LockKind::Exclusive, 12, 1).await.unwrap();
        file.unlock(0, 10).await.unwrap();
        other.try_lock(LockKind::Exclusive, 5, 1).await.unwrap();
    }
}

#[tokio::test]
async fn data_that_was_written_under_a_lock_is_seen_under_the_next() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (export.mount(version).await, export.mount(version).await);
        let (one, other) = (open(&mine, b"counter").await, open(&yours, b"counter").await);
        one.write_at(0, &[0]).await.unwrap();
        one.flush().await.unwrap();
        for turn in 0..20 {
            let file = if turn % 2 == 0 { &one } else { &other };
            lock_when_free(file).await;
            let mut byte = [0];
            assert_eq!(file.read_at(0, &mut byte).await.unwrap(), 1);
            assert_eq!(byte[0], turn, "{version}");
            file.write_at(0, &[turn + 1]).await.unwrap();
            // Times of version 2 are whole microseconds, and so is what tells one version of a file from the next.
            tokio::time::sleep(Duration::from_millis(2)).await;
            file.unlock(0, WHOLE).await.unwrap();
        }
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
        file.close().await.unwrap();
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
