//! UNMON and UNMON_ALL (X/Open XNFS): what is watched for nobody is watched no more; the answer is this server's state.

use proto::nsm::State;

use crate::node::CallContext;

pub(super) fn state(cx: &CallContext<'_>) -> State {
    State(cx.server.settings.status_number())
}
