//! CALLIT, called BCAST in version 4 (RFC 1833 §2.2.1, §3.2), is refused.

use crate::fault::Stop;
use crate::node::CallContext;
use crate::request::Transport;

/// A datagram gets no answer: a failed CALLIT never gets one (§3.2), and the address may be forged.
pub(super) fn refuse(cx: &CallContext<'_>) -> Stop {
    match cx.request.peer.transport {
        Transport::Udp => Stop::Silent,
        Transport::Tcp => Stop::NoProcedure,
    }
}
