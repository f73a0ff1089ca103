//! What procedures need for their replies.

use crate::fault::{Fault, NoResults};
use crate::node::CallContext;
use crate::transfer;

/// A fault that has a reply; a call that must block stops here.
pub(super) fn answerable(fault: Fault) -> Result<Fault, NoResults> {
    if matches!(fault, Fault::Defer) { Err(NoResults::Defer) } else { Ok(fault) }
}

/// The room left in the longest reply that this transport should carry; lists stop where it ends.
pub(super) struct ReplyRoom {
    left_bytes: usize,
}

impl ReplyRoom {
    pub(super) fn of_reply(cx: &CallContext<'_>) -> ReplyRoom {
        ReplyRoom { left_bytes: transfer::max_bytes(cx) as usize }
    }

    /// Takes room for `bytes`; false if there is not enough.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.left_bytes;
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        fits
    }
}

/// The size of a string in a reply.
pub(super) fn string_bytes(string: &[u8]) -> usize {
    4 + xdr::padded(string.len())
}
