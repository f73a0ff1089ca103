//! Copies that the server makes behind its reply to COPY (RFC 7862 §4.5): their ends are told by CB_OFFLOAD and asked for with
//! OFFLOAD_STATUS, whichever is first, and a copy that nobody waits for any more is cancelled.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proto::nfs4::{CbOffloadArgs, OffloadOutcome, OffloadStatusOk, Stateid, Status};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use vfs::Stability;

use super::client::Client;
use super::offload_cancel::offload_cancel;
use super::offload_status::offload_status;
use crate::{Copied, Handle, Lie, Reason, Result, Status as Neutral, WriteVerifier};

/// How long a server that copies is left alone before it is asked how far it is: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// How many bytes a server copies in a second at the least, when it tells no number before the end: fewer than any disk or network that
/// files are kept on.
const SLOWEST_BYTES_PER_SECOND: u64 = 64 * 1024;

/// The copies of a client that go on, and those whose COPY has no reply yet.
#[derive(Debug, Default)]
pub(super) struct Offloads {
    table: Mutex<Table>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    /// By the stateid, without its sequence number. There are as many as somebody here waits for.
    going_on: HashMap<[u8; 12], Option<OffloadOutcome>>,
    under_way: usize,
}

/// A COPY without a reply.
pub(super) struct UnderWay<'a>(&'a Offloads);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
        self.0.changed.notify_waiters();
    }
}

impl Offloads {
    pub(super) fn begin(&self) -> UnderWay<'_> {
        self.lock().under_way += 1;
        UnderWay(self)
    }

    /// Takes what CB_OFFLOAD tells. It may come before the reply that names the copy: then it has to come again.
    pub(super) fn end(&self, told: &CbOffloadArgs) -> Status {
        let mut table = self.lock();
        let is_early = table.under_way > 0;
        match table.going_on.get_mut(&told.stateid.other) {
            Some(outcome) => *outcome = Some(told.outcome),
            None if is_early => return Status::Delay,
            None => return Status::BadStateid,
        }
        drop(table);
        self.changed.notify_waiters();
        Status::Ok
    }

    fn outcome(&self, stateid: &Stateid) -> Option<OffloadOutcome> {
        self.lock().going_on.get(&stateid.other).copied().flatten()
    }

    fn forget(&self, stateid: &Stateid) {
        self.lock().going_on.remove(&stateid.other);
        self.changed.notify_waiters();
    }

    fn is_empty(&self) -> bool {
        let table = self.lock();
        table.going_on.is_empty() && table.under_way == 0
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// Waits until none of this client's copies goes on.
    pub(crate) async fn copies_ended(&self) {
        loop {
            let changed = self.0.offloads.changed.notified();
            if self.0.offloads.is_empty() {
                return;
            }
            changed.await;
        }
    }
}

/// What the reply to COPY tells of a copy that goes on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Began {
    pub(super) stateid: Stateid,
    pub(super) verifier: WriteVerifier,
    /// Whether it goes from the first byte to the last.
    pub(super) is_consecutive: bool,
}

/// A copy that goes on. It is cancelled when it is dropped before its end.
#[derive(Debug)]
pub(crate) struct Offload {
    client: Client,
    destination: Handle,
    began: Began,
    /// How much was asked for; 0 for everything.
    asked: u64,
    /// How many bytes there are to copy.
    length: u64,
    is_over: bool,
}

impl Offload {
    pub(super) fn new(client: &Client, destination: Handle, began: Began, asked: u64) -> Offload {
        client.0.offloads.lock().going_on.insert(began.stateid.other, None);
        Offload { client: client.clone(), destination, began, asked, length: asked, is_over: false }
    }

    /// Says how many bytes there are to copy, where everything was asked for.
    pub(crate) fn set_length(&mut self, length: u64) {
        self.length = length;
    }

