//! The servers in a grace period, so that users are told once of each, however many calls wait.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The servers, with the last time that each refused a call for this reason.
static IN_GRACE: Mutex<BTreeMap<Box<str>, Instant>> = Mutex::new(BTreeMap::new());

/// Calls are retried more often than this: a later refusal is of another grace period.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// Logs that a call waits for the end of a server's grace period, for at most `left`, unless another call did.
pub(crate) fn report(server: &str, left: Duration) {
    let now = Instant::now();
    let mut known = IN_GRACE.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|_, seen| *seen + FORGOTTEN_AFTER > now);
    if known.insert(server.into(), now).is_some() {
        return;
    }
    let most = if left == Duration::MAX { String::new() } else { format!(", at most {} s", left.as_secs()) };
    tracing::warn!(
        server,
        "server is in its grace period: waiting until other clients have reclaimed their opens and locks{most}"
    );
}
