//! Copies that the server makes by itself (RFC 7862 §4), between two open files of one mount.

use super::File;
use super::retry::under_stateid;
use crate::cache::Passing;
use crate::{Copied, Mount, Result, v4};

/// Which bytes are copied or shared: `count` from `from` on in the source, to `to` in the target.
struct Extent {
    from: u64,
    to: u64,
    count: u64,
}

/// A copy by the server, from [`File::begin_copy`].
#[derive(Debug)]
#[must_use = "a copy that nobody waits for is cancelled"]
pub struct Copying {
    begun: v4::Begun,
    change: Change,
}

impl Copying {
    /// Waits for the end of the copy. `progress` is called now and then with the number of bytes copied, as far as the
    /// server tells.
    ///
    /// # Errors
    /// The error of the server. Without [`Options::is_hard`](crate::Options::is_hard),
    /// [`Reason::CopyStalled`](crate::Reason::CopyStalled) if an ongoing copy reports the same number of bytes for
    /// [`Options::patience`](crate::Options::patience). A server that reports no bytes before the end has one second
    /// more for each 64 KiB.
    pub async fn end(self, progress: impl FnMut(u64)) -> Result<Copied> {
        let Copying { begun, mut change } = self;
        let copied = match begun {
            v4::Begun::Over(copied) => copied,
            v4::Begun::GoesOn(offload) => offload.end(progress).await?,
        };
        change.passing = None;
        Ok(copied)
    }

    /// Whether the copy goes on after the server's reply.
    pub fn goes_on(&self) -> bool {
        matches!(self.begun, v4::Begun::GoesOn(_))
    }
}

/// The change of the file by a copy. If dropped before the end, the change lasts until the copy is cancelled.
#[derive(Debug)]
struct Change {
    passing: Option<Passing>,
    mount: Mount,
}

impl Drop for Change {
    fn drop(&mut self) {
        if let (Some(passing), Ok(runtime)) = (self.passing.take(), tokio::runtime::Handle::try_current()) {
            let mount = self.mount.clone();
            runtime.spawn(async move {
                mount.copies_ended().await;
                drop(passing);
            });
        }
    }
}

impl Mount {
    /// Waits until the server makes no copies for this mount any more; dropped ones are cancelled by then.
    pub async fn copies_ended(&self) {
        if let Ok(client) = self.v4() {
            client.copies_ended().await;
        }
    }
}

impl File {
    /// Has the server copy `count` bytes of `source`, or all to its end if that is 0, into this file. It may copy
    /// fewer. Data less safe than [`vfs::Stability::File`] must be committed.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; [`crate::Status::NotSupported`] from a server without COPY;
    /// [`crate::Status::Invalid`] for a range beyond the source's end; other errors of the server.
    pub async fn copy_from(&self, source: &File, from: u64, to: u64, count: u64) -> Result<Copied> {
        let (open, other) = (self.opened_4_2("COPY")?, source.opened_4_2("COPY")?);
        self.prepare_transfer(source).await?;
        let _change = (self.mount.change([self.handle()]), self.passing());
        under_stateid!(self, open, stateid => {
            let transfer = self.transfer(source, other.stateid()?.0, stateid, Extent { from, to, count });
            v4::copy(open.client(), transfer)
        })
    }

    /// Like [`File::copy_from`], but the server may go on after its reply. A copy that is dropped before its end is
    /// cancelled; the bytes copied until then stay.
    ///
    /// # Errors
    /// As for [`File::copy_from`].
    pub async fn begin_copy(&self, source: &File, from: u64, to: u64, count: u64) -> Result<Copying> {
        let (open, other) = (self.opened_4_2("COPY")?, source.opened_4_2("COPY")?);
        self.prepare_transfer(source).await?;
        let _change = self.mount.change([self.handle()]);
        let change = Change { passing: self.passing(), mount: self.mount.clone() };
        let mut copying = under_stateid!(self, open, stateid => {
            let transfer = self.transfer(source, other.stateid()?.0, stateid, Extent { from, to, count });
            v4::begin_copy(open.client(), transfer)
        })
        .map(|begun| Copying { begun, change })?;
        if let (v4::Begun::GoesOn(offload), 0) = (&mut copying.begun, count) {
            offload.set_length(source.getattr().await?.size_bytes.saturating_sub(from));
        }
        Ok(copying)
    }

    /// Has this file share `count` bytes with `source`, or all to its end if that is 0, until one of them is written.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; [`crate::Status::NotSupported`] from a file system without
    /// CLONE; other errors of the server, which may require whole blocks.
    pub async fn clone_from(&self, source: &File, from: u64, to: u64, count: u64) -> Result<()> {
        let (open, other) = (self.opened_4_2("CLONE")?, source.opened_4_2("CLONE")?);
        self.prepare_transfer(source).await?;
        let _change = (self.mount.change([self.handle()]), self.passing());
        under_stateid!(self, open, stateid => {
            let transfer = self.transfer(source, other.stateid()?.0, stateid, Extent { from, to, count });
            v4::clone(open.client(), transfer)
        })
    }

    /// Sends earlier writes of both files to the server. Those of this file must be stable: retransmission after a
    /// restart would overwrite the copy.
    async fn prepare_transfer(&self, source: &File) -> Result<()> {
        source.flush().await?;
        self.settle().await
    }

    fn transfer(
        &self,
        source: &File,
        source_stateid: v4::Stateid,
        destination_stateid: v4::Stateid,
        Extent { from: source_offset, to: destination_offset, count }: Extent,
    ) -> v4::Transfer {
        let (source, destination) = (*source.handle(), *self.handle());
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
