//! New sizes of a file that storage has.
//!
//! Such a size is not set again: a program may have changed it since. Data of the log from before it, and beyond it,
//! are gone, and others may be in their place.

use crate::record::RecordTime;

/// The new sizes of a file, in the order of the log.
#[derive(Debug, Default, Clone)]
pub(super) struct NewSizes {
    all: Vec<NewSize>,
    /// Those in storage, with the smallest size from each on.
    stored: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct NewSize {
    /// The end of the record.
    end: u64,
    size_bytes: u64,
    /// The file's ctime with it, if the log has that.
    set_at: Option<RecordTime>,
}

impl NewSizes {
    /// The file is going to get this size; the record ends here.
    pub(super) fn announce(&mut self, size_bytes: u64, end: u64) {
        self.all.push(NewSize { end, size_bytes, set_at: None });
    }

    /// An announced size was set at this ctime, if there is one.
    pub(super) fn set(&mut self, at: RecordTime) {
        if let Some(last) = self.all.last_mut() {
            last.set_at.get_or_insert(at);
        }
    }

    /// Adds those that another export has of the same file.
    pub(super) fn take_over(&mut self, other: &mut NewSizes) {
        self.all.append(&mut other.all);
        self.all.sort_by_key(|size| size.end);
    }

    /// Storage has what was set before this time.
    pub(super) fn note_stored(&mut self, before: RecordTime) {
        let is_stored = |size: &&NewSize| size.set_at.is_some_and(|at| at < before);
        let mut smallest_bytes = u64::MAX;
        let from_the_end = self.all.iter().filter(is_stored).rev().map(|size| {
            smallest_bytes = smallest_bytes.min(size.size_bytes);
            (size.end, smallest_bytes)
        });
        self.stored = from_the_end.collect();
        self.stored.reverse();
    }

    /// Whether storage has the size whose record ends here.
    pub(super) fn is_stored(&self, end: u64) -> bool {
        self.stored.binary_search_by_key(&end, |size| size.0).is_ok()
    }

    /// How far data reach, of which the record ends here.
    pub(super) fn limit_bytes(&self, end: u64) -> u64 {
        let later = self.stored.partition_point(|size| size.0 <= end);
        self.stored.get(later).map_or(u64::MAX, |size| size.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_reach_to_the_smallest_later_size_that_is_stored() {
        let mut sizes = NewSizes::default();
        for (size_bytes, end) in [(100, 10), (300, 20), (50, 30), (7, 40)] {
            sizes.announce(size_bytes, end);
            if end < 40 {
                sizes.set(RecordTime::from_ns(end));
            }
        }
        assert_eq!((sizes.limit_bytes(5), sizes.is_stored(10)), (u64::MAX, false));
        sizes.note_stored(RecordTime::from_ns(30));
        assert_eq!([5, 15, 25].map(|end| sizes.limit_bytes(end)), [100, 300, u64::MAX]);
        sizes.note_stored(RecordTime::from_ns(1000));
        assert_eq!([5, 15, 25, 35].map(|end| sizes.limit_bytes(end)), [50, 50, 50, u64::MAX]);
        assert_eq!([10, 15, 40].map(|end| sizes.is_stored(end)), [true, false, false]);
    }
}
