//! Files with data and holes.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// What a file consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Layout {
    Data,
    Hole,
    /// Segments of data and holes of this many bytes, in turn.
    Mixed {
        segment_bytes: u64,
        begins_with_data: bool,
    },
}

const UNIT_BYTES: u64 = 512;

impl Layout {
    /// The layout that the source calls so, such as `mixed-16d`, with segments in this unit.
    pub(super) fn parse(name: &str, unit_bytes: u64) -> Option<Layout> {
        let mixed = |text: &str, begins_with_data| {
            Some(Layout::Mixed { segment_bytes: text.parse::<u64>().ok()? * unit_bytes, begins_with_data })
        };
        match name.strip_prefix("mixed-") {
            Some(rest) => {
                let of_data = rest.strip_suffix('d').map(|text| (text, true));
                let (text, begins_with_data) = of_data.or(rest.strip_suffix('h').map(|text| (text, false)))?;
                mixed(text, begins_with_data)
            }
            None if name == "data" => Some(Layout::Data),
            None if name == "hole" => Some(Layout::Hole),
            None => None,
        }
    }

    /// The name of its file.
    pub(super) fn file_name(self) -> String {
        match self {
            Layout::Data => "data".to_owned(),
            Layout::Hole => "hole".to_owned(),
            Layout::Mixed { segment_bytes, begins_with_data } => {
                format!("mixed-{}k-{}", segment_bytes >> 10, if begins_with_data { "data" } else { "hole" })
            }
        }
    }

    /// How many bytes of such a file are data.
    pub(super) fn data_bytes(self, bytes: u64) -> u64 {
        self.segments(bytes).map(|(_, length)| length).sum()
    }

    /// Makes such a file, brings it to the disk, and makes sure that its holes are holes.
    pub(super) fn make(self, path: &Path, bytes: u64) -> io::Result<()> {
        let file = File::create(path)?;
        file.set_len(bytes)?;
        let most = self.segments(bytes).map(|(_, length)| length).max().unwrap_or(0);
        let chunk: Vec<u8> = (0..most).map(|index| (index ^ (index >> 8)) as u8 | 1).collect();
        for (offset, length) in self.segments(bytes) {
            file.write_all_at(&chunk[..length as usize], offset)?;
        }
        file.sync_all()?;
        let (is, must) = (file.metadata()?.blocks() * UNIT_BYTES, self.data_bytes(bytes));
        // A file system may need blocks of its own for a file's map.
        if is > must + must / 8 + (1 << 20) || is < must {
            return Err(io::Error::other(format!("{is} bytes of it are on the disk, and {must} are data")));
        }
        Ok(())
    }

    /// Where data begins, and how long it is.
    fn segments(self, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
        /// What is written at once where all is data.
        const CHUNK_BYTES: u64 = 1 << 20;
        let (first, length, step) = match self {
            Layout::Data => (0, CHUNK_BYTES, CHUNK_BYTES),
            Layout::Hole => (bytes, 0, CHUNK_BYTES),
            Layout::Mixed { segment_bytes, begins_with_data } => {
                (if begins_with_data { 0 } else { segment_bytes }, segment_bytes, 2 * segment_bytes)
            }
        };
        (first..bytes).step_by(step as usize).map(move |offset| (offset, length.min(bytes - offset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_source_are_layouts_in_both_units() {
        let mixed = |segment_bytes, begins_with_data| Some(Layout::Mixed { segment_bytes, begins_with_data });
        assert_eq!(Layout::parse("mixed-16d", 1024), mixed(16_384, true));
        assert_eq!(Layout::parse("mixed-4h", 4096), mixed(16_384, false));
        assert_eq!((Layout::parse("data", 1), Layout::parse("hole", 1)), (Some(Layout::Data), Some(Layout::Hole)));
        assert_eq!([Layout::parse("mixed-d", 1), Layout::parse("mixed-4", 1), Layout::parse("x", 1)], [None; 3]);
    }

    #[test]
    fn mixed_files_are_half_data_and_begin_as_they_are_named() {
        let layout = |begins_with_data| Layout::Mixed { segment_bytes: 4096, begins_with_data };
        assert_eq!(layout(true).segments(16_384).collect::<Vec<_>>(), [(0, 4096), (8192, 4096)]);
        assert_eq!(layout(false).segments(16_384).collect::<Vec<_>>(), [(4096, 4096), (12_288, 4096)]);
        assert_eq!((Layout::Data.data_bytes(3 << 20), Layout::Hole.data_bytes(1 << 20)), (3 << 20, 0));
    }
}
