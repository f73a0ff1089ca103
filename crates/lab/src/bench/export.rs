//! The operations of one connection to an export.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use client::{File, LockKind, Mount, OpenOptions, Segment, Version};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use vfs::Stability;

use super::build::TreePlan;
use super::export_tree::ExportTree;
use super::lane_result::LaneResult;
use super::leave::leave;
use super::metadata::Metadata;
use super::pattern::Pattern;
use super::payload::Payload;
use super::plan::Step;
use super::tally::Done;
use super::target::{Target, write_all};
use super::unstable::Unstable;
use super::{Error, Files, Job, Operation, OperationError};
use crate::leftovers::Made;

/// How many files are opened or closed at once before and after a job.
const OPENS_AT_ONCE: usize = 16;

pub(super) struct Export {
    mount: Mount,
    /// The files of the job, and the first that this connection uses.
    targets: Arc<[Target]>,
    first_target: usize,
    /// How many files an operation chooses from.
    choice: usize,
    /// Those that are open all the time, by their numbers.
    opened: Vec<File>,
    operation: Operation,
    granule_bytes: u32,
    stability: Stability,
    pattern: Option<Pattern>,
    workload_writes: bool,
    payload: Rc<Payload>,
    metadata: Metadata,
    /// One for each worker of a build.
    trees: Vec<ExportTree>,
    found: Rc<RefCell<LaneResult>>,
    unstable: RefCell<Unstable>,
    /// What its operations make.
    made: Made,
}

impl Export {
    /// The connection with this number, from 0; `found` is what its thread found.
    pub(super) fn new(
        job: &Job,
        number: u32,
        found: &Rc<RefCell<LaneResult>>,
        mount: Mount,
        targets: &Arc<[Target]>,
    ) -> Export {
        let first_target = if job.files == Files::OnePerConnection { number as usize } else { 0 };
        let payload = Rc::new(Payload::new(job, number));
        let (prefix, target) = (format!("{}.{number}", job.temporary_name()), &targets[first_target]);
        let is_in_directory = target.is_temporary;
        Export {
            metadata: Metadata::new(prefix, mount.clone(), target, Rc::clone(&payload)),
            mount,
            targets: Arc::clone(targets),
            first_target,
            choice: job.files.choice() as usize,
            opened: Vec::new(),
            operation: job.workload.operation,
            granule_bytes: job.granule_bytes(),
            stability: if job.stable_writes { Stability::File } else { Stability::Unstable },
            pattern: job.verify.then(|| job.pattern()),
            workload_writes: job.workload.writes(),
            payload,
            trees: Vec::new(),
            found: Rc::clone(found),
            unstable: RefCell::default(),
            made: Made::new(job.leftover(is_in_directory)),
        }
    }

    /// Makes the trees of a build.
    pub(super) async fn make_trees(&mut self, job: &Job, number: u32) -> Result<(), Error> {
        for worker in 0..job.depth {
            let (plan, dir) = (TreePlan::new(job, number, worker), self.target(0).dir);
            self.trees.push(ExportTree::new(&self.mount, dir, plan, &self.payload, &job.stop).await?);
        }
        Ok(())
    }

    /// Opens every file that its operations choose from, and keeps it open.
    pub(super) async fn open_all(&mut self, count: u32) -> Result<(), Error> {
        let (this, options) = (&*self, &OpenOptions::read());
        let open = |number| async move {
            let Target { dir, name, .. } = this.target(number);
            this.mount.open(dir, name, options).await
        };
        let opening = stream::iter(0..count as usize).map(open).buffered(OPENS_AT_ONCE);
        let opened = opening.try_collect().await?;
        self.opened = opened;
        Ok(())
    }

    /// Opens the file of a worker for the operations that need it open.
    pub(super) async fn open(&self, worker: usize) -> client::Result<Option<File>> {
        let options = match self.operation {
            Operation::ReadPlus(_) => OpenOptions::read(),
            Operation::LockUnlock => OpenOptions::both(),
            _ => return Ok(None),
        };
        let Target { dir, name, .. } = self.target(worker % self.choice);
        self.mount.open(dir, name, &options).await.map(Some)
    }

    /// The file with this number among those that an operation chooses from.
    fn target(&self, number: usize) -> &Target {
        &self.targets[self.first_target + number]
    }

