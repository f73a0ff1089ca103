//! The bytes of a disk. Copies share what is the same in both; what was never written takes no memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

const PAGE_BYTES: u64 = 4096;

type Page = [u8; PAGE_BYTES as usize];

const ZEROS: Page = [0; PAGE_BYTES as usize];

#[derive(Clone, Default)]
pub struct Image {
    /// Pages that are not all zeros.
    pages: BTreeMap<u64, Arc<Page>>,
}

impl Image {
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        for (number, in_page, here) in pages(offset, into.len()) {
            match self.pages.get(&number) {
                Some(page) => into[here].copy_from_slice(&page[in_page]),
                None => into[here].fill(0),
            }
        }
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) {
        for (number, in_page, here) in pages(offset, data.len()) {
            let new = &data[here];
            let is_zeros = *new == ZEROS[..new.len()];
            if is_zeros && (new.len() == ZEROS.len() || !self.pages.contains_key(&number)) {
                self.pages.remove(&number);
                continue;
            }
            let page = self.pages.entry(number).or_insert_with(|| Arc::new(ZEROS));
            Arc::make_mut(page)[in_page].copy_from_slice(new);
        }
    }

    /// Makes bytes zeros.
    pub fn clear(&mut self, range: Range<u64>) {
        let whole = range.start.next_multiple_of(PAGE_BYTES)..range.end / PAGE_BYTES * PAGE_BYTES;
        if whole.is_empty() {
            return self.write(range.start, &vec![0; (range.end - range.start) as usize]);
        }
        let numbers = whole.start / PAGE_BYTES..whole.end / PAGE_BYTES;
        let inside: Vec<u64> = self.pages.range(numbers).map(|(number, _)| *number).collect();
        inside.iter().for_each(|number| drop(self.pages.remove(number)));
        self.write(range.start, &vec![0; (whole.start - range.start) as usize]);
        self.write(whole.end, &vec![0; (range.end - whole.end) as usize]);
    }

    /// How many bytes of memory it takes, as far as they are not shared.
    pub fn used_bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE_BYTES
    }
}

/// The pages that a range lies in: the number of each, which bytes of it, and which of the range.
fn pages(offset: u64, length: usize) -> impl Iterator<Item = (u64, Range<usize>, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == length {
            return None;
        }
        let (number, start) = ((offset + at as u64) / PAGE_BYTES, ((offset + at as u64) % PAGE_BYTES) as usize);
        let count = (length - at).min(PAGE_BYTES as usize - start);
        at += count;
        Some((number, start..start + count, at - count..at))
    })
}

#[test]
fn copies_differ_in_what_was_written_to_one_and_zeros_take_no_memory() {
    let mut image = Image::default();
    image.write(4000, &[1; 5000]);
    let copy = image.clone();
    image.write(4096, &[2; 10]);
    image.clear(4000..4096);
    let mut bytes = [9; 5200];
    image.read(3900, &mut bytes);
    assert_eq!(bytes[..196], [0; 196]);
    assert_eq!((&bytes[196..206], &bytes[206..5100], &bytes[5100..]), (&[2; 10][..], &[1; 4894][..], &[0; 100][..]));
    copy.read(3900, &mut bytes);
    assert_eq!(bytes[100..5100], [1; 5000]);
    assert_eq!(copy.used_bytes(), 3 * PAGE_BYTES);
    image.clear(0..100_000);
    assert_eq!(image.used_bytes(), 0);
}
