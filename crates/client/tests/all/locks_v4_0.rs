//! Locks of NFSv4.0, whose stateids and owners have numbers, and whose leases run out without a session that tells of
//! it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use client::{LockKind, Mount, OpenOptions, Options, Version};
use proto::nfs4::{ArgOp, ResOp, ResOr, Status as Wire};
use vfs::{CreateMode, SetAttributes};

use crate::fake4;
use crate::real::Export;

const PATIENCE: Duration = Duration::from_secs(60);

/// A server that says this to the first question about a lock.
async fn asked_about(first: Wire) -> (usize, usize) {
    let count = AtomicUsize::new(0);
    let (address, fake) = fake4::start(move |operation, _| match operation {
        ArgOp::Lockt(_) if count.fetch_add(1, Ordering::Relaxed) == 0 => Some(ResOp::Lockt(ResOr::Fail(first))),
        ArgOp::Lockt(_) => Some(ResOp::Lockt(ResOr::Ok(()))),
        _ => None,
    })
    .await;
    let options = Options { version: Version::V4_0, ..fake4::options() };
    let mount = Mount::connect(&format!("nfs://{address}/").parse().unwrap(), &options).await.unwrap();
    let file = mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap();
    file.test_lock(LockKind::Exclusive, 0, 10).await.unwrap();
    (fake.count("Lockt"), fake.count("Setclientid"))
}

#[tokio::test]
async fn lock_is_asked_about_again_when_the_server_forgot_the_client() {
    assert_eq!(asked_about(Wire::Expired).await, (2, 2));
    assert_eq!(asked_about(Wire::StaleClientid).await, (2, 2));
}

#[tokio::test]
async fn lock_is_asked_about_again_while_the_server_lets_locks_be_reclaimed() {
    assert_eq!(asked_about(Wire::Grace).await, (2, 1));
}

#[tokio::test]
async fn file_is_read_and_written_while_its_locks_change() {
    let export = Export::start();
    for version in [Version::V4_0, Version::V4_1, Version::V4_2] {
        let mount = export.mount(version).await;
        let making = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
        let file = mount.open(&mount.root().handle, b"file", &making).await.unwrap();
        let locking = async {
            for _ in 0..100 {
                file.lock(LockKind::Exclusive, 0, 10).await.unwrap();
                file.unlock(0, 10).await.unwrap();
            }
        };
        let working = async {
            for turn in 0..200_u64 {
                file.write(turn, "x".into(), vfs::Stability::Unstable).await.unwrap();
                file.read(0, 10).await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, async { tokio::join!(locking, working) }).await.unwrap();
    }
}
