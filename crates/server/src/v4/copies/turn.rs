//! Advances copies, one turn at a time.

use std::mem;
use std::time::Duration;

use proto::nfs4::Status;
use state::StateidScope;
use vfs::CopyRange;

use super::table::WaitingCopy;
use super::{CopyFile, CopyJob, CopyOrigin, DEFERRAL, MAX_DEFERRALS, TURN_BYTES};
use crate::fault::Fault;
use crate::handle::HandleError;
use crate::node::CallContext;
use crate::remote_files::RemoteFiles;
use crate::request::Request;
use crate::server::Server;
use crate::v4::failure::{Failure, OpResult};
use crate::v4::source::{CopyPair, Side};

/// The result of a turn.
pub(super) enum CopyTurn {
    /// There is more to copy.
    More,
    /// All was copied, or the source ended.
    Done,
}

impl Server {
    /// Sets the function that wakes the thread that advances copies, and thereby enables asynchronous copies. `waker`
    /// must not block.
    pub fn set_copy_waker(&self, waker: impl Fn() + Send + Sync + 'static) {
        self.copies.set_waker(Box::new(waker));
    }

    /// Enables copies from other servers (RFC 7862 §4.6) through `remote_files`.
    pub fn set_remote_files(&self, remote_files: Box<dyn RemoteFiles>) {
        self.copies.set_remote_files(remote_files);
    }

    /// Advances the next copy by some MiB. Returns false when none can advance now; one may after a second, or after
    /// the waker was called.
    ///
    /// `worker` is numbered as in [`Server::answer`]; the call may block.
    pub fn carry_on_copy(&self, worker: usize, now: Duration) -> bool {
        let Some(waiting) = self.copies.next(now) else { return false };
        let job = waiting.job.clone();
        let defect = Defect { job: &job, now };
        let next = {
            let _turn = job.between_turns();
            // A cancelled copy has no next turn, since it is also removed.
            let outcome = if job.is_cancelled() { Ok(CopyTurn::More) } else { self.turn(&job, worker, now) };
            next_turn(waiting, outcome, now)
        };
        mem::forget(defect);
        match next {
            Some(waiting) => self.copies.put_back(waiting),
            None => self.tell_end(job, now),
        }
        true
    }

    fn turn(&self, job: &CopyJob, worker: usize, now: Duration) -> OpResult<CopyTurn> {
        let asker = &job.what.asker;
        let request =
            Request { message: &[], peer: asker.peer, worker, may_block: true, now, batch: None, is_scarce: false };
        let exports = self.exports.load();
        let cx = CallContext::new(self, &request, &exports, asker.identity);
        let to = side(&cx, &job.what.destination)?;
        let from = match &job.what.source {
            CopyOrigin::Here(place) => side(&cx, place)?,
            CopyOrigin::There(name) => return self.fetch(job, name, &to),
        };
        let pair = CopyPair::of(StateidScope::V41(asker.client), &from, &to)?;
        let rest = job.rest();
        let length_bytes = rest.length_bytes.min(TURN_BYTES);
        let count = pair.copy(CopyRange { length_bytes, ..rest })?;
        job.add(count);
        let is_done = count == 0 || count == rest.length_bytes;
        Ok(if is_done { CopyTurn::Done } else { CopyTurn::More })
    }
}

/// The next wait of the copy, unless it has ended.
fn next_turn(waiting: WaitingCopy, outcome: OpResult<CopyTurn>, now: Duration) -> Option<WaitingCopy> {
    let status = match outcome {
        Ok(CopyTurn::More) => return Some(WaitingCopy { deferrals: 0, ..waiting }),
        Ok(CopyTurn::Done) => Status::Ok,
        Err(Failure::Status(Status::Delay)) if waiting.deferrals < MAX_DEFERRALS => {
            return Some(WaitingCopy { not_before: now + DEFERRAL, deferrals: waiting.deferrals + 1, ..waiting });
        }
        Err(Failure::Status(status) | Failure::Explained(status, _)) => status,
        Err(Failure::Defer | Failure::Replay(_)) => Status::ServerFault,
    };
    waiting.job.finish(status, now);
    None
}

/// A file of a copy, if it is still exported to its client.
fn side<'c>(cx: &'c CallContext<'_>, place: &CopyFile) -> OpResult<Side<'c>> {
    let exported = cx.exports.by_id(place.export).ok_or(Fault::Handle(HandleError::Unknown))?;
    Ok(Side { node: cx.node_of(exported, place.file.node)?, stateid: place.newest_stateid() })
}

/// Ends a copy whose turn panics.
struct Defect<'j> {
    job: &'j CopyJob,
    now: Duration,
}

impl Drop for Defect<'_> {
    fn drop(&mut self) {
        self.job.finish(Status::ServerFault, self.now);
    }
}
