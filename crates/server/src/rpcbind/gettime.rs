//! GETTIME (RFC 1833 §2.2.1).

use std::time::UNIX_EPOCH;

use crate::node::CallContext;

/// Seconds since 1970, which wrap around in 2106.
pub(super) fn gettime(cx: &CallContext<'_>) -> u32 {
    let now = (cx.server.settings.wall_clock)();
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as u32)
}
