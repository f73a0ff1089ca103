//! Reads with READ_PLUS where the server has it, so that holes cost no bytes on the wire, and with READ elsewhere.

use std::sync::atomic::Ordering;

use proto::nfs4;

use super::retry::under_stateid;
use super::{File, Io};
use crate::v4::OpenFile;
use crate::{Data, Error, Mount, ReadInto, Reason, Result, Segments, Status, v4};

impl File {
    /// Reads up to `count` bytes, at most [`Sizes::read`](crate::Sizes::read). Copies them only if one reply has both
    /// data and holes. As with all reads past the cache, data of [`File::write_at`] goes to the server's stable storage
    /// first.
    ///
    /// # Errors
    /// The error of the server; [`Reason::Lie`](crate::Reason::Lie) for an impossible reply.
    pub async fn read(&self, offset: u64, count: u32) -> Result<Data> {
        self.settle_for_reading().await;
        self.io.read(offset, count).await
    }

    /// Reads into `buffer`, at most [`Sizes::read`](crate::Sizes::read) bytes; each is copied at most once. Repeats the
    /// call for what a short reply leaves out. If the future is dropped, the buffer may hold a part of the bytes.
    ///
    /// # Errors
    /// As for [`File::read`].
    pub async fn read_into(&self, offset: u64, buffer: &mut [u8]) -> Result<ReadInto> {
        self.settle_for_reading().await;
        self.io.read_into(offset, buffer).await
    }

    /// Reads `count` bytes, at most [`Sizes::read`](crate::Sizes::read), as data and holes; fewer only where the file
    /// ends.
    ///
    /// # Errors
    /// As for [`File::read`].
    pub async fn fill(&self, offset: u64, count: u32) -> Result<Segments> {
        self.settle_for_reading().await;
        self.io.fill(offset, count).await
    }
}

impl Io {
    /// Like [`File::read`].
    pub(crate) async fn read(&self, offset: u64, count: u32) -> Result<Data> {
        self.segments(offset, count).await.map(Segments::into_data)
    }

    /// Like [`File::read_into`]. Each reply brings at least one byte, or the end.
    pub(crate) async fn read_into(&self, offset: u64, buffer: &mut [u8]) -> Result<ReadInto> {
        let wanted = buffer.len().min(self.mount.sizes().read as usize);
        let mut read = ReadInto { count: 0, is_eof: false };
        loop {
            let (at, left) = (offset.saturating_add(read.count as u64), &mut buffer[read.count..wanted]);
            let part = self.segments(at, left.len() as u32).await?;
            part.place(at, left);
            read = ReadInto { count: read.count + part.length() as usize, is_eof: part.is_eof };
            if read.is_eof || read.count == wanted {
                return Ok(read);
            }
        }
    }

    /// Like [`File::fill`]. Each reply brings at least one byte, or the end.
    pub(crate) async fn fill(&self, offset: u64, count: u32) -> Result<Segments> {
        let wanted = count.min(self.mount.sizes().read);
        let mut all = self.segments(offset, wanted).await?;
        let mut done = all.length();
        while !all.is_eof && done < u64::from(wanted) {
            let part = self.segments(offset.saturating_add(done), wanted - done as u32).await?;
            done += part.length();
            all.segments.extend(part.segments);
            all.is_eof = part.is_eof;
        }
        Ok(all)
    }

    /// Sends one READ_PLUS, or one READ if the server has no READ_PLUS that works. Any reply may show that: others
    /// in flight were sent before.
    async fn segments(&self, offset: u64, count: u32) -> Result<Segments> {
        let Some(open) = self.open.as_ref().filter(|_| self.mount.uses_read_plus()) else {
            return Ok(Segments::from_data(offset, self.read_data(offset, count).await?));
        };
        let is_end = match self.read_plus(open, offset, count).await {
            // Some servers report the end of a file too early: a READ shows whether this is the end.
            Ok(none) if none.segments.is_empty() && count > 0 => true,
            // NFS-Ganesha 4.3 returns an empty segment for files with data and holes.
            Err(error) if is_without_read_plus(&error) => false,
            other => return other,
        };
        let data = self.read_data(offset, count).await?;
        if !is_end || !data.bytes.is_empty() {
            self.mount.forgo_read_plus();
        }
        Ok(Segments::from_data(offset, data))
    }

    pub(super) async fn read_plus(&self, open: &OpenFile, offset: u64, count: u32) -> Result<Segments> {
        let count = count.min(self.mount.sizes().read);
        under_stateid!(self, open, stateid => v4::read_plus(open.client(), &self.handle, stateid, offset, count))
    }

    async fn read_data(&self, offset: u64, count: u32) -> Result<Data> {
        self.check_kept("READ")?;
        let Some(open) = &self.open else {
            let asked = self.mount.ask();
            let (data, attributes) = self.mount.read_and_look(&self.handle, offset, count).await?;
            attributes.iter().for_each(|attributes| self.mount.learn(asked, &self.handle, attributes));
            return Ok(data);
        };
        let count = count.min(self.mount.sizes().read);
        under_stateid!(self, open, stateid => open.client().read(&self.handle, stateid, offset, count))
    }
}

impl Mount {
    /// Whether READ_PLUS is in use: the version has it, the options allow it, and every reply so far was correct.
    pub fn uses_read_plus(&self) -> bool {
        self.0.has_read_plus.load(Ordering::Relaxed)
    }

    fn forgo_read_plus(&self) {
        if self.0.has_read_plus.swap(false, Ordering::Relaxed) {
            tracing::debug!(server = %self.server(), "the server has no READ_PLUS that works: reading with READ");
        }
    }
}

/// Whether the server has no READ_PLUS, none for holes (RFC 7862 §15.10.4), or a faulty one.
fn is_without_read_plus(error: &Error) -> bool {
    matches!(
        error.reason(),
        Reason::Status(Status::NotSupported | Status::V4(nfs4::Status::UnionNotSupp))
            | Reason::Lie(_)
            | Reason::BadReply(_)
    )
}
