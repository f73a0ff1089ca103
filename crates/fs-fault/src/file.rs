//! Open files.

use std::sync::Arc;

use vfs::{Attributes, Context, HostFile, OpenFile, Result, Stability, Written};

use crate::rule::Site;
use crate::{FaultPlan, Operation};

/// An open file whose calls meet the rules of a plan.
pub(crate) struct FaultFile {
    inner: Arc<dyn OpenFile>,
    plan: FaultPlan,
}

impl FaultFile {
    pub(crate) fn new(inner: Arc<dyn OpenFile>, plan: FaultPlan) -> FaultFile {
        FaultFile { inner, plan }
    }
}

impl OpenFile for FaultFile {
    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        self.plan.run(cx, Site::new(Operation::Read), |_| self.inner.read_at(cx, offset_bytes, into))
    }

    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        self.plan.run(cx, Site::new(Operation::Write), |limit_bytes| {
            self.inner.write_at(cx, offset_bytes, &data[..data.len().min(limit_bytes)], stability)
        })
    }

    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        self.plan.run(cx, Site::new(Operation::Sync), |_| self.inner.sync(cx))
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
