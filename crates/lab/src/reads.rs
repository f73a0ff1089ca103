//! READs of a file that no cache answers, several at once.

use std::cell::RefCell;
use std::rc::Rc;

use client::{Handle, Mount};
use fastrand::Rng;
use tokio::task::{JoinError, spawn_local};

/// Sends READs of so many bytes from each of these offsets, at most `depth` at once, and says how many bytes came. Runs
/// in a [`LocalSet`](tokio::task::LocalSet).
pub(crate) async fn at_once(
    mount: Mount,
    file: Handle,
    offsets: Vec<u64>,
    (depth, block_bytes): (u32, u32),
) -> client::Result<u64> {
    let offsets = Rc::new(RefCell::new(offsets.into_iter()));
    let read = |_| {
        let (mount, offsets) = (mount.clone(), Rc::clone(&offsets));
        spawn_local(async move {
            let (mut buffer, mut bytes) = (vec![0; block_bytes as usize], 0);
            loop {
                let Some(offset) = offsets.borrow_mut().next() else { return client::Result::Ok(bytes) };
                bytes += mount.read_into(&file, offset, &mut buffer).await?.count as u64;
            }
        })
    };
    let running: Vec<_> = (0..depth).map(read).collect();
    let mut bytes = 0;
    for reader in running {
        bytes += reader.await.unwrap_or_else(panicked)?;
    }
    Ok(bytes)
}

/// Passes a panic on: nobody cancels these tasks.
fn panicked<T>(error: JoinError) -> T {
    std::panic::resume_unwind(error.into_panic())
}

/// Puts each so many of the offsets in any order, which follows from a seed.
pub(crate) fn shuffle_each(depth: u32, seed: u64, offsets: &mut [u64]) {
    let mut random = Rng::with_seed(seed);
    offsets.chunks_mut(depth as usize).for_each(|batch| random.shuffle(batch));
}
