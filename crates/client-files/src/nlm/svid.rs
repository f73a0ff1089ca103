use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, Ordering};

use client_calls::random;

/// The number of the next owner, which the server takes for a process id. No two owners of this host may share one, so
/// the first is random, and other processes have others.
static NEXT_SVID: LazyLock<AtomicI32> = LazyLock::new(|| AtomicI32::new((random() >> 1) as i32));

/// The number of a new owner.
pub(super) fn next_svid() -> i32 {
    NEXT_SVID.fetch_add(1, Ordering::Relaxed) & i32::MAX
}
