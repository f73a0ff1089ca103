//! Several connections of one mount: they share the load, and the loss of one loses nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client::{File, Mount, OpenOptions, Options, Version};
use vfs::{CreateMode, SetAttributes, Stability};

use crate::real::Export;
use crate::real::proxy::Proxy;

const VERSIONS: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];
const CONNECTIONS: usize = 4;
const BLOCK_BYTES: u32 = 1000;

async fn mount(proxy: &Proxy, version: Version) -> Mount {
    let url = format!("nfs://{}/files?nconnect={CONNECTIONS}", proxy.address).parse().unwrap();
    let options = Options { version, use_privileged_port: false, ..Options::default() };
    Mount::connect(&url, &options).await.unwrap()
}

async fn file(mount: &Mount) -> Arc<File> {
    let create = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
    let file = mount.open(&mount.root().handle, b"file", &create).await.unwrap();
    let data = vec![7; BLOCK_BYTES as usize];
    file.write(0, data.into(), Stability::File).await.unwrap();
    Arc::new(file)
}

/// Reads over and over until `is_over`, from several tasks at once, and counts the reads.
async fn read_until(file: &Arc<File>, is_over: Arc<AtomicBool>) -> usize {
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..2 * CONNECTIONS {
        let (file, is_over) = (Arc::clone(file), Arc::clone(&is_over));
        readers.spawn(async move {
            let mut count = 0;
            while count == 0 || !is_over.load(Ordering::Relaxed) {
                assert_eq!(file.read(0, BLOCK_BYTES).await.unwrap().bytes.as_ref(), [7; BLOCK_BYTES as usize]);
                count += 1;
            }
            count
        });
    }
    readers.join_all().await.iter().sum()
}

/// The connections that carry calls of NFS besides those that a mount begins with.
fn busy(proxy: &Proxy, least: usize) -> usize {
    proxy.calls().iter().filter(|calls| **calls >= least).count()
}

#[tokio::test]
async fn calls_take_turns_on_all_connections_in_every_version() {
    let export = Export::start();
    for version in VERSIONS {
        let proxy = Proxy::start(export.address()).await;
        let mount = mount(&proxy, version).await;
        let file = file(&mount).await;
        for _ in 0..10 * CONNECTIONS {
            file.read(0, BLOCK_BYTES).await.unwrap();
        }
        assert_eq!((mount.connections().len(), busy(&proxy, 10)), (CONNECTIONS, CONNECTIONS), "{version}");
    }
}

#[tokio::test]
async fn connection_that_is_lost_under_load_is_replaced_and_the_session_stays() {
    let export = Export::start();
    for version in VERSIONS {
        let proxy = Proxy::start(export.address()).await;
        let mount = mount(&proxy, version).await;
        let file = file(&mount).await;
        let (before, is_over) = (proxy.connections(), Arc::new(AtomicBool::new(false)));
        let readers = tokio::spawn({
            let (file, is_over) = (Arc::clone(&file), Arc::clone(&is_over));
            async move { read_until(&file, is_over).await }
        });
        // The first one is that of MOUNT in older versions.
        for lost in [before - 1, before - CONNECTIONS] {
            let had = proxy.connections();
            proxy.cut(lost);
            while proxy.connections() == had || proxy.calls().last() == Some(&0) {
                tokio::task::yield_now().await;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(readers.await.unwrap() >= 2 * CONNECTIONS, "{version}");
        assert_eq!(proxy.connections(), before + 2, "{version}: each is replaced once");
        let expected = usize::from(version >= Version::V4_1);
        assert_eq!(proxy.sessions(), expected, "{version}: the session is the first one still");
    }
}

#[tokio::test]
async fn file_stays_locked_over_the_loss_of_all_connections() {
    let export = Export::start();
    for version in [Version::V4_0, Version::V4_1, Version::V4_2] {
        let proxy = Proxy::start(export.address()).await;
        let (mine, yours) = (mount(&proxy, version).await, export.mount(version).await);
        let held = file(&mine).await;
        held.lock(client::LockKind::Exclusive, 0, 10).await.unwrap();
        (0..proxy.connections()).for_each(|number| proxy.cut(number));
        for _ in 0..CONNECTIONS {
            held.read(0, BLOCK_BYTES).await.unwrap();
        }
        let other = file_of(&yours).await;
        assert!(other.try_lock(client::LockKind::Shared, 5, 1).await.is_err(), "{version}");
        held.unlock(0, 10).await.unwrap();
        other.try_lock(client::LockKind::Shared, 5, 1).await.unwrap();
    }
}

async fn file_of(mount: &Mount) -> File {
    mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap()
}
