//! STAT and MON (X/Open XNFS): whether a host is watched for the caller.

use proto::nsm::{MonResult, StatOk};

use super::unmon;
use crate::node::CallContext;

/// The reply of both: no host is watched for other programs.
pub(super) fn not_watched(cx: &CallContext<'_>) -> StatOk {
    StatOk { outcome: MonResult::Failure, state: unmon::state(cx).0 }
}
