//! GETSTAT (RFC 1833 §2.2.2). Calls are counted by procedure only, not by service.

use proto::rpcbind::{COUNTED_PROCEDURES, GetstatReply, PROGRAM, Statistics};

use crate::node::CallContext;

pub(super) fn getstat(cx: &CallContext<'_>) -> GetstatReply<'static> {
    GetstatReply { version_2: statistics(cx, 2), version_3: statistics(cx, 3), version_4: statistics(cx, 4) }
}

/// Counts saturate at 32 bits.
fn statistics(cx: &CallContext<'_>, version: u32) -> Statistics<'static> {
    let mut calls = [0; COUNTED_PROCEDURES];
    for count in cx.server.counters.procedures() {
        let is_counted = (count.number, count.version) == (PROGRAM, version);
        if let Some(calls) = calls.get_mut(count.procedure as usize).filter(|_| is_counted) {
            *calls = u32::try_from(count.calls).unwrap_or(u32::MAX);
        }
    }
    let (sets, unsets) = cx.server.registry.count(version);
    Statistics { calls, sets, unsets, lookups: Vec::new(), remote_calls: Vec::new() }
}
