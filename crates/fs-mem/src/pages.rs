//! The data of a regular file.
//!
//! Only written pages exist; everything else below the size reads as zeros. The bytes of a page behind the size are
//! always zero, so that extending the file reveals no truncated data.

use std::collections::BTreeMap;
use std::ops::Range;

use vfs::{Error, Result, Seek};

use crate::space::Supply;

/// The size of a page.
pub(crate) const PAGE_BYTES: usize = 4096;

/// The maximum size of a file: the largest signed 64-bit offset.
pub(crate) const MAX_FILE_BYTES: u64 = i64::MAX.cast_unsigned();

const PAGE: u64 = PAGE_BYTES as u64;

/// The content of a sparse file. Its owner returns [`Pages::used_bytes`] to the supply that writes took from.
#[derive(Default)]
pub(crate) struct Pages {
    size_bytes: u64,
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl Pages {
    /// A file that is one hole.
    ///
    /// # Errors
    /// [`Error::FileTooBig`].
    pub(crate) fn of_size(size_bytes: u64) -> Result<Pages> {
        if size_bytes > MAX_FILE_BYTES {
            return Err(Error::FileTooBig);
        }
        Ok(Pages { size_bytes, pages: BTreeMap::new() })
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE
    }

    /// Copies data from `offset_bytes` on, and returns the number of bytes.
    pub(crate) fn read(&self, offset_bytes: u64, into: &mut [u8]) -> usize {
        let available = self.size_bytes.saturating_sub(offset_bytes);
        let count = usize::try_from(available).map_or(into.len(), |available| available.min(into.len()));
        let mut rest = &mut into[..count];
        let mut at = offset_bytes;
        let mut pages = self.pages.range(offset_bytes / PAGE..).peekable();
        while !rest.is_empty() {
            let start = (at % PAGE) as usize;
            let (part, after) = rest.split_at_mut((PAGE_BYTES - start).min(rest.len()));
            match pages.next_if(|(index, _)| **index == at / PAGE) {
                Some((_, page)) => part.copy_from_slice(&page[start..start + part.len()]),
                None => part.fill(0),
            }
            at += part.len() as u64;
            rest = after;
        }
        count
    }

    /// Writes `data`, or as much of it as `supply` has pages for, and returns the number of bytes.
    ///
    /// # Errors
    /// [`Error::NoSpace`] and [`Error::FileTooBig`] when nothing was written.
    pub(crate) fn write(&mut self, offset_bytes: u64, data: &[u8], supply: &Supply) -> Result<usize> {
        let room = MAX_FILE_BYTES.saturating_sub(offset_bytes);
        let data = &data[..usize::try_from(room).map_or(data.len(), |room| room.min(data.len()))];
        if data.is_empty() {
            return Err(Error::FileTooBig);
        }
        let mut written = 0;
        while written < data.len() {
            match self.write_page(offset_bytes + written as u64, &data[written..], supply) {
                Ok(count) => written += count,
                Err(error) if written == 0 => return Err(error),
                Err(_) => break,
            }
        }
        self.size_bytes = self.size_bytes.max(offset_bytes + written as u64);
        Ok(written)
    }

    /// Writes the part of `data` within the page of `offset_bytes`.
    fn write_page(&mut self, offset_bytes: u64, data: &[u8], supply: &Supply) -> Result<usize> {
        let start = (offset_bytes % PAGE) as usize;
        let part = &data[..data.len().min(PAGE_BYTES - start)];
        match self.pages.get_mut(&(offset_bytes / PAGE)) {
            Some(page) => page[start..start + part.len()].copy_from_slice(part),
            None => {
                supply.take(PAGE)?;
                self.pages.insert(offset_bytes / PAGE, new_page(start, part));
            }
        }
        Ok(part.len())
    }

    /// The start of the next data or hole at or after `offset_bytes`. Pages are data, and a hole follows the end.
    pub(crate) fn seek(&self, offset_bytes: u64, what: Seek) -> Option<u64> {
        if offset_bytes >= self.size_bytes {
            return None;
        }
        let first = offset_bytes / PAGE;
        let mut pages = self.pages.range(first..).map(|(&index, _)| index);
        match what {
            Seek::Data => pages.next().map(|index| offset_bytes.max(index * PAGE)).filter(|&at| at < self.size_bytes),
            Seek::Hole => {
                let gap =
                    (first..).zip(pages).find(|(expected, index)| expected != index).map(|(expected, _)| expected);
                let gap =
                    gap.unwrap_or_else(|| self.pages.range(first..).next_back().map_or(first, |(last, _)| last + 1));
                Some(offset_bytes.max(gap * PAGE).min(self.size_bytes))
            }
        }
    }

    /// Allocates the missing pages of a range, all or none, and extends the file to its end.
    ///
    /// # Errors
    /// [`Error::NoSpace`], [`Error::FileTooBig`].
    pub(crate) fn allocate(&mut self, range_bytes: &Range<u64>, supply: &Supply) -> Result<()> {
        if range_bytes.end > MAX_FILE_BYTES {
            return Err(Error::FileTooBig);
        }
        let indexes = range_bytes.start / PAGE..range_bytes.end.div_ceil(PAGE);
        let there = self.pages.range(indexes.clone()).count() as u64;
        supply.take((indexes.end - indexes.start - there) * PAGE)?;
        for index in indexes {
            self.pages.entry(index).or_insert_with(|| new_page(0, &[]));
        }
        self.size_bytes = self.size_bytes.max(range_bytes.end);
        Ok(())
    }

    /// Makes a range a hole: frees whole pages, and zeroes parts of pages.
    pub(crate) fn deallocate(&mut self, range_bytes: &Range<u64>, supply: &Supply) {
        let end = range_bytes.end.min(self.size_bytes.next_multiple_of(PAGE));
        let first_whole = range_bytes.start.div_ceil(PAGE);
        let mut rest = self.pages.split_off(&first_whole);
        let mut behind = rest.split_off(&(end / PAGE).max(first_whole));
        self.pages.append(&mut behind);
        supply.give_back(rest.len() as u64 * PAGE);
        self.zero_in_page(range_bytes.start, end);
        self.zero_in_page((end / PAGE * PAGE).max(range_bytes.start), end);
    }

    /// Zeroes the bytes from `start` to `end`, or to the end of the page of `start`.
    fn zero_in_page(&mut self, start: u64, end: u64) {
        let index = start / PAGE;
        let page_start = index * PAGE;
        if let Some(page) = self.pages.get_mut(&index)
            && start < end
        {
            page[(start - page_start) as usize..(end - page_start).min(PAGE) as usize].fill(0);
        }
    }

    /// Truncates the file, or extends it with a hole.
    ///
    /// # Errors
    /// [`Error::FileTooBig`].
    pub(crate) fn set_size(&mut self, size_bytes: u64, supply: &Supply) -> Result<()> {
        if size_bytes > MAX_FILE_BYTES {
            return Err(Error::FileTooBig);
        }
        if size_bytes < self.size_bytes {
            let cut = self.pages.split_off(&size_bytes.div_ceil(PAGE));
            supply.give_back(cut.len() as u64 * PAGE);
            if let Some(last) = self.pages.get_mut(&(size_bytes / PAGE)) {
                last[(size_bytes % PAGE) as usize..].fill(0);
            }
        }
        self.size_bytes = size_bytes;
        Ok(())
    }
}

/// A page with `part` at `start` and zeros around it.
fn new_page(start: usize, part: &[u8]) -> Box<[u8]> {
    if part.len() == PAGE_BYTES {
        return Box::from(part);
    }
    let mut page = vec![0; PAGE_BYTES].into_boxed_slice();
    page[start..start + part.len()].copy_from_slice(part);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(pages: &Pages) -> Vec<u8> {
        let mut bytes = vec![0xee; pages.size_bytes() as usize + 1];
        let count = pages.read(0, &mut bytes);
        bytes.truncate(count);
        bytes
    }

    #[test]
    fn bytes_cut_off_do_not_come_back_when_the_file_grows() {
        let (mut pages, supply) = (Pages::default(), Supply::new(1 << 20));
        pages.write(0, &[7; 10_000], &supply).unwrap();
        pages.set_size(5_000, &supply).unwrap();
        pages.set_size(9_000, &supply).unwrap();
        let bytes = read_all(&pages);
        assert_eq!(bytes.len(), 9_000);
        assert!(bytes[..5_000].iter().all(|&byte| byte == 7));
        assert!(bytes[5_000..].iter().all(|&byte| byte == 0));
        assert_eq!(pages.used_bytes(), 2 * PAGE);
    }

    #[test]
    fn hole_takes_no_space_and_reads_as_zeros() {
        let (mut pages, supply) = (Pages::default(), Supply::new(2 * PAGE));
        pages.write(5 << 30, b"end", &supply).unwrap();
        let mut bytes = [1; 8192];
        assert_eq!(pages.read((5 << 30) - 8000, &mut bytes), 8003);
        assert!(bytes[..8000].iter().all(|&byte| byte == 0));
        assert_eq!(&bytes[8000..8003], b"end");
        assert_eq!(pages.used_bytes(), PAGE);
    }

    #[test]
    fn write_that_only_half_fits_is_short_and_the_next_one_finds_no_space() {
        let (mut pages, supply) = (Pages::default(), Supply::new(PAGE));
        assert_eq!(pages.write(4000, &[3; 200], &supply).unwrap(), 96);
        assert_eq!(pages.size_bytes(), 4096);
        assert!(matches!(pages.write(4096, &[3; 104], &supply), Err(Error::NoSpace)));
        assert_eq!(pages.write(0, &[4; 4096], &supply).unwrap(), 4096);
    }

    #[test]
    fn offset_past_the_largest_file_is_refused_without_overflow() {
        let (mut pages, supply) = (Pages::default(), Supply::new(1 << 20));
        assert!(matches!(pages.write(u64::MAX, b"x", &supply), Err(Error::FileTooBig)));
        assert!(matches!(pages.write(MAX_FILE_BYTES, b"x", &supply), Err(Error::FileTooBig)));
        assert_eq!(pages.write(MAX_FILE_BYTES - 1, b"xy", &supply).unwrap(), 1);
        assert!(matches!(pages.set_size(MAX_FILE_BYTES + 1, &supply), Err(Error::FileTooBig)));
        assert_eq!(pages.read(u64::MAX, &mut [0; 4]), 0);
    }

    #[test]
    fn cutting_gives_pages_back_to_the_supply() {
        let (mut pages, supply) = (Pages::default(), Supply::new(4 * PAGE));
        pages.write(0, &[1; 4 * PAGE_BYTES], &supply).unwrap();
        pages.set_size(PAGE + 1, &supply).unwrap();
        assert_eq!(supply.free(), 2 * PAGE);
        pages.set_size(0, &supply).unwrap();
        assert_eq!(supply.free(), 4 * PAGE);
    }

    #[test]
    fn seeks_find_pages_and_gaps_and_the_hole_behind_the_end() {
        let (mut pages, supply) = (Pages::default(), Supply::new(1 << 20));
        pages.write(2 * PAGE, &[1; PAGE_BYTES + 10], &supply).unwrap();
        pages.write(6 * PAGE + 5, b"x", &supply).unwrap();
        assert_eq!(pages.seek(0, Seek::Data), Some(2 * PAGE));
        assert_eq!(pages.seek(0, Seek::Hole), Some(0));
        assert_eq!(pages.seek(2 * PAGE + 7, Seek::Data), Some(2 * PAGE + 7));
        assert_eq!(pages.seek(2 * PAGE + 7, Seek::Hole), Some(4 * PAGE));
        assert_eq!(pages.seek(4 * PAGE, Seek::Data), Some(6 * PAGE));
        assert_eq!(pages.seek(6 * PAGE, Seek::Hole), Some(6 * PAGE + 6));
        assert_eq!(pages.seek(6 * PAGE + 6, Seek::Hole), None);
        pages.set_size(9 * PAGE, &supply).unwrap();
        assert_eq!(pages.seek(7 * PAGE, Seek::Data), None);
        assert_eq!(pages.seek(u64::MAX, Seek::Data), None);
    }

    #[test]
    fn punched_range_reads_as_zeros_frees_its_pages_and_keeps_the_size() {
        for (start, end) in [(0, 5 * PAGE), (10, 20), (10, PAGE + 20), (PAGE - 1, 3 * PAGE + 1), (PAGE, 2 * PAGE)] {
            let (mut pages, supply) = (Pages::default(), Supply::new(1 << 20));
            let mut expected = vec![7; 4 * PAGE_BYTES + 100];
            pages.write(0, &expected, &supply).unwrap();
            pages.deallocate(&(start..end), &supply);
            let cut = expected.len().min(end as usize);
            expected[start as usize..cut].fill(0);
            assert_eq!(read_all(&pages), expected, "{start}..{end}");
            assert_eq!(pages.used_bytes(), supply.limit() - supply.free(), "{start}..{end}");
        }
    }

    #[test]
    fn allocated_range_takes_space_all_or_nothing_and_is_data_of_zeros() {
        let (mut pages, supply) = (Pages::default(), Supply::new(4 * PAGE));
        pages.write(PAGE, b"kept", &supply).unwrap();
        assert!(matches!(pages.allocate(&(0..5 * PAGE), &supply), Err(Error::NoSpace)));
        assert_eq!((pages.size_bytes(), supply.free()), (PAGE + 4, 3 * PAGE));
        pages.allocate(&(10..3 * PAGE - 1), &supply).unwrap();
        assert_eq!((pages.size_bytes(), supply.free()), (3 * PAGE - 1, PAGE));
        assert_eq!(pages.seek(0, Seek::Hole), Some(3 * PAGE - 1));
        assert_eq!(&read_all(&pages)[PAGE_BYTES..PAGE_BYTES + 5], b"kept\0");
        assert!(matches!(pages.allocate(&(0..u64::MAX), &supply), Err(Error::FileTooBig)));
    }
}