    pub(super) async fn carry_out(&self, step: Step, worker: usize, open: Option<&File>) -> client::Result<Done> {
        match (step.operation, open) {
            (Operation::BuildStep(build), _) => {
                let moved_bytes = self.trees[worker].carry_out(build, step.offset, &self.payload, step.bytes).await?;
                Ok(Done { moved_bytes, is_short: false })
            }
            (Operation::ReadPlus(_), Some(file)) => self.read_plus(file, step).await,
            (Operation::LockUnlock, Some(file)) => self.lock_and_unlock(file, step).await,
            (Operation::OpenClose, _) => self.open_and_close().await,
            (operation, _) if !operation.moves_bytes() => {
                self.metadata.carry_out(operation, self.target(step.file), step.bytes).await
            }
            _ if step.is_write => self.write(step).await,
            _ => self.read(step).await,
        }
    }

    /// Reads a block with its holes; those count as if they were sent.
    async fn read_plus(&self, file: &File, Step { offset, bytes: wanted, .. }: Step) -> client::Result<Done> {
        let told = file.read_plus(offset, wanted).await?;
        let bytes = |segment: &Segment| match segment {
            Segment::Data { bytes, .. } => bytes.len() as u64,
            Segment::Hole { length, .. } => *length,
        };
        let moved_bytes = told.segments.iter().map(bytes).sum();
        Ok(Done { moved_bytes, is_short: moved_bytes < u64::from(wanted) })
    }

    async fn open_and_close(&self) -> client::Result<Done> {
        let Target { dir, name, .. } = self.target(0);
        self.mount.open(dir, name, &OpenOptions::read()).await?.close().await?;
        Ok(Done { moved_bytes: 0, is_short: false })
    }

    /// Locks a block for itself and others that read: so nobody is in the way whose block is the same.
    async fn lock_and_unlock(&self, file: &File, Step { offset, bytes, .. }: Step) -> client::Result<Done> {
        let length = u64::from(bytes);
        file.try_lock(LockKind::Shared, offset, length).await?;
        file.unlock(offset, length).await?;
        Ok(Done { moved_bytes: 0, is_short: false })
    }

    async fn read(&self, Step { file, offset, bytes, .. }: Step) -> client::Result<Done> {
        let data = match self.opened.get(file) {
            Some(open) => open.read(offset, bytes).await?,
            None => self.mount.read(&self.target(file).handle, offset, bytes).await?,
        };
        if let Some(pattern) = self.pattern {
            let is_right = match self.workload_writes {
                true => pattern.is_at_or_next(offset, &data.bytes),
                false => pattern.is_at(offset, &data.bytes),
            };
            if !is_right {
                self.found.borrow_mut().wrong.add(offset);
            }
        }
        Ok(Done { moved_bytes: data.bytes.len() as u64, is_short: data.bytes.len() < bytes as usize })
    }

    async fn write(&self, Step { offset, bytes, .. }: Step) -> client::Result<Done> {
        let data = self.payload.block(offset, bytes);
        let (is_short, unstable) = write_all(&self.mount, self.target(0).handle, offset, data, self.stability).await?;
        self.unstable.borrow_mut().merge(unstable);
        let granules =
            offset / u64::from(self.granule_bytes)..(offset + u64::from(bytes)) / u64::from(self.granule_bytes);
        let mut found = self.found.borrow_mut();
        if let Some(is_written) = found.is_written.get_mut(granules.start as usize..granules.end as usize) {
            is_written.fill(true);
        }
        Ok(Done { moved_bytes: bytes.into(), is_short })
    }

    /// Whether something that was written is not on stable storage.
    pub(super) fn has_unstable(&self) -> bool {
        !self.unstable.borrow().is_empty() && self.mount.version() != Version::V2
    }

    /// Asks for stable storage of what was written. What may be lost all the same is a failure.
    pub(super) async fn commit(&self) -> Result<(), OperationError> {
        let unstable = self.unstable.take();
        match unstable.lost_after(self.mount.commit(&self.target(0).handle, 0, 0).await?) {
            0 => Ok(()),
            writes => Err(OperationError::Lost { writes }),
        }
    }

    /// Removes what its operations made and left, and closes its files.
    pub(super) async fn end(self) {
        let mut removed = match self.operation {
            Operation::NewFile => self.metadata.remove_new_files().await,
            _ => Ok(()),
        };
        for tree in self.trees {
            removed = removed.and(tree.remove().await);
        }
        if removed.is_ok() {
            self.made.release();
        }
        // A server that goes on without them closes them with the client.
        let close = |file: File| async { drop(file.close().await) };
        stream::iter(self.opened).for_each_concurrent(OPENS_AT_ONCE, close).await;
        leave(&self.mount).await;
    }
}
