//! Futures that are dropped wherever they wait.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use client::{Caching, Dir, File, Mount, OpenOptions, Options, Status, Version};

use super::real::{Export, until};

/// The most often that one operation may have to wait.
const MOST_WAITS: u32 = 200;

/// Polls a future until it waited that often, and drops it then; what it said if it was over before.
pub async fn dropped_after<T>(waits: u32, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut left) = (pin!(work), waits);
    std::future::poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// Does something again and again, dropped one wait later each time, until it comes to its end.
pub async fn at_every_wait(what: &str, mut once: impl AsyncFnMut(u32) -> bool) {
    for waits in 0..MOST_WAITS {
        if once(waits).await {
            assert!(waits > 0, "{what}: it has to wait for the server");
            return;
        }
    }
    panic!("{what} has no end");
}

/// What was known when a test began is valid to its end: nothing heals by itself.
pub async fn mount(export: &Export, version: Version) -> Mount {
    let day = Duration::from_secs(86_400);
    let caching = Caching { file_min: day, file_max: day, dir_min: day, dir_max: day, ..Caching::default() };
    Mount::connect(&export.url(), &Options { caching, ..export.options(version) }).await.unwrap()
}

pub fn making() -> OpenOptions {
    OpenOptions::both().making(0o644)
}

pub async fn open(dir: &Dir, name: &str) -> File {
    dir.open(name, &making()).await.unwrap()
}

/// Whether the server and the mount agree that a name is there, or that it is not. What was asked for before may be
/// carried out between the two questions, and is then known at the next.
pub async fn is_there_in_the_end(dir: &Dir, name: &str) -> bool {
    let mut is_there = false;
    until("an agreement of server and memory", async || {
        is_there = is_at_server(dir, name).await;
        dir.symlink_metadata(name).await.is_ok() == is_there
    })
    .await;
    is_there
}

/// What the server says of a name, which is what the mount has cached of it.
pub async fn is_there(dir: &Dir, name: &str) -> bool {
    let asked = is_at_server(dir, name).await;
    assert_eq!(dir.symlink_metadata(name).await.is_ok(), asked, "{name}: something false is believed");
    asked
}

/// What the server says of a name.
pub async fn is_at_server(dir: &Dir, name: &str) -> bool {
    match dir.mount().lookup(dir.handle(), name.as_bytes()).await {
        Ok(_) => true,
        Err(error) if error.status() == Some(Status::NoEntry) => false,
        Err(error) => panic!("{error}"),
    }
}
