//! Open files.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use vfs::{
    Attributes, Context, CopyRange, FileLock, Handle, HostFile, LockOutcome, LockOwner, OpenFile, Result, Seek,
    Stability, Written,
};

use crate::rule::Site;
use crate::unsynced::{Undo, Unsynced};
use crate::{FaultPlan, Operation};

/// An open file whose calls meet the rules of a plan.
pub(crate) struct FaultFile {
    inner: Arc<dyn OpenFile>,
    plan: FaultPlan,
    losing: Option<Losing>,
}

/// The file's handle, the file opened to undo writes, and where to note them.
pub(crate) type Losing = (Handle, Arc<dyn OpenFile>, Arc<Unsynced>);

impl FaultFile {
    pub(crate) fn new(inner: Arc<dyn OpenFile>, plan: FaultPlan, losing: Option<Losing>) -> FaultFile {
        FaultFile { inner, plan, losing }
    }
}

impl OpenFile for FaultFile {
    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        self.plan.run(cx, Site::new(Operation::Read), |_| self.inner.read_at(cx, offset_bytes, into))
    }

    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        self.plan.run(cx, Site::new(Operation::Write), |limit_bytes| {
            let data = &data[..data.len().min(limit_bytes)];
            let Some((node, file, unsynced)) = &self.losing else {
                return self.inner.write_at(cx, offset_bytes, data, stability);
            };
            let undo = Undo::of(node, file, offset_bytes, data.len())?;
            let written = self.inner.write_at(cx, offset_bytes, data, stability)?;
            match written.stability {
                Stability::Unstable => unsynced.push(undo),
                Stability::Data | Stability::File => unsynced.synced(node),
            }
            Ok(written)
        })
    }

    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        self.plan.run(cx, Site::new(Operation::Sync), |_| self.inner.sync(cx))?;
        self.losing.iter().for_each(|(node, _, unsynced)| unsynced.synced(node));
        Ok(())
    }

    fn seek(&self, cx: &Context<'_>, offset_bytes: u64, what: Seek) -> Result<Option<u64>> {
        self.plan.run(cx, Site::new(Operation::Seek), |_| self.inner.seek(cx, offset_bytes, what))
    }

    fn allocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        self.plan.run(cx, Site::new(Operation::Allocate), |_| self.inner.allocate(cx, range_bytes))
    }

    fn deallocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        self.plan.run(cx, Site::new(Operation::Deallocate), |_| self.inner.deallocate(cx, range_bytes))
    }

    fn copy_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<u64> {
        self.plan.run(cx, Site::new(Operation::Copy), |_| self.inner.copy_range(cx, from, range))
    }

    fn clone_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<()> {
        self.plan.run(cx, Site::new(Operation::Clone), |_| self.inner.clone_range(cx, from, range))
    }

    fn lock(&self, cx: &Context<'_>, owner: LockOwner, lock: FileLock) -> Result<LockOutcome> {
        self.inner.lock(cx, owner, lock)
    }

    fn test_lock(&self, cx: &Context<'_>, owner: LockOwner, lock: FileLock) -> Result<LockOutcome> {
        self.inner.test_lock(cx, owner, lock)
    }

    fn unlock(&self, cx: &Context<'_>, owner: LockOwner, range_bytes: RangeInclusive<u64>) -> Result<()> {
        self.inner.unlock(cx, owner, range_bytes)
    }

    fn attributes(&self, cx: &Context<'_>) -> Result<Attributes> {
        self.plan.run(cx, Site::new(Operation::Attributes), |_| self.inner.attributes(cx))
    }

    /// None while there are rules for reads, which bytes that are sent from the host's file would not meet. Bytes sent
    /// so at other times are not counted as reads.
    fn host_file(&self) -> Option<HostFile> {
        if self.plan.concerns(Operation::Read) { None } else { self.inner.host_file() }
    }
}
