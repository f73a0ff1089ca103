//! Group commit: calls that need stable storage at the same time share flushes.
//!
//! A call that finds no flush running makes its own at once. A call that comes meanwhile leaves a ticket and waits.
//! When the flush ends, the first waiting call becomes the leader, takes all tickets that have gathered, and flushes
//! their files together. All calls of the group return when that flush ends, and the next leader takes the tickets that
//! came meanwhile.
//!
//! A call that is alone waits for no other. Any other call waits for at most one running flush besides the one that
//! carries its ticket.
//!
//! A group is flushed file by file, each file once, or with the whole file system: `costs` chooses the cheaper way. When
//! a file cannot be flushed, the calls that asked for it fail, and no others.

mod costs;
mod counters;
mod disk;
mod ticket;

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::io::Result;

use costs::{Costs, Way};
pub use counters::{FlushCounters, FlushCounts};
pub(crate) use disk::Disk;
use disk::Storage;
use ticket::{Owned, Standing, Ticket};

/// How much of a file is flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Depth {
    /// Its bytes, and what is needed to find them.
    Data,
    /// Everything.
    All,
}

/// A file to flush.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flush<'f> {
    pub(crate) fd: BorrowedFd<'f>,
    pub(crate) depth: Depth,
}

/// The callers of an export that wait for storage.
pub(crate) struct FlushGroup {
    storage: Box<dyn Storage>,
    /// Whether callers share flushes; else each makes its own.
    is_shared: bool,
    line: Mutex<Line>,
    costs: Mutex<Costs>,
    counters: Arc<FlushCounters>,
}

/// Who flushes, and who comes next.
#[derive(Default)]
struct Line {
    is_flushing: bool,
    waiting: Vec<Arc<Ticket>>,
}

/// The right to flush while nobody else of the group does. It passes on to those who wait when this is dropped.
pub(crate) struct Lead<'g> {
    group: &'g FlushGroup,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if self.group.is_shared {
            self.group.pass_on();
        }
    }
}

/// Where a caller comes in.
enum Place<'g> {
    /// Nobody flushes: the caller does.
    First(Lead<'g>),
    /// Somebody flushes: the caller waits.
    InLine(Arc<Ticket>),
    /// The caller flushes beside the others: there is no line, or no descriptor left to stand in it.
    Outside,
}

/// A file of a batch, with all who want it flushed.
struct Distinct<'b> {
    depth: Depth,
    members: Vec<Member<'b>>,
}

#[derive(Clone, Copy)]
struct Member<'b> {
    ticket: usize,
    fd: BorrowedFd<'b>,
}

impl FlushGroup {
    /// Makes a group without callers. With `is_shared` they share flushes.
    pub(crate) fn new(storage: Box<dyn Storage>, is_shared: bool, counters: Arc<FlushCounters>) -> FlushGroup {
        FlushGroup { storage, is_shared, line: Mutex::default(), costs: Mutex::default(), counters }
    }

