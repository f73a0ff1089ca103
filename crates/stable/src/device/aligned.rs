//! Memory for direct I/O.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::PAGE_BYTES;

/// Page-aligned memory, as direct I/O requires. The kernel allocates each page when it is first touched.
pub struct AlignedBuffer {
    memory: Box<[u8]>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// Allocates `length` bytes, all zero.
    pub fn new(length: usize) -> AlignedBuffer {
        let memory = vec![0; length + PAGE_BYTES].into_boxed_slice();
        let start = memory.as_ptr().addr().wrapping_neg() % PAGE_BYTES;
        AlignedBuffer { memory, start, length }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedBuffer").field("length", &self.length).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_begins_at_a_page_and_has_the_length_asked_for() {
        for length in [0, 1, PAGE_BYTES, 3 * PAGE_BYTES + 5, 1 << 20] {
            let mut buffer = AlignedBuffer::new(length);
            assert_eq!(buffer.as_ptr().addr() % PAGE_BYTES, 0);
            assert_eq!(buffer.len(), length);
            buffer.fill(7);
            assert!(buffer.iter().all(|&byte| byte == 7));
        }
    }
}
