//! Copies that the server continues after its reply to COPY (RFC 7862 §4.5). CB_OFFLOAD or OFFLOAD_STATUS reports the
//! end, whichever is first. A copy that nobody waits for any more is cancelled.

use std::time::Duration;

use client_calls::v4::{Began, copied, offload_cancel, offload_status};
use proto::nfs4::{OffloadOutcome, OffloadStatusOk, Status};
use tokio::time::{Instant, timeout_at};
use vfs::Stability;

use super::client::Client;
use crate::{Copied, Handle, Lie, Reason, Result, Status as Neutral};

/// The pause before a server that copies is asked for its progress: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// The slowest copy, in bytes per second, of a server that reports no count before the end. It is below any disk or
/// network that files are kept on.
const SLOWEST_BYTES_PER_SECOND: u64 = 64 * 1024;

impl Client {
    /// Waits until none of this client's copies is running.
    pub(crate) async fn copies_ended(&self) {
        loop {
            let changed = self.0.offloads.changed();
            if self.0.offloads.is_empty() {
                return;
            }
            changed.await;
        }
    }
}

/// A running copy. Dropping it before its end cancels it.
#[derive(Debug)]
pub(crate) struct Offload {
    client: Client,
    destination: Handle,
    began: Began,
    /// The bytes requested; 0 for everything.
    asked: u64,
    /// The bytes that there are to copy.
    length: u64,
    is_over: bool,
}

impl Offload {
    pub(super) fn new(client: &Client, destination: Handle, began: Began, asked: u64) -> Offload {
        client.0.offloads.add(&began.stateid);
        Offload { client: client.clone(), destination, began, asked, length: asked, is_over: false }
    }

    /// Sets how many bytes there are to copy, if everything was requested.
    pub(crate) fn set_length(&mut self, length: u64) {
        self.length = length;
    }

    /// Waits for the end, and passes on the bytes copied so far whenever the server reports them.
    pub(crate) async fn end(mut self, progress: impl FnMut(u64)) -> Result<Copied> {
        let result = self.wait(progress).await;
        if !may_go_on(&result) {
            self.is_over = true;
            self.client.0.offloads.forget(&self.began.stateid);
        }
        let copied = result?;
        if self.asked > 0 && copied.count > self.asked {
            let lie = Lie::TooMuchCopied { asked: self.asked, said: copied.count };
            return Err(self.client.error("COPY", Reason::Lie(lie)));
        }
        Ok(copied)
    }

    async fn wait(&self, mut progress: impl FnMut(u64)) -> Result<Copied> {
        let (mut pause, mut patience) = (FIRST_PAUSE, self.client.patience());
        let mut pace = Pace::new(self.client.connection().patience(), self.length, Instant::now());
        loop {
            if let Some(outcome) = self.outcome_within(pause).await {
                return self.told(outcome);
            }
            pause = (pause * 2).min(MAX_PAUSE);
            match offload_status(&self.client, &self.destination, self.began.stateid).await {
                Ok(OffloadStatusOk { count, complete: None }) => {
                    progress(count);
                    pace.note(count, Instant::now()).map_err(|stalled| self.client.error("OFFLOAD_STATUS", stalled))?;
                    patience = self.client.patience();
                }
                Ok(OffloadStatusOk { count, complete: Some(Status::Ok) }) => return Ok(self.copied(count)),
                Ok(OffloadStatusOk { count, complete: Some(failed) }) => return self.failed(failed, count),
                Err(error) if patience.allows(&error) => {}
                // The server may have reported the end and dropped the copy meanwhile.
                Err(error) => return self.outcome().map_or(Err(error), |outcome| self.told(outcome)),
            }
        }
    }

    fn outcome(&self) -> Option<OffloadOutcome> {
        self.client.0.offloads.outcome(&self.began.stateid)
    }

    /// The end that the server reports by itself within `time`, if it does.
    async fn outcome_within(&self, time: Duration) -> Option<OffloadOutcome> {
        let until = Instant::now() + time;
        loop {
            // Other copies change the table too.
            let changed = self.client.0.offloads.changed();
            let outcome = self.outcome();
            if outcome.is_some() || timeout_at(until, changed).await.is_err() {
                return outcome;
            }
        }
    }

    fn told(&self, outcome: OffloadOutcome) -> Result<Copied> {
        match outcome {
            OffloadOutcome::Ok(response) => Ok(copied(&response)),
            OffloadOutcome::Failed { status, bytes_copied } => self.failed(status, bytes_copied),
        }
    }

    /// A copy that failed after its first bytes is a short one (RFC 7862 §16.1.3). Continuing it meets the failure
    /// again, if that persists.
    fn failed(&self, status: Status, count: u64) -> Result<Copied> {
        match count > 0 && self.began.is_consecutive {
            true => Ok(self.copied(count)),
            false => Err(self.client.error("COPY", Reason::Status(status.into()))),
        }
    }

    /// OFFLOAD_STATUS returns no verifier: that of the reply to COPY counts, and the bytes are unstable.
    fn copied(&self, count: u64) -> Copied {
        Copied::new(count, Stability::Unstable, self.began.verifier)
    }
}

/// Whether the server may still copy, although nobody waits any more. It does not if it reports failure or does not
/// know the copy.
fn may_go_on(ended: &Result<Copied>) -> bool {
    ended.as_ref().is_err_and(|error| matches!(error.status(), None | Some(Neutral::TryLater | Neutral::Grace)))
}

/// The progress of a copy, and when it last changed.
///
/// A server that reports a copy is alive. If the byte count then stands still for as long as silence may last, the copy
/// hangs. A server that reported no count yet may report none before the end (`osr_count`, RFC 7862 §15.9), and has
/// time for the whole copy.
#[derive(Debug)]
struct Pace {
    /// How long the count may stand still; `None` for ever.
    limit: Option<Duration>,
    /// The extra time before the first byte is reported.
    uncounted: Duration,
    count: u64,
    since: Instant,
}

impl Pace {
    /// Starts a copy of `length` bytes.
    fn new(limit: Option<Duration>, length: u64, now: Instant) -> Pace {
        let uncounted = Duration::from_secs(length / SLOWEST_BYTES_PER_SECOND);
        Pace { limit, uncounted, count: 0, since: now }
    }

    /// Records the count that the server reports, unless it stood still for too long.
    fn note(&mut self, count: u64, now: Instant) -> std::result::Result<(), Reason> {
        if count != self.count {
            (self.count, self.since) = (count, now);
        }
        let waited = now.saturating_duration_since(self.since);
        let more = if self.count == 0 { self.uncounted } else { Duration::ZERO };
        match self.limit {
            Some(limit) if waited >= limit.saturating_add(more) => Err(Reason::CopyStalled { copied: count, waited }),
            _ => Ok(()),
        }
    }
}

impl Drop for Offload {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (client, destination, stateid) = (self.client.clone(), self.destination, self.began.stateid);
        self.client.connection().spawn(async move {
            if let Err(error) = offload_cancel(&client, &destination, stateid).await {
                tracing::debug!(%error, "a copy that nobody waits for may go on");
            }
            client.0.offloads.forget(&stateid);
        });
    }
}
