use std::ops::Range;

use crate::{Entry, File, Handle, Mount, OpenOptions, Result, Segment, Segments, Version};

/// A file on a server that is read to be copied.
#[derive(Debug)]
pub(super) struct Source {
    mount: Mount,
    handle: Handle,
    /// Only where holes can be told: otherwise to open it costs more than it brings.
    file: Option<File>,
    /// Whether the file has holes, of which not every server tells: a file that takes less than its length has some.
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

    /// The next data from `offset` on in a file of `size` bytes, or `None` when only a hole or nothing follows.
    pub(super) async fn next_data(&self, offset: u64, size: u64) -> Result<Option<Range<u64>>> {
        let Some(file) = &self.file else { return Ok((offset < size).then_some(offset..size)) };
        let Some(start) = file.seek_data(offset).await?.filter(|start| *start < size) else { return Ok(None) };
        let end = file.seek_hole(start).await?.unwrap_or(size).min(size);
        // Whoever cut the file in between left nothing there; a hole that begins where data does is a change as well.
        Ok(Some(start..if end > start { end } else { size }))
    }

    /// Whether the file ends before `size` now, although it has no data from where it was looked for last: then what is missing is
    /// no hole.
    pub(super) async fn is_cut(&self, size: u64) -> Result<bool> {
        match &self.file {
            Some(file) => Ok(file.getattr().await?.size_bytes < size),
            None => Ok(false),
        }
    }

    /// Reads up to `count` bytes.
    pub(super) async fn read(&self, offset: u64, count: u32) -> Result<Segments> {
        if let Some(file) = &self.file {
            return file.fill(offset, count).await;
        }
        let read = self.mount.read(&self.handle, offset, count).await?;
        let segments = if read.bytes.is_empty() { vec![] } else { vec![Segment::Data { offset, bytes: read.bytes }] };
        Ok(Segments { segments, is_eof: read.is_eof })
    }
}