    /// Waits for its end, and tells how far it is whenever the server says so.
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
        let mut pace = Pace::new(self.client.connection().patience(), self.length);
        loop {
            if let Some(outcome) = self.outcome_within(pause).await {
                return self.told(outcome);
            }
            pause = (pause * 2).min(MAX_PAUSE);
            match offload_status(&self.client, &self.destination, self.began.stateid).await {
                Ok(OffloadStatusOk { count, complete: None }) => {
                    progress(count);
                    pace.note(count).map_err(|stalled| self.client.error("OFFLOAD_STATUS", stalled))?;
                    patience = self.client.patience();
                }
                Ok(OffloadStatusOk { count, complete: Some(Status::Ok) }) => return Ok(self.copied(count)),
                Ok(OffloadStatusOk { count, complete: Some(failed) }) => return self.failed(failed, count),
                Err(error) if patience.allows(&error) => {}
                // The server may have told of the end, and forgotten the copy, while it was asked.
                Err(error) => return self.outcome().map_or(Err(error), |outcome| self.told(outcome)),
            }
        }
    }

    fn outcome(&self) -> Option<OffloadOutcome> {
        self.client.0.offloads.outcome(&self.began.stateid)
    }

    /// What the server tells of the end by itself, if it does so in this time.
    async fn outcome_within(&self, time: Duration) -> Option<OffloadOutcome> {
        let until = Instant::now() + time;
        loop {
            // Other copies change the table too.
            let changed = self.client.0.offloads.changed.notified();
            let outcome = self.outcome();
            if outcome.is_some() || timeout_at(until, changed).await.is_err() {
                return outcome;
            }
        }
    }

    fn told(&self, outcome: OffloadOutcome) -> Result<Copied> {
        match outcome {
            OffloadOutcome::Ok(response) => Ok(super::copy::copied(&response)),
            OffloadOutcome::Failed { status, bytes_copied } => self.failed(status, bytes_copied),
        }
    }

    /// A copy that failed behind its first bytes is a short one (RFC 7862 §16.1.3): whoever goes on where it ended meets the failure
    /// again, if it is still there.
    fn failed(&self, status: Status, count: u64) -> Result<Copied> {
        match count > 0 && self.began.is_consecutive {
            true => Ok(self.copied(count)),
            false => Err(self.client.error("COPY", Reason::Status(status.into()))),
        }
    }

    /// OFFLOAD_STATUS tells of no verifier: that of the reply to COPY counts, and the bytes as unstable.
    fn copied(&self, count: u64) -> Copied {
        Copied { count, stability: Stability::Unstable, verifier: self.began.verifier }
    }
}

/// Whether the server may still copy, although nobody waits for it any more. It does not when it says that the copy failed, or knows
/// none.
fn may_go_on(ended: &Result<Copied>) -> bool {
    ended.as_ref().is_err_and(|error| matches!(error.status(), None | Some(Neutral::TryLater | Neutral::Grace)))
}

/// How far a copy is, and since when.
///
/// A server that says that it copies is alive. One that told a number of bytes, and tells the same one for as long as silence may last, hangs
/// all the same; one that told none yet may tell none before the end (`osr_count`, RFC 7862 §15.9), and has time for the whole copy.
#[derive(Debug)]
struct Pace {
    /// How long it may stand still. None lets it do so for ever.
    limit: Option<Duration>,
    /// How much longer it may do so before the first byte is told of.
    uncounted: Duration,
    count: u64,
    since: Instant,
}

impl Pace {
    /// Of a copy of so many bytes.
    fn new(limit: Option<Duration>, length: u64) -> Pace {
        let uncounted = Duration::from_secs(length / SLOWEST_BYTES_PER_SECOND);
        Pace { limit, uncounted, count: 0, since: Instant::now() }
    }

    /// Takes what the server says now, unless it said so for too long.
    fn note(&mut self, count: u64) -> std::result::Result<(), Reason> {
        if count != self.count {
            (self.count, self.since) = (count, Instant::now());
        }
        let waited = self.since.elapsed();
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
