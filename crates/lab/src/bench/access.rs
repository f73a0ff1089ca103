//! How the operations of a connection reach their files.

use client::File;

use super::OperationError;
use super::export::Export;
use super::local::Local;
use super::plan::Step;
use super::tally::Done;

pub(super) enum Access {
    /// Calls to a server.
    Export(Export),
    /// System calls.
    Local(Local),
}

impl Access {
    /// Opens the file of a worker for the operations that need it open.
    pub(super) async fn open(&self, worker: usize) -> Result<Option<File>, OperationError> {
        match self {
            Access::Export(export) => Ok(export.open(worker).await?),
            Access::Local(_) => Ok(None),
        }
    }

    /// Does an operation of a worker.
    pub(super) async fn carry_out(
        &self,
        step: Step,
        worker: usize,
        open: Option<&File>,
    ) -> Result<Done, OperationError> {
        match self {
            Access::Export(export) => Ok(export.carry_out(step, worker, open).await?),
            Access::Local(local) => local.carry_out(step, worker).await,
        }
    }

    /// Whether an operation waits while it is submitted, as a system call does.
    pub(super) fn waits_inside(&self) -> bool {
        matches!(self, Access::Local(_))
    }

    /// Whether something that was written is not on stable storage.
    pub(super) fn has_unstable(&self) -> bool {
        match self {
            Access::Export(export) => export.has_unstable(),
            Access::Local(local) => local.has_unstable(),
        }
    }

    /// Asks for stable storage of what was written.
    pub(super) async fn commit(&self) -> Result<(), OperationError> {
        match self {
            Access::Export(export) => export.commit().await,
            Access::Local(local) => local.commit().await,
        }
    }

    /// Removes what its operations made and left.
    pub(super) async fn end(self) {
        match self {
            Access::Export(export) => export.end().await,
            Access::Local(local) => local.end().await,
        }
    }
}
