//! What a mount keeps in memory, against the real server: that it spares calls, and for how long others' changes stay unseen.
//!
//! Calls are counted where they leave.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod real;

use std::future::Future;
use std::time::Duration;

use client::{Caching, Handle, Mount, Options, Version};
use real::Export;
use vfs::{CreateMode, SetAttributes};

const VERSIONS: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];

fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

/// How many calls something takes.
async fn calls<T>(mount: &Mount, what: impl Future<Output = T>) -> (u64, T) {
    let before = mount.counters().calls;
    let done = what.await;
    (mount.counters().calls - before, done)
}

async fn mount_with(export: &Export, version: Version, caching: Caching) -> Mount {
    let options = Options { caching, ..export.options(version) };
    Mount::connect(&export.url(), &options).await.unwrap()
}

/// For tests that are over before anything is asked again.
fn patient() -> Caching {
    let day = Duration::from_secs(86_400);
    Caching { file_min: day, file_max: day, dir_min: day, dir_max: day, ..Caching::default() }
}

/// For tests that wait until it is.
fn restless() -> Caching {
    let short = Duration::from_millis(20);
    Caching { file_min: short, file_max: short, dir_min: short, dir_max: short, ..Caching::default() }
}

/// Waits until something is so, for half a minute at most.
async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it is still not so");
}

/// A file of that name, which this mount knows nothing of yet.
async fn file(export: &Export, version: Version, name: &[u8]) -> Handle {
    let other = export.mount(version).await;
    other.create(&other.root().handle, name, CreateMode::Unchecked, &mode(0o644)).await.unwrap().handle
}

#[tokio::test]
async fn attributes_are_asked_for_once_and_own_changes_are_known() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount_with(&export, version, patient()).await;
        let file = file(&export, version, b"file").await;
        assert_eq!(calls(&mount, mount.attributes(&file)).await.0, 1, "{version}");
        for _ in 0..10 {
            assert_eq!(calls(&mount, mount.attributes(&file)).await.0, 0, "{version}");
        }
        mount.setattr(&file, &mode(0o600)).await.unwrap();
        let (count, attributes) = calls(&mount, mount.attributes(&file)).await;
        assert_eq!((count, attributes.unwrap().mode), (0, 0o600), "{version}");
        let data = "0123456789".into();
        mount.write(&file, 0, data, vfs::Stability::File).await.unwrap();
        assert_eq!(mount.attributes(&file).await.unwrap().size_bytes, 10, "{version}");
        let counted = mount.cache_counters().attributes;
        assert_eq!((counted.hits, counted.misses), (11, 2), "{version}");
    }
}

#[tokio::test]
async fn change_by_somebody_else_is_seen_when_the_time_is_up_and_at_once_by_whoever_opens() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (mount_with(&export, version, patient()).await, export.mount(version).await);
        let restless = mount_with(&export, version, restless()).await;
        let file = file(&export, version, b"shared").await;
        for mount in [&mine, &restless] {
            mount.setattr(&file, &mode(0o644)).await.unwrap();
        }
        yours.setattr(&file, &mode(0o640)).await.unwrap();
        assert_eq!(mine.attributes(&file).await.unwrap().mode, 0o644, "{version}: still believed");
        assert_eq!(mine.attributes_at_open(&file).await.unwrap().mode, 0o640, "{version}");
        until(async || restless.attributes(&file).await.unwrap().mode == 0o640).await;
    }
}

#[tokio::test]
async fn without_times_every_look_asks_and_without_close_to_open_opening_does_not() {
    let export = Export::start();
    let file = file(&export, Version::V3, b"file").await;
    let mount = mount_with(&export, Version::V3, Caching::without_attributes()).await;
    for _ in 0..3 {
        assert_eq!(calls(&mount, mount.attributes(&file)).await.0, 1);
    }
    let mount = mount_with(&export, Version::V3, Caching { close_to_open: false, ..Caching::default() }).await;
    mount.attributes(&file).await.unwrap();
    assert_eq!(calls(&mount, mount.attributes_at_open(&file)).await.0, 0);
}
