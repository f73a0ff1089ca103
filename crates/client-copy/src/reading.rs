use std::ops::Range;

use client_files::{Entry, File, Handle, Mount, OpenOptions, Result, Segment, Segments, Version};

/// How much data and holes are read with READ_PLUS before a SEEK skips the next hole, in bytes. So small holes cost no
/// SEEK, and a very long one costs few READ_PLUS.
const SPAN_BYTES: u64 = 16 << 20;

/// A file on a server that is read to be copied.
#[derive(Debug)]
pub(super) struct Source {
    mount: Mount,
    handle: Handle,
    /// Open only if SEEK and READ_PLUS can tell holes: otherwise an OPEN costs more than it gains.
    file: Option<File>,
    /// Whether the file has holes: it takes less room than its length.
    pub(super) has_holes: bool,
}

impl Source {
    pub(super) async fn open(mount: &Mount, from: &Entry) -> Result<Source> {
        let has_holes = from.attributes.used_bytes < from.attributes.size_bytes;
        let file = match has_holes && mount.version() == Version::V4_2 {
            true => Some(mount.open_handle(&from.handle, &OpenOptions::read()).await?),
            false => None,
        };
        Ok(Source { mount: mount.clone(), handle: from.handle, file, has_holes })
    }

    /// The next range to read from `offset` on in a file of `size` bytes, or `None` when only a hole or nothing
    /// follows. [`Source::read`] finds the holes in it, if READ_PLUS is in use.
    pub(super) async fn next_range(&self, offset: u64, size: u64) -> Result<Option<Range<u64>>> {
        match &self.file {
            Some(file) if offset < size && self.mount.uses_read_plus() => {
                let start = file.seek_data(offset).await?.filter(|start| *start < size);
                Ok(start.map(|start| start..size.min(start.saturating_add(SPAN_BYTES))))
            }
            _ => self.next_data(offset, size).await,
        }
    }

    /// The next data from `offset` on in a file of `size` bytes, or `None` when only a hole or nothing follows.
    pub(super) async fn next_data(&self, offset: u64, size: u64) -> Result<Option<Range<u64>>> {
        if offset >= size {
            return Ok(None);
        }
        let Some(file) = &self.file else { return Ok(Some(offset..size)) };
        let Some(start) = file.seek_data(offset).await?.filter(|start| *start < size) else { return Ok(None) };
        let end = file.seek_hole(start).await?.unwrap_or(size).min(size);
        // After a truncation in between, or when the hole begins at the data, everything counts as data.
        Ok(Some(start..if end > start { end } else { size }))
    }

    /// Whether a file without further data now ends before `size`: what is missing is then no hole.
    pub(super) async fn is_cut(&self, size: u64) -> Result<bool> {
        match &self.file {
            Some(file) => Ok(file.getattr().await?.size_bytes < size),
            None => Ok(false),
        }
    }

    pub(super) async fn read(&self, offset: u64, count: u32) -> Result<Segments> {
        if let Some(file) = &self.file {
            return file.fill(offset, count).await;
        }
        let read = self.mount.read(&self.handle, offset, count).await?;
        let segments = if read.bytes.is_empty() { vec![] } else { vec![Segment::Data { offset, bytes: read.bytes }] };
        Ok(Segments { segments, is_eof: read.is_eof })
    }
}
