//! CALLIT, called BCAST in version 4 (RFC 1833 §2.2.1, §3.2), is refused.

use peer::Transport;

use crate::fault::NoResults;
use crate::node::CallContext;

/// A datagram gets no answer: a failed CALLIT never gets one (§3.2), and the address may be forged.
pub(super) fn refuse(cx: &CallContext<'_>) -> NoResults {
    match cx.request.peer.transport {
        Transport::Udp => NoResults::Silent,
        Transport::Tcp => NoResults::NoProcedure,
    }
}
