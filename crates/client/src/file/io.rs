//! How the bytes of an open file are read and written by tasks that may live longer than the [`File`](super::File).

use std::sync::Arc;

use bytes::Bytes;
use vfs::{Attributes, SetAttributes, Stability};

use super::retry::under_stateid;
use crate::cache::Promise;
use crate::nlm::FileLocks;
use crate::types::FileChange;
use crate::v4::OpenFile;
use crate::{Entry, Handle, Mount, Reason, Result, WriteVerifier, Written, v4};

/// A file as those need it who bring its data and write it late. In NFSv4 it stays open for as long as one of them is there.
#[derive(Debug)]
pub(crate) struct Io {
    pub(crate) mount: Mount,
    pub(crate) handle: Handle,
    pub(crate) open: Option<Arc<OpenFile>>,
    /// Its locks, in versions that know no open files. They are given back when nothing of it is left to write.
    pub(crate) locks: Option<FileLocks>,
    /// Whether the server lets it be read.
    pub(crate) can_read: bool,
}

impl Io {
    /// Refuses to read and write while what the server gave for the file is lost: whoever believes in it would see or spoil what others
    /// wrote.
    pub(crate) fn check_kept(&self, operation: &'static str) -> Result<()> {
        match (&self.open, &self.locks) {
            (Some(open), _) => open.check_kept(operation),
            (None, Some(locks)) => locks.check_kept(operation),
            (None, None) => Ok(()),
        }
    }

    /// Whether something of the file is locked, or was and is lost.
    pub(crate) fn has_locks(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.has_locks()) || self.locks.as_ref().is_some_and(FileLocks::has_any)
    }

    /// One WRITE.
    pub(crate) async fn write(&self, offset: u64, data: Bytes, stability: Stability) -> Result<Written> {
        self.write_looking(offset, data, stability, v4::Told::After).await.map(|(written, _)| written)
    }

    /// What the server has promised, if it is that nobody else changes the file.
    pub(crate) fn promise(&self) -> Option<Arc<dyn Promise>> {
        self.open.as_ref()?.client().promise(&self.handle)
    }

    /// One WRITE, and what the file was like before and is like then, as far as that is wanted and the server tells. Servers of
    /// versions before 4 tell without being asked.
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

    /// Commits the whole file.
    pub(crate) async fn commit(&self) -> Result<WriteVerifier> {
        self.mount.commit(&self.handle, 0, 0).await
    }

    /// Asks the server for the attributes.
    pub(crate) async fn getattr(&self) -> Result<Attributes> {
        self.mount.getattr(&self.handle).await
    }

    /// Sets attributes, the length among them, with the right that the open gives.
    pub(crate) async fn setattr(&self, set: &SetAttributes) -> Result<Attributes> {
        let Some(open) = &self.open else { return self.mount.setattr(&self.handle, set).await };
        let mut change = self.mount.change([&self.handle]);
        let set = under_stateid!(self, open, stateid => v4::setattr_as(open.client(), &self.handle, stateid, set))?;
        change.learn(&Entry { handle: self.handle, attributes: set });
        Ok(set)
    }
}
