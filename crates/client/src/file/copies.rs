//! Copies that the server makes itself (RFC 7862 §4), between two files that are open in one mount.

use super::File;
use super::retry::under_stateid;
use crate::{Copied, Result, v4};

impl File {
    /// Lets the server copy `count` bytes of `source`, or all to its end when that is 0, into this file. It may copy fewer;
    /// what is less safe than [`vfs::Stability::File`] must be committed.
    ///
    /// # Errors
    /// [`crate::Status::NotSupported`] where the server cannot; what else it says.
    pub async fn copy_from(&self, source: &File, from: u64, to: u64, count: u64) -> Result<Copied> {
        let (open, other) = (self.opened("COPY")?, source.opened("COPY")?);
        let _change = self.mount.change([self.handle()]);
        under_stateid!(self, open, stateid => {
            let transfer = self.transfer(source, (other.stateid()?.0, stateid), (from, to, count));
            v4::copy(open.client(), transfer)
        })
    }

    /// Lets this file share `count` bytes with `source`, or all to its end when that is 0, until one of them is written.
    ///
    /// # Errors
    /// [`crate::Status::NotSupported`] where the file system cannot; what else the server says.
    pub async fn clone_from(&self, source: &File, from: u64, to: u64, count: u64) -> Result<()> {
        let (open, other) = (self.opened("CLONE")?, source.opened("CLONE")?);
        let _change = self.mount.change([self.handle()]);
        under_stateid!(self, open, stateid => {
            let transfer = self.transfer(source, (other.stateid()?.0, stateid), (from, to, count));
            v4::clone(open.client(), transfer)
        })
    }

    fn transfer<'a>(
        &'a self,
        source: &'a File,
        (source_stateid, destination_stateid): (v4::Stateid, v4::Stateid),
        (source_offset, destination_offset, count): (u64, u64, u64),
    ) -> v4::Transfer<'a> {
        let (source, destination) = (source.handle(), self.handle());
        v4::Transfer {
            source,
            source_stateid,
            source_offset,
            destination,
            destination_stateid,
            destination_offset,
            count,
        }
    }
}
