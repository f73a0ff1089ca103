use std::future::Future;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use client_files::Mount;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use vfs::{Attributes, SetAttributes, SetTime};

use super::error::CopyError;
use super::local::OWNER_BITS;
use super::options::{CopyOptions, Event, Summary};
use super::stop::Stop;

/// A copy: the state that all its tasks share.
pub(super) struct Job {
    pub(super) mount: Mount,
    pub(super) options: CopyOptions,
    files: Arc<Semaphore>,
    transfers: Arc<Semaphore>,
    summary: Mutex<Summary>,
    pub(super) ways: Ways,
    /// Ends the tasks that copy files when the user or a failure ends the job.
    pub(super) halt: Stop,
}

/// Operations that the server was found not to support.
#[derive(Debug, Default)]
pub(super) struct Ways {
    pub(super) is_without_clone: AtomicBool,
    pub(super) is_without_copy: AtomicBool,
}

impl Job {
    pub(super) fn new(mount: &Mount, options: &CopyOptions) -> Job {
        Job {
            mount: mount.clone(),
            files: Arc::new(Semaphore::new(options.files.clamp(1, CopyOptions::MAX_FILES))),
            transfers: Arc::new(Semaphore::new(options.transfers.clamp(1, CopyOptions::MAX_TRANSFERS))),
            options: CopyOptions { overwrite: options.overwrite || options.resume, ..options.clone() },
            summary: Mutex::new(Summary::default()),
            ways: Ways::default(),
            halt: Stop::default(),
        }
    }

    pub(super) fn summary(&self) -> Summary {
        *self.count()
    }

    pub(super) fn count(&self) -> MutexGuard<'_, Summary> {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, event: Event<'_>) {
        if let Some(progress) = &self.options.progress {
            progress(event);
        }
    }

    /// Reports and counts a failure if the job goes on after it.
    ///
    /// # Errors
    /// The failure, if it ends the job.
    pub(super) fn failed(&self, path: &[u8], error: CopyError) -> Result<(), CopyError> {
        match &self.options.on_failure {
            Some(on_failure) if !error.ends_all() => {
                self.count().failed += 1;
                on_failure(path, &error);
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Counts a copy whose owner could not be set.
    pub(super) fn note_owner(&self, is_set: bool) {
        self.count().owners_refused += u64::from(!is_set);
    }

    /// Counts something that is copied completely, and reports it.
    pub(super) fn finished(&self, path: &[u8], count: impl FnOnce(&mut Summary)) {
        let is_file = {
            let mut summary = self.count();
            let before = summary.files + summary.kept;
            count(&mut summary);
            summary.files + summary.kept > before
        };
        self.tell(Event::Finished { path, is_file });
    }

    /// Counts bytes that are done; `on_wire` of them were sent or received.
    pub(super) fn copied(&self, bytes: u64, on_wire: u64) {
        {
            let mut summary = self.count();
            summary.bytes += bytes;
            summary.data_bytes += on_wire;
        }
        if bytes > 0 {
            self.tell(Event::Copied(bytes));
        }
    }

    /// Counts bytes that the server copied by itself.
    pub(super) fn copied_there(&self, bytes: u64) {
        self.count().server_bytes += bytes;
        self.copied(bytes, 0);
    }

    /// Waits until one more transfer may be in flight.
    pub(super) async fn transfer(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.transfers).acquire_owned().await.ok()
    }

    /// The mode of a directory's copy from the start: its owner may make files in it. Others have their rights at once,
    /// unless owners are kept, because the group may still be another one. So the mode fits however the copy ends.
    pub(super) fn first_mode(&self, original: &Attributes) -> u32 {
        if self.options.keep_owners { OWNER_BITS } else { original.mode | OWNER_BITS }
    }

    /// The attributes to set on a finished copy.
    pub(super) fn final_attributes(&self, original: &Attributes) -> SetAttributes {
        let times = self.options.keep_times;
        let owners = self.options.keep_owners;
        SetAttributes {
            mode: Some(original.mode),
            uid: owners.then_some(original.uid),
            gid: owners.then_some(original.gid),
            size_bytes: None,
            accessed: times.then_some(SetTime::To(original.accessed)),
            modified: times.then_some(SetTime::To(original.modified)),
        }
    }
}

/// Tasks that copy files, as many at once as the job allows. The first error ends all of them.
pub(super) struct Files {
    job: Arc<Job>,
    tasks: JoinSet<Result<(), CopyError>>,
}

impl Files {
    pub(super) fn new(job: &Arc<Job>) -> Files {
        Files { job: Arc::clone(job), tasks: JoinSet::new() }
    }

    /// Starts a task as soon as the limit allows.
    pub(super) async fn spawn<F>(&mut self, copy: F) -> Result<(), CopyError>
    where
        F: Future<Output = Result<(), CopyError>> + Send + 'static,
    {
        let permit = Arc::clone(&self.job.files).acquire_owned().await.ok();
        while let Some(done) = self.tasks.try_join_next() {
            done??;
        }
        self.tasks.spawn(async move {
            let _permit = permit;
            copy.await
        });
        Ok(())
    }

    /// Waits for all of them after the job was halted; their errors are dropped.
    pub(super) async fn halt(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    pub(super) async fn wait(&mut self) -> Result<(), CopyError> {
        while let Some(done) = self.tasks.join_next().await {
            done??;
        }
        Ok(())
    }
}
