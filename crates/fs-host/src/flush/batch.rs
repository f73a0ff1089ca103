//! The files that a group of callers flushes together.
//!
//! Each file is flushed by one of the callers that asked for it. Its callers return when it is flushed; they do not
//! wait for the other files of the group.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use super::costs::Way;
use super::file::{Depth, Flush};
use super::flusher::Flusher;
use super::request::{FlushRequest, OwnedFlush};

/// The leader's request is the first one of its batch.
pub(super) const LEADER: usize = 0;

/// The requests of a group, with their files, each once.
pub(super) struct FlushBatch {
    requests: Vec<Arc<FlushRequest>>,
    files: Vec<BatchFile>,
    /// The places in `files` of each request's files.
    places: Vec<Vec<usize>>,
    /// How many files are not flushed yet.
    left: AtomicUsize,
    start: Instant,
}

/// A file of a batch, with all who want it flushed.
struct BatchFile {
    depth: Depth,
    members: Vec<Member>,
    /// Whether a caller has taken it.
    is_taken: AtomicBool,
}

/// A file of a request, by their numbers.
#[derive(Clone, Copy)]
struct Member {
    request: usize,
    file: usize,
}

impl FlushBatch {
    /// The files come in the order in which they were asked for.
    pub(super) fn of(requests: Vec<Arc<FlushRequest>>) -> Arc<FlushBatch> {
        let mut files: Vec<BatchFile> = Vec::new();
        let mut known = HashMap::new();
        let mut places = Vec::with_capacity(requests.len());
        for (number, request) in requests.iter().enumerate() {
            let mut own = Vec::with_capacity(request.files().len());
            for (file, OwnedFlush { depth, identity, .. }) in request.files().iter().enumerate() {
                let place = *known.entry(*identity).or_insert(files.len());
                if place == files.len() {
                    files.push(BatchFile { depth: *depth, members: Vec::new(), is_taken: AtomicBool::new(false) });
                }
                files[place].depth = files[place].depth.max(*depth);
                files[place].members.push(Member { request: number, file });
                own.push(place);
            }
            places.push(own);
        }
        let left = AtomicUsize::new(files.len());
        Arc::new(FlushBatch { requests, files, places, left, start: Instant::now() })
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn files(&self) -> usize {
        self.files.len()
    }

    /// Wakes one caller for each file that the leader does not flush itself. Nobody flushes a file whose callers have
    /// all stopped waiting: they flush it themselves.
    pub(super) fn call_helpers(self: &Arc<FlushBatch>) {
        for file in &self.files {
            let _ = file.members.iter().any(|&Member { request, .. }| {
                request == LEADER || self.requests[request].help(BatchShare { batch: Arc::clone(self), request })
            });
        }
    }

    /// Flushes those of a request's files that nobody has taken.
    pub(super) fn flush_files_of(&self, request: usize, flusher: &Flusher) {
        for (file, &place) in self.places[request].iter().enumerate() {
            if !self.files[place].is_taken.swap(true, Ordering::Relaxed) {
                self.flush_file(place, self.owned(Member { request, file }), flusher);
            }
        }
    }

    fn flush_file(&self, place: usize, owned: &OwnedFlush, flusher: &Flusher) {
        let file = &self.files[place];
        let result = flusher.flush_file(Flush { fd: owned.fd.as_fd(), depth: file.depth, of: owned.of });
        owned.is_asked.store(true, Ordering::Relaxed);
        file.members.iter().for_each(|member| self.requests[member.request].end_file(result));
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.note_cost(Way::Each, flusher);
        }
    }

    /// Ends the flush of everything: all files are flushed.
    pub(super) fn end(&self, flusher: &Flusher) {
        self.note_cost(Way::All, flusher);
        let files = self.files.iter().flat_map(|file| &file.members);
        files.for_each(|member| self.requests[member.request].end_file(Ok(())));
    }

    fn note_cost(&self, way: Way, flusher: &Flusher) {
        flusher.lock_costs().note(way, self.files.len(), self.start.elapsed());
    }

    fn owned(&self, member: Member) -> &OwnedFlush {
        &self.requests[member.request].files()[member.file]
    }
}

/// What a caller may flush: the files of its request in a batch.
#[derive(Clone)]
pub(super) struct BatchShare {
    batch: Arc<FlushBatch>,
    request: usize,
}

impl BatchShare {
    pub(super) fn flush(&self, flusher: &Flusher) {
        self.batch.flush_files_of(self.request, flusher);
    }
}
