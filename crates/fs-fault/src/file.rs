//! Open files.

use std::ops::Range;
use std::sync::Arc;

use vfs::{Attributes, Context, CopyRange, Handle, HostFile, OpenFile, ReadBytes, Result, Seek, Stability, Written};

use crate::rule::Site;
use crate::unsynced::{Undo, Unsynced};
use crate::{FaultPlan, Operation};

/// An open file whose calls are subject to the rules of a plan.
pub(crate) struct FaultFile {
    inner: Arc<dyn OpenFile>,
    plan: FaultPlan,
    losing: Option<Losing>,
}

/// The file's handle, the file opened to undo writes, and the list of unsynced writes.
pub(crate) type Losing = (Handle, Arc<dyn OpenFile>, Arc<Unsynced>);

impl FaultFile {
    pub(crate) fn new(inner: Arc<dyn OpenFile>, plan: FaultPlan, losing: Option<Losing>) -> FaultFile {
        FaultFile { inner, plan, losing }
    }

    /// Performs a write under the rules; `write` gets its maximum number of bytes.
    fn writing(
        &self,
        cx: &Context<'_>,
        stability: Stability,
        write: impl FnOnce(usize) -> Result<Written>,
    ) -> Result<Written> {
        self.plan.run(cx, Site::new(Operation::Write), |limit_bytes| match stability {
            Stability::Unstable => write(limit_bytes),
            Stability::Data | Stability::File => {
                self.plan.run(cx, Site::new(Operation::StableWrite), |_| write(limit_bytes))
            }
        })
    }

    /// Performs a write, and records how to undo it in a crash.
    fn noting(
        &self,
        offset_bytes: u64,
        length_bytes: usize,
        write: impl FnOnce() -> Result<Written>,
    ) -> Result<Written> {
        let Some((node, file, unsynced)) = &self.losing else { return write() };
        let undo = Undo::of(node, file, offset_bytes, length_bytes)?;
        let written = write()?;
        match written.stability {
            Stability::Unstable => unsynced.push(undo),
            Stability::Data | Stability::File => unsynced.synced(node),
        }
        Ok(written)
    }
}

#[deny(clippy::missing_trait_methods)]
impl OpenFile for FaultFile {
    vfs::forward!(OpenFile for self.inner: check_written, lock, test_lock, unlock);

    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        self.plan.run(cx, Site::new(Operation::Read), |_| self.inner.read_at(cx, offset_bytes, into))
    }

    fn read_lent(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<ReadBytes> {
        self.plan.run(cx, Site::new(Operation::Read), |_| self.inner.read_lent(cx, offset_bytes, into))
    }

    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        self.writing(cx, stability, |limit_bytes| {
            let data = &data[..data.len().min(limit_bytes)];
            self.noting(offset_bytes, data.len(), || self.inner.write_at(cx, offset_bytes, data, stability))
        })
    }

    /// The rules count this as one write.
    fn write_parts_at(
        &self,
        cx: &Context<'_>,
        offset_bytes: u64,
        parts: &[&[u8]],
        stability: Stability,
    ) -> Result<Written> {
        self.writing(cx, stability, |limit_bytes| {
            let (parts, length_bytes) = first_bytes(parts, limit_bytes);
            let write = || self.inner.write_parts_at(cx, offset_bytes, &parts, stability);
            self.noting(offset_bytes, length_bytes, write)
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

    fn attributes(&self, cx: &Context<'_>) -> Result<Attributes> {
        self.plan.run(cx, Site::new(Operation::Attributes), |_| self.inner.attributes(cx))
    }

    /// None while there are rules for reads, because bytes sent from the host's file would bypass them. At other times
    /// such bytes are not counted as reads.
    fn host_file(&self) -> Option<HostFile> {
        if self.plan.concerns(Operation::Read) { None } else { self.inner.host_file() }
    }

    /// False while there are rules for reads, which may delay them.
    fn is_resident(&self, offset_bytes: u64, length: usize) -> bool {
        !self.plan.concerns(Operation::Read) && self.inner.is_resident(offset_bytes, length)
    }

    fn evict(&self, range_bytes: Range<u64>) -> bool {
        self.inner.evict(range_bytes)
    }
}

/// Returns the first `limit_bytes` of `parts`, and their number of bytes.
fn first_bytes<'a>(parts: &[&'a [u8]], limit_bytes: usize) -> (Vec<&'a [u8]>, usize) {
    let mut length_bytes = 0;
    let first = parts.iter().map(|part| {
        let first = &part[..part.len().min(limit_bytes - length_bytes)];
        length_bytes += first.len();
        first
    });
    (first.collect(), length_bytes)
}
