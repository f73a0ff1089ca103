//! The table of copies, and the queue of those that wait for a turn.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use proto::nfs4::{Stateid, Status};
use state::{ClientId, FileKey, Origin, may_take};

use crate::remote_files::RemoteFiles;

use super::{CopyClient, CopyJob, CopyRequest, KEPT, MAX_COPIES, MAX_PER_CLIENT};

/// The seqid of every copy stateid, which never changes (RFC 7862 §4.8).
const SEQID: u32 = 1;

/// Wakes the thread that advances copies.
type Waker = Box<dyn Fn() + Send + Sync>;

/// All copies of a server.
pub(crate) struct Copies {
    /// The boot number, with which the stateids begin.
    boot: u32,
    table: Mutex<CopyTable>,
    /// Unset if no thread advances copies: then each COPY is synchronous.
    waker: OnceLock<Waker>,
    /// Unset if copying from other servers is disabled.
    remote_files: OnceLock<Box<dyn RemoteFiles>>,
}

#[derive(Debug, Default)]
struct CopyTable {
    jobs: HashMap<u32, Arc<CopyJob>>,
    /// The unfinished copies that are not in a turn, in order for each address.
    waiting: VecDeque<WaitingCopy>,
    /// The addresses that had turns, the latest first.
    had_turns: VecDeque<Origin>,
    last: u32,
}

/// A copy that waits for its turn.
#[derive(Debug)]
pub(super) struct WaitingCopy {
    pub(super) job: Arc<CopyJob>,
    pub(super) not_before: Duration,
    /// The number of deferrals in a row.
    pub(super) deferrals: u32,
}

/// The table is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::v4) struct Full;

