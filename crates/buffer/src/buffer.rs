use std::collections::TryReserveError;

/// A buffer of written bytes, in memory that is always initialised.
///
/// The memory after the written bytes contains old data of this process. It never leaves the process, because only
/// [`Buffer::advance`] counts bytes as written, and its caller has just filled them.
#[derive(Debug, Default)]
pub struct Buffer {
    memory: Vec<u8>,
    written: usize,
}

impl Buffer {
    /// The smallest memory of a growing buffer, in bytes.
    pub const MIN_CAPACITY: usize = 4096;

    /// Makes an empty buffer without memory.
    pub const fn new() -> Buffer {
        Buffer { memory: Vec::new(), written: 0 }
    }

    /// Makes an empty buffer that can hold `capacity` bytes without growing.
    ///
    /// # Panics
    /// When memory runs out, like [`Buffer::space`].
    pub fn with_capacity(capacity: usize) -> Buffer {
        let mut buffer = Buffer::new();
        buffer.enlarge(capacity).unwrap_or_else(|error| no_memory(capacity, &error));
        buffer
    }

    /// The bytes written so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.memory[..self.written]
    }

    /// The bytes written so far, for corrections.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.memory[..self.written]
    }

    /// The number of bytes written.
    pub fn len(&self) -> usize {
        self.written
    }

    /// Whether no bytes were written.
    pub fn is_empty(&self) -> bool {
        self.written == 0
    }

    /// The number of bytes that the buffer can hold without growing.
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Removes everything after the first `length` bytes.
    pub fn truncate(&mut self, length: usize) {
        self.written = self.written.min(length);
    }

    /// Removes everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.written = 0;
    }

    /// Removes the first `count` bytes and moves the others to the front.
    ///
    /// # Panics
    /// When fewer than `count` bytes were written.
    pub fn consume(&mut self, count: usize) {
        self.memory.copy_within(count..self.written, 0);
        self.written -= count;
    }

    /// Appends `bytes`.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        // With a constant size, this is one comparison and a store.
        match self.memory[self.written..].get_mut(..bytes.len()) {
            Some(free) => free.copy_from_slice(bytes),
            None => self.grow_by(bytes),
        }
        self.written += bytes.len();
    }

    /// Initialised memory for `count` bytes after those written; [`Buffer::advance`] makes them count.
    ///
    /// # Panics
    /// When memory runs out. A sender chooses the size of its messages, so a lack of memory must not end the process.
    /// The code that handles messages catches the panic and closes the sender's connection.
    #[inline]
    pub fn space(&mut self, count: usize) -> &mut [u8] {
        if count > self.memory.len() - self.written {
            self.grow(self.written + count);
        }
        &mut self.memory[self.written..][..count]
    }

    /// Counts `count` bytes of the last [`Buffer::space`] as written.
    ///
    /// # Panics
    /// When the buffer has no such space.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        assert!(count <= self.memory.len() - self.written, "advance past the buffer's memory");
        self.written += count;
    }

    /// Appends arrays, in one step. It takes them by value, since a reference would keep them out of registers.
    #[inline]
    pub fn put_arrays<const M: usize, const N: usize>(&mut self, arrays: [[u8; M]; N]) {
        match self.memory[self.written..].get_mut(..M * N) {
            Some(free) => free.copy_from_slice(arrays.as_flattened()),
            None => self.grow_by_arrays(arrays),
        }
        self.written += M * N;
    }

    #[cold]
    fn grow_by_arrays<const M: usize, const N: usize>(&mut self, arrays: [[u8; M]; N]) {
        self.grow_by(arrays.as_flattened());
    }

    /// Appends bytes for which there is no memory yet, without counting them as written.
    #[cold]
    fn grow_by(&mut self, bytes: &[u8]) {
        self.space(bytes.len()).copy_from_slice(bytes);
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        let capacity = needed.max(self.memory.len() * 2).max(Self::MIN_CAPACITY);
        self.enlarge(capacity).unwrap_or_else(|error| no_memory(capacity, &error));
    }

    fn enlarge(&mut self, capacity: usize) -> Result<(), TryReserveError> {
        self.memory.try_reserve_exact(capacity - self.memory.len())?;
        self.memory.resize(capacity, 0);
        Ok(())
    }
}

#[cold]
fn no_memory(capacity: usize, error: &TryReserveError) -> ! {
    panic!("no memory for a buffer of {capacity} bytes: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_does_not_count_until_it_is_advanced() {
        let mut buffer = Buffer::new();
        buffer.put(b"ab");
        buffer.space(10)[0] = b'c';
        assert_eq!(buffer.as_slice(), b"ab");
        buffer.advance(1);
        assert_eq!(buffer.as_slice(), b"abc");
    }

    #[test]
    #[should_panic(expected = "no memory for a buffer")]
    fn lack_of_memory_is_a_panic_and_does_not_end_the_process() {
        Buffer::with_capacity(isize::MAX as usize);
    }

    #[test]
    fn consumed_bytes_make_room_at_the_front() {
        let mut buffer = Buffer::with_capacity(4);
        buffer.put(b"abcd");
        buffer.consume(3);
        buffer.put(b"efg");
        assert_eq!((buffer.as_slice(), buffer.capacity()), (&b"defg"[..], 4));
    }
}
