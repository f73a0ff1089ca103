//! The files that a group of callers flushes together.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Result;

use super::Depth;
use super::disk::Storage;
use super::request::{FlushRequest, OwnedFlush};

/// The requests of a group, with their files, each once.
pub(super) struct FlushBatch {
    requests: Vec<Arc<FlushRequest>>,
    files: Vec<Distinct>,
    /// How many files somebody has taken to flush.
    taken: AtomicUsize,
    progress: Mutex<FlushProgress>,
}

/// A file of a batch, with all who want it flushed.
struct Distinct {
    depth: Depth,
    members: Vec<Member>,
}

/// A file of a request, by their numbers.
#[derive(Clone, Copy)]
struct Member {
    request: usize,
    file: usize,
}

/// How the flushes of files ended so far.
struct FlushProgress {
    results: Vec<Result<()>>,
    left: usize,
}

impl FlushBatch {
    /// The files come in the order in which they were asked for.
    pub(super) fn of(requests: Vec<Arc<FlushRequest>>) -> Arc<FlushBatch> {
        let mut files: Vec<Distinct> = Vec::new();
        let mut places = HashMap::new();
        for (number, request) in requests.iter().enumerate() {
            for (file, OwnedFlush { depth, identity, .. }) in request.files().iter().enumerate() {
                let place = *places.entry(*identity).or_insert(files.len());
                if place == files.len() {
                    files.push(Distinct { depth: *depth, members: Vec::new() });
                }
                files[place].depth = files[place].depth.max(*depth);
                files[place].members.push(Member { request: number, file });
            }
        }
        let progress = Mutex::new(FlushProgress { results: vec![Ok(()); files.len()], left: files.len() });
        Arc::new(FlushBatch { requests, files, taken: AtomicUsize::new(0), progress })
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn files(&self) -> usize {
        self.files.len()
    }

    /// Wakes as many callers as there are files besides the one that the leader takes. The first request is the
    /// leader's.
    pub(super) fn call_helpers(self: &Arc<FlushBatch>) {
        let helpers = self.files.len().saturating_sub(1);
        self.requests.iter().skip(1).take(helpers).for_each(|request| request.help(Arc::clone(self)));
    }

    /// Flushes files until all are taken. Whoever flushes the last one tells all callers how theirs ended.
    pub(super) fn flush_files(&self, storage: &dyn Storage) {
        while let Some((number, file)) = self.take() {
            let result = self.flush_one(file, storage);
            let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.results[number] = result;
            progress.left -= 1;
            if progress.left == 0 {
                self.tell(&progress.results, storage);
            }
        }
    }

    /// Tells all callers that everything was flushed.
    pub(super) fn end(&self, storage: &dyn Storage) {
        self.tell(&vec![Ok(()); self.files.len()], storage);
    }

    fn take(&self) -> Option<(usize, &Distinct)> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        self.files.get(number).map(|file| (number, file))
    }

    fn flush_one(&self, file: &Distinct, storage: &dyn Storage) -> Result<()> {
        file.members.first().map_or(Ok(()), |&member| storage.flush(self.owned(member).fd.as_fd(), file.depth))
    }

    /// Tells each caller how the flush of its files ended. The kernel reports an error of writing a file back once to
    /// each open file, so a request whose own descriptor was not flushed asks for its error.
    fn tell(&self, results: &[Result<()>], storage: &dyn Storage) {
        let mut outcomes = vec![Ok(()); self.requests.len()];
        for (file, result) in self.files.iter().zip(results) {
            for &member in &file.members {
                let result = result.and_then(|()| storage.pending_error(self.owned(member).fd.as_fd()));
                outcomes[member.request] = outcomes[member.request].and(result);
            }
        }
        self.requests.iter().zip(outcomes).for_each(|(request, outcome)| request.end(outcome));
    }

    fn owned(&self, member: Member) -> &OwnedFlush {
        &self.requests[member.request].files()[member.file]
    }
}
