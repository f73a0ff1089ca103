//! The task that writes a file's dirty data. It runs for as long as there is any.

use std::sync::Arc;

use bytes::Bytes;
use client_calls::core::Failure;
use client_calls::{FileChange, Principal};
use tokio::runtime::Handle as Runtime;
use tokio::time::{Instant, timeout_at};
use vfs::Stability;

use super::batch::Batch;
use super::flush::Action;
use super::ids::FileId;
use super::late_io::LateIo;
use crate::file::Io;
use crate::v4::Told;
use crate::{Error, Mount, Reason, Result, Written};

pub(super) fn start(runtime: &Runtime, mount: &Mount, file: FileId) {
    let writer = Writer { mount: mount.clone(), file, is_over: false };
    runtime.spawn(writer.run());
}

struct Writer {
    mount: Mount,
    file: FileId,
    is_over: bool,
}

impl Writer {
    async fn run(mut self) {
        loop {
            let (action, io, wake) = {
                let mut state = self.mount.blocks().lock();
                let late = &state.file_ref(self.file).late;
                let (wake, io) = (Arc::clone(&late.wake), late.io.clone());
                (state.next_action(self.file, Instant::now()), io, wake)
            };
            match (action, io) {
                (Action::End, _) => {
                    self.is_over = true;
                    return;
                }
                (Action::Write(batch), Some(io)) => {
                    io.start_write(self.file, batch);
                }
                (Action::Commit, Some(io)) => {
                    io.start_commit(self.file);
                }
                (Action::Wait(Some(until)), _) => drop(timeout_at(until, wake.notified()).await),
                (Action::Wait(None) | Action::Write(_) | Action::Commit, _) => wake.notified().await,
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        // The runtime has ended, so nothing can be written any more.
        let mut state = self.mount.blocks().lock();
        if let Some(io) = state.file(self.file).late.io.clone() {
            state.abandon(self.file, io.closed());
        }
        let late = &mut state.file(self.file).late;
        (late.io, late.has_task) = (None, false);
    }
}

impl LateIo for Io {
    fn user(&self) -> &Arc<Principal> {
        self.mount.principal()
    }

    fn has_locks(&self) -> bool {
        Io::has_locks(self)
    }

    fn start_write(self: Arc<Self>, file: FileId, batch: Batch) {
        tokio::spawn(Writing { io: self, file, batch: Some(batch) }.run());
    }

    fn start_commit(self: Arc<Self>, file: FileId) {
        tokio::spawn(Committing { io: self, file, is_over: false }.run());
    }

    fn closed(&self) -> Error {
        closed(self)
    }
}

struct Writing {
    io: Arc<Io>,
    file: FileId,
    batch: Option<Batch>,
}

impl Writing {
    async fn run(mut self) {
        let Some(batch) = &self.batch else { return };
        let told = self.wanted(batch.stability);
        let result = self.io.write_looking(batch.offset_bytes, Bytes::clone(&batch.data), batch.stability, told).await;
        self.end(result);
    }

    /// The attributes that the reply has to carry. While a promise keeps others from changing the file, the attributes
    /// before the WRITE are known. Unstable bytes need a COMMIT, which fetches those after it (RFC 8881 §10.4).
    fn wanted(&self, stability: Stability) -> Told {
        let promise = self.io.promise();
        let is_promised = promise.is_some_and(|promise| self.io.mount.blocks().lock().rely_on(self.file, promise));
        match (is_promised, stability) {
            (false, _) => Told::Both,
            (true, Stability::Unstable) => Told::Nothing,
            (true, _) => Told::After,
        }
    }

    fn end(&mut self, result: Result<(Written, FileChange)>) {
        if let Some(batch) = self.batch.take() {
            self.io.mount.blocks().lock().end_write(self.file, &batch, result);
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if self.batch.is_some() {
            let error = closed(&self.io);
            self.end(Err(error));
        }
    }
}

struct Committing {
    io: Arc<Io>,
    file: FileId,
    is_over: bool,
}

impl Committing {
    async fn run(mut self) {
        let result = self.io.commit().await;
        self.is_over = true;
        self.io.mount.blocks().lock().end_commit(self.file, result);
    }
}

impl Drop for Committing {
    fn drop(&mut self) {
        if !self.is_over {
            self.io.mount.blocks().lock().end_commit(self.file, Err(closed(&self.io)));
        }
    }
}

/// The runtime that tasks run on has ended.
pub(super) fn closed(io: &Io) -> Error {
    io.mount.error("connection", Reason::NoReply(Failure::Closed))
}
