//! Buffers that are used again.

use buffer::Buffer;

/// A loop's free buffers, for incomplete and for waiting messages.
#[derive(Debug, Default)]
pub(crate) struct SpareBuffers {
    buffers: Vec<Buffer>,
    bytes: usize,
}

impl SpareBuffers {
    /// How many buffers are kept.
    const MAX_BUFFERS: usize = 64;

    /// How much memory is kept, over all buffers.
    const MAX_BYTES: usize = 8 << 20;

    /// The smallest buffer that is made.
    const MIN_CAPACITY: usize = 512;

    /// A buffer is not used for messages this many times smaller, lest small messages hold large memory.
    const MAX_WASTE: usize = 4;

    /// An empty buffer that holds `capacity` bytes.
    pub(crate) fn take(&mut self, capacity: usize) -> Buffer {
        let capacity = capacity.max(Self::MIN_CAPACITY);
        let fits = capacity..=capacity * Self::MAX_WASTE;
        match self.buffers.iter().rposition(|buffer| fits.contains(&buffer.capacity())) {
            Some(index) => {
                let buffer = self.buffers.swap_remove(index);
                self.bytes -= buffer.capacity();
                buffer
            }
            None => Buffer::with_capacity(Self::rounded(capacity)),
        }
    }

    /// Lets all memory go.
    pub(crate) fn clear(&mut self) {
        *self = SpareBuffers::default();
    }

    /// Takes a buffer back, or lets its memory go when enough is kept.
    pub(crate) fn give(&mut self, mut buffer: Buffer) {
        let capacity = buffer.capacity();
        if capacity > 0 && self.buffers.len() < Self::MAX_BUFFERS && self.bytes + capacity <= Self::MAX_BYTES {
            buffer.clear();
            self.bytes += capacity;
            self.buffers.push(buffer);
        }
    }

    /// Takes several buffers back.
    pub(crate) fn give_all(&mut self, buffers: Vec<Buffer>) {
        buffers.into_iter().for_each(|buffer| self.give(buffer));
    }

    /// A capacity that makes buffers for messages of similar size alike, and wastes at most a page of large ones.
    fn rounded(capacity: usize) -> usize {
        const PAGE: usize = 4096;
        if capacity < PAGE { capacity.next_power_of_two() } else { capacity.next_multiple_of(PAGE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_is_used_again_for_a_message_of_its_size_only() {
        let mut spare = SpareBuffers::default();
        let large = spare.take(1 << 20);
        let (place, capacity) = (large.as_slice().as_ptr(), large.capacity());
        spare.give(large);
        assert!(spare.take(100).capacity() < 4096);
        let again = spare.take(1_000_000);
        assert_eq!((again.as_slice().as_ptr(), again.capacity()), (place, capacity));
    }

    #[test]
    fn memory_kept_is_limited() {
        let mut spare = SpareBuffers::default();
        for _ in 0..10 {
            spare.give(Buffer::with_capacity(1 << 20));
        }
        assert_eq!((spare.buffers.len(), spare.bytes), (8, 8 << 20));
    }
}
