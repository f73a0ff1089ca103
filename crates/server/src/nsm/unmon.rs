//! UNMON and UNMON_ALL (X/Open XNFS): nothing is watched for other programs, so the reply is only this server's state.

use proto::nsm::State;

use crate::node::CallContext;

pub(super) fn state(cx: &CallContext<'_>) -> State {
    State(cx.server.settings.status_number())
}
