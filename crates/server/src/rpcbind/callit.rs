//! CALLIT, which version 4 calls BCAST (RFC 1833 §2.2.1, §3.2), is refused.

use crate::fault::Stop;
use crate::node::CallContext;
use crate::request::Transport;

/// A datagram gets no answer: one that failed never gets one here (§3.2), and none goes to a forged address.
pub(super) fn refuse(cx: &CallContext<'_>) -> Stop {
    match cx.request.peer.transport {
        Transport::Udp => Stop::Silent,
        Transport::Tcp => Stop::NoProcedure,
    }
}
