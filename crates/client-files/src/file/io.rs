//! Reads and writes of an open file by tasks that may outlive the [`File`](super::File).

use std::sync::Arc;

use bytes::Bytes;
use client_calls::FileChange;
use vfs::{Attributes, SetAttributes, Stability};

use super::retry::under_stateid;
use crate::cache::Promise;
use crate::nlm::FileLocks;
use crate::v4::OpenFile;
use crate::{Entry, Handle, Mount, Reason, Result, WriteVerifier, Written, v4};

/// A file for tasks that fetch and write its data. In NFSv4 it stays open while one of them exists.
#[derive(Debug)]
pub(crate) struct Io {
    pub(crate) mount: Mount,
    pub(crate) handle: Handle,
    pub(crate) open: Option<Arc<OpenFile>>,
    /// Its locks, in versions without open state. They are released when no data is left to write.
    pub(crate) locks: Option<FileLocks>,
    /// Whether the open allows reading.
    pub(crate) can_read: bool,
}

impl Io {
    /// Refuses reads and writes while the file's open state or a lock is lost: they could see or damage data that
    /// others wrote meanwhile.
    pub(crate) fn check_kept(&self, operation: &'static str) -> Result<()> {
        match (&self.open, &self.locks) {
            (Some(open), _) => open.check_kept(operation),
            (None, Some(locks)) => locks.check_kept(operation),
            (None, None) => Ok(()),
        }
    }

    /// Whether the file has locks, or had some that are lost.
    pub(crate) fn has_locks(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.has_locks()) || self.locks.as_ref().is_some_and(FileLocks::has_any)
    }

    pub(crate) async fn write(&self, offset: u64, data: Bytes, stability: Stability) -> Result<Written> {
        self.write_looking(offset, data, stability, v4::Told::After).await.map(|(written, _)| written)
    }

    /// The server's promise that nobody else changes the file, if there is one.
    pub(crate) fn promise(&self) -> Option<Arc<dyn Promise>> {
        self.open.as_ref()?.client().promise(&self.handle)
    }

    /// One WRITE, and the file's attributes before and after as far as `told` asks and the server tells. Servers before
    /// NFSv4 tell them without being asked.
    pub(crate) async fn write_looking(
        &self,
        offset: u64,
        data: Bytes,
        stability: Stability,
        told: v4::Told,
    ) -> Result<(Written, FileChange)> {
        self.check_kept("WRITE")?;
        let (bytes, max) = (data.len(), self.mount.sizes().write as usize);
        if bytes > max {
            return Err(self.mount.error("WRITE", Reason::TooLarge { bytes, max }));
        }
        let Some(open) = &self.open else {
            return self.mount.write_and_look(&self.handle, offset, data, stability).await;
        };
        let stable = v4::wire_stability(stability);
        let mut change = self.mount.change([&self.handle]);
        let (written, told) = under_stateid!(self, open, stateid => {
            let write = v4::WriteTail { stateid, offset, stable, data: data.clone(), told };
            v4::write_as(open.client(), &self.handle, write)
        })?;
        told.after.iter().for_each(|now| change.learn(&Entry { handle: self.handle, attributes: *now }));
        Ok((written, told))
    }

    pub(crate) async fn commit(&self) -> Result<WriteVerifier> {
        self.mount.commit(&self.handle, 0, 0).await
    }

    /// Fetches the attributes from the server.
    pub(crate) async fn getattr(&self) -> Result<Attributes> {
        self.mount.getattr(&self.handle).await
    }

    /// Sets attributes, including the length, by the right of the open.
    pub(crate) async fn setattr(&self, set: &SetAttributes) -> Result<Attributes> {
        let Some(open) = &self.open else { return self.mount.setattr(&self.handle, set).await };
        let mut change = self.mount.change([&self.handle]);
        let set = under_stateid!(self, open, stateid => v4::setattr_as(open.client(), &self.handle, stateid, set))?;
        change.learn(&Entry { handle: self.handle, attributes: set });
        Ok(set)
    }
}
