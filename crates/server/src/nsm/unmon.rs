//! UNMON and UNMON_ALL (X/Open XNFS): nothing is watched for other programs, so the reply is only this server's state.

use proto::nsm::StateNumber;

use crate::node::CallContext;

pub(super) fn state(cx: &CallContext<'_>) -> StateNumber {
    StateNumber(cx.server.settings.status_number())
}
