//! The extents of a range of a file, as far as they are worth a seek.

use std::ops::Range;

use vfs::{Error, Seek};

use super::super::failure::OpResult;
use crate::node::Node;
use crate::transfer::Readable;

/// The shortest hole that is sought, in bytes. Reading a shorter one costs less than seeking its two ends and reading
/// the data on each side by itself.
const LARGE_HOLE_BYTES: u64 = 32 << 10;

/// The most large holes to seek for one reply; two seeks each, and one more to check it.
const MAX_LARGE_HOLES: usize = 128;

/// A range of the file, and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    Data(Range<u64>),
    Hole(Range<u64>),
    /// Data, and perhaps small holes.
    Mixed(Range<u64>),
}

/// The extents of a range of the file. `None` means one data segment: holes are unknown, or the file has as much space
/// as bytes and so hardly any hole.
pub(super) fn find(node: &Node<'_>, open: &Readable, range: &Range<u64>) -> OpResult<Option<Vec<Extent>>> {
    if range.is_empty() || open.attributes.used_bytes >= open.attributes.size_bytes {
        return Ok(None);
    }
    let seek = |from: u64, what| -> vfs::Result<u64> {
        let found = open.file.seek(&node.context, from, what)?;
        Ok(found.unwrap_or(range.end).clamp(from, range.end))
    };
    let (mut extents, mut at) = (Vec::new(), range.start);
    for _ in 0..MAX_LARGE_HOLES {
        let data = match seek(at, Seek::Data) {
            Err(Error::NotSupported) => return Ok(None),
            found => found?,
        };
        if (1..LARGE_HOLE_BYTES).contains(&(data - at)) {
            break;
        }
        if data > at {
            extents.push(Extent::Hole(at..data));
        }
        at = if data < range.end { seek(data, Seek::Hole)? } else { data };
        if at > data {
            extents.push(Extent::Data(data..at));
        }
        if at == range.end {
            return Ok(Some(extents));
        }
    }
    push_mixed(&mut extents, at..range.end);
    Ok(Some(extents))
}

/// Appends what is still to be searched, in one piece with data before it.
fn push_mixed(extents: &mut Vec<Extent>, mut range: Range<u64>) {
    if let Some(Extent::Data(data)) = extents.last() {
        range.start = data.start;
        extents.pop();
    }
    extents.push(Extent::Mixed(range));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_before_small_holes_is_read_with_them() {
        let mut extents = vec![Extent::Hole(0..10), Extent::Data(10..20)];
        push_mixed(&mut extents, 20..30);
        assert_eq!(extents, [Extent::Hole(0..10), Extent::Mixed(10..30)]);
        let mut extents = vec![Extent::Hole(0..10)];
        push_mixed(&mut extents, 10..20);
        assert_eq!(extents, [Extent::Hole(0..10), Extent::Mixed(10..20)]);
    }
}
