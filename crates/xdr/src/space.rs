/// Space for items of fixed size that was reserved at once: appending one of them checks no more than that it fits, and
/// needs nothing but registers.
#[derive(Debug)]
pub struct Space<'b> {
    free: &'b mut [u8],
}

impl<'b> Space<'b> {
    #[inline]
    pub(crate) fn new(free: &'b mut [u8]) -> Space<'b> {
        Space { free }
    }

    /// The number of bytes that are left.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.free.len()
    }

    /// Appends an unsigned integer (RFC 4506 §4.2).
    ///
    /// # Panics
    /// When the space is full, as all of these functions.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.put(value.to_be_bytes());
    }

    /// Appends an unsigned hyper integer (§4.5).
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.put(value.to_be_bytes());
    }

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        let (item, free) =
            std::mem::take(&mut self.free).split_first_chunk_mut().expect("the space is large enough for all items");
        *item = bytes;
        self.free = free;
    }
}