    /// Whether callers share flushes, so that a long one keeps others waiting.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Flushes these files, and returns when they are on storage.
    pub(crate) fn flush(&self, files: &[Flush<'_>]) -> Result<()> {
        match self.join(files) {
            Place::First(_lead) => self.flush_own(files),
            Place::Outside => self.flush_own(files),
            Place::InLine(ticket) => match ticket.wait() {
                Standing::Ended(result) => result,
                Standing::Waits | Standing::Leads => self.lead(&ticket),
            },
        }
    }

    fn flush_own(&self, files: &[Flush<'_>]) -> Result<()> {
        self.counters.note(1, files.len());
        files.iter().try_for_each(|file| self.storage.flush(file.fd, file.depth))
    }

    /// The right to flush now, if nobody else does: then `flush` need not be called.
    pub(crate) fn try_lead(&self) -> Option<Lead<'_>> {
        if self.is_shared && std::mem::replace(&mut self.lock().is_flushing, true) {
            return None;
        }
        self.counters.note(1, 1);
        Some(Lead { group: self })
    }

    /// Stands in line, or leads when there is none.
    fn join(&self, files: &[Flush<'_>]) -> Place<'_> {
        if !self.is_shared {
            return Place::Outside;
        }
        let mut line = self.lock();
        if !std::mem::replace(&mut line.is_flushing, true) {
            return Place::First(Lead { group: self });
        }
        let Ok(ticket) = Ticket::new(files).map(Arc::new) else { return Place::Outside };
        line.waiting.push(Arc::clone(&ticket));
        Place::InLine(ticket)
    }

    /// Flushes what has gathered, as the first of those who wait.
    fn lead(&self, own: &Arc<Ticket>) -> Result<()> {
        let _lead = Lead { group: self };
        let batch = std::mem::take(&mut self.lock().waiting);
        let mut outcome = Ok(());
        for (ticket, result) in batch.iter().zip(self.flush_batch(&batch)) {
            if Arc::ptr_eq(ticket, own) { outcome = result } else { ticket.end(result) }
        }
        outcome
    }

    /// Lets the first of those who wait lead.
    fn pass_on(&self) {
        let mut line = self.lock();
        match line.waiting.first() {
            Some(next) => next.lead(),
            None => line.is_flushing = false,
        }
    }

    /// Flushes all tickets, and says how each one ended.
    fn flush_batch(&self, batch: &[Arc<Ticket>]) -> Vec<Result<()>> {
        let files = distinct(batch);
        let way = self.lock_costs().choose(files.len(), || self.storage.is_all_cheap());
        let start = Instant::now();
        let (way, results) = match way {
            Way::All => match self.storage.flush_all() {
                Ok(()) => (Some(way), Some(vec![Ok(()); files.len()])),
                // Some file's error, perhaps of nobody here: the files tell.
                Err(_) => (None, None),
            },
            Way::Each => (Some(way), None),
        };
        let flushes = if results.is_some() { 1 } else { files.len() };
        let results = results.unwrap_or_else(|| files.iter().map(|file| self.flush_one(file)).collect());
        if let Some(way) = way {
            self.lock_costs().note(way, files.len(), start.elapsed());
        }
        self.counters.note(batch.len(), flushes);
        self.tell(batch.len(), &files, &results)
    }

    fn flush_one(&self, file: &Distinct<'_>) -> Result<()> {
        file.members.first().map_or(Ok(()), |member| self.storage.flush(member.fd, file.depth))
    }

    /// How each ticket ended. The kernel reports an error of writing a file back once to each open file, so a ticket
    /// whose own descriptor was not flushed asks for its error.
    fn tell(&self, tickets: usize, files: &[Distinct<'_>], results: &[Result<()>]) -> Vec<Result<()>> {
        let mut outcomes = vec![Ok(()); tickets];
        for (file, result) in files.iter().zip(results) {
            for member in &file.members {
                let result = result.and_then(|()| self.storage.pending_error(member.fd));
                outcomes[member.ticket] = outcomes[member.ticket].and(result);
            }
        }
        outcomes
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_costs(&self) -> MutexGuard<'_, Costs> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The files of a batch, each once, in the order in which they were asked for.
fn distinct(batch: &[Arc<Ticket>]) -> Vec<Distinct<'_>> {
    let mut files: Vec<Distinct<'_>> = Vec::new();
    let mut places = HashMap::new();
    for (ticket, Owned { fd, depth, identity }) in
        batch.iter().enumerate().flat_map(|(number, ticket)| ticket.files().iter().map(move |file| (number, file)))
    {
        let place = *places.entry(identity).or_insert(files.len());
        if place == files.len() {
            files.push(Distinct { depth: *depth, members: Vec::new() });
        }
        files[place].depth = files[place].depth.max(*depth);
        files[place].members.push(Member { ticket, fd: fd.as_fd() });
    }
    files
}

#[cfg(test)]
mod tests;
