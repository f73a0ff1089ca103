//! FORGET and BATCH_FORGET: the kernel has evicted files. They have no reply.

use crate::arguments::Request;
use crate::session::Session;

pub(crate) fn one(session: &Session, request: &Request<'_>) {
    let mut arguments = request.arguments;
    if let Ok(count) = arguments.u64() {
        session.nodes.forget(request.node, count);
    }
}

/// BATCH_FORGET. The list ends early if bytes are missing.
pub(crate) fn many(session: &Session, request: &Request<'_>) {
    let mut arguments = request.arguments;
    let count = arguments.u32().unwrap_or(0);
    let _ = arguments.u32();
    for _ in 0..count {
        let (Ok(number), Ok(times)) = (arguments.u64(), arguments.u64()) else { return };
        session.nodes.forget(number, times);
    }
}