impl fmt::Debug for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Copies").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Copies {
    pub(crate) fn new(boot: u32) -> Copies {
        // Reserved stateids begin with all bits clear or all bits set.
        Copies {
            boot: boot.clamp(1, u32::MAX - 1),
            table: Mutex::default(),
            waker: OnceLock::new(),
            remote_files: OnceLock::new(),
        }
    }

    /// Sets the waker. Only the first one counts.
    pub(crate) fn set_waker(&self, waker: Waker) {
        let _ = self.waker.set(waker);
    }

    /// Sets the access to other servers. Only the first one counts.
    pub(crate) fn set_remote_files(&self, remote_files: Box<dyn RemoteFiles>) {
        let _ = self.remote_files.set(remote_files);
    }

    /// The access to other servers.
    pub(in crate::v4) fn remote_files(&self) -> Option<&dyn RemoteFiles> {
        self.remote_files.get().map(|files| &**files)
    }

    /// Whether a thread advances copies.
    pub(in crate::v4) fn is_driven(&self) -> bool {
        self.waker.get().is_some()
    }

    /// Begins a copy.
    pub(in crate::v4) fn add(&self, new: CopyRequest) -> Result<Stateid, Full> {
        let job = {
            let mut table = self.lock();
            table.make_room(&new.asker)?;
            let number = table.next_number();
            let job = Arc::new(CopyJob::new(new, self.stateid(number)));
            table.jobs.insert(number, job.clone());
            table.waiting.push_back(WaitingCopy { job: job.clone(), not_before: Duration::ZERO, deferrals: 0 });
            job
        };
        self.wake();
        Ok(job.stateid)
    }

    /// The copy of a client to `file` by its stateid, which must equal the one that COPY returned, including the seqid
    /// (RFC 7862 §4.8).
    pub(in crate::v4) fn find(
        &self,
        client: ClientId,
        stateid: &Stateid,
        file: &FileKey,
    ) -> Result<Arc<CopyJob>, Status> {
        let job = self.lock().jobs.get(&number(stateid)).cloned().ok_or(Status::BadStateid)?;
        let what = &job.what;
        let is_it = job.stateid == *stateid && what.asker.client == client && what.destination.file == *file;
        if is_it { Ok(job) } else { Err(Status::BadStateid) }
    }

    /// Removes a copy and prevents further turns.
    pub(in crate::v4) fn remove(&self, job: &CopyJob) {
        job.cancel();
        let mut table = self.lock();
        table.jobs.remove(&number(&job.stateid));
        table.waiting.retain(|waiting| waiting.job.stateid != job.stateid);
    }

    /// Removes the copies of clients that are gone and those that ended long ago. Returns those that ended and whose
    /// clients have not answered.
    pub(super) fn sweep(&self, now: Duration, is_alive: impl Fn(ClientId) -> bool) -> Vec<Arc<CopyJob>> {
        let jobs: Vec<Arc<CopyJob>> = self.lock().jobs.values().cloned().collect();
        let is_over =
            |job: &CopyJob| job.end().is_some_and(|end| now > end.at + KEPT) || !is_alive(job.what.asker.client);
        let (over, kept): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| is_over(job));
        for job in over {
            self.remove(&job);
        }
        kept.into_iter().filter(|job| job.end().is_some()).collect()
    }

    /// Takes the next copy to get a turn.
    pub(super) fn next(&self, now: Duration) -> Option<WaitingCopy> {
        let mut table = self.lock();
        let index = table.next_turn(now)?;
        let next = table.waiting.remove(index)?;
        table.note_turn(next.job.what.asker.origin());
        Some(next)
    }

    /// Appends a copy to the queue, unless it was removed meanwhile.
    pub(super) fn put_back(&self, waiting: WaitingCopy) {
        let mut table = self.lock();
        if table.jobs.contains_key(&number(&waiting.job.stateid)) {
            table.waiting.push_back(waiting);
        }
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker();
        }
    }

    /// Client number 0, which no client has, distinguishes a copy from all other state.
    fn stateid(&self, number: u32) -> Stateid {
        let mut other = [0; 12];
        other[..4].copy_from_slice(&self.boot.to_be_bytes());
        other[8..].copy_from_slice(&number.to_be_bytes());
        Stateid { seqid: SEQID, other }
    }

    fn lock(&self) -> MutexGuard<'_, CopyTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CopyTable {
    /// Fails if there is no room for another copy of the client. If need be, evicts one whose end the client knows.
    fn make_room(&mut self, asker: &CopyClient) -> Result<(), Full> {
        let of_client = |job: &&Arc<CopyJob>| job.what.asker.client == asker.client;
        let of_origin = |job: &&Arc<CopyJob>| job.what.asker.origin() == asker.origin();
        let own = self.jobs.values().filter(of_origin).count();
        let has_room = may_take(1, own, self.jobs.len(), MAX_COPIES);
        if has_room && self.jobs.values().filter(of_client).count() < MAX_PER_CLIENT {
            return Ok(());
        }
        let seen = self.jobs.values().filter(of_client).find(|job| job.is_seen()).map(|job| number(&job.stateid));
        self.jobs.remove(&seen.ok_or(Full)?);
        Ok(())
    }

    /// The first due copy of the address whose last turn is the longest ago.
    fn next_turn(&self, now: Duration) -> Option<usize> {
        let due = self.waiting.iter().enumerate().filter(|(_, waiting)| waiting.not_before <= now);
        let turns_ago = |origin| self.had_turns.iter().position(|had| *had == origin).unwrap_or(usize::MAX);
        let (index, _) =
            due.max_by_key(|(index, waiting)| (turns_ago(waiting.job.what.asker.origin()), Reverse(*index)))?;
        Some(index)
    }

    /// Records a turn of an address, and drops addresses without copies.
    fn note_turn(&mut self, origin: Origin) {
        let jobs = &self.jobs;
        self.had_turns.retain(|had| *had != origin && jobs.values().any(|job| job.what.asker.origin() == *had));
        self.had_turns.push_front(origin);
    }

    fn next_number(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != 0 && !self.jobs.contains_key(&self.last) {
                return self.last;
            }
        }
    }
}

fn number(stateid: &Stateid) -> u32 {
    let [.., a, b, c, d] = stateid.other;
    u32::from_be_bytes([a, b, c, d])
}
