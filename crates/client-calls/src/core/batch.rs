use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Calls in flight to a stream. Small ones are gathered in one block; the data of large ones is shared.
#[derive(Debug, Default)]
pub struct Batch {
    open: BytesMut,
    chunks: VecDeque<Bytes>,
    bytes: usize,
}

impl Batch {
    /// Data of at least this length is shared and not copied, in bytes.
    const MIN_SHARED_BYTES: usize = 8 * 1024;
    /// The bytes gathered before they are sent; a larger write gains nothing.
    pub(super) const FULL_BYTES: usize = 1 << 20;
    /// The most pieces of one vectored write.
    pub const MAX_SLICES: usize = 64;

    /// Whether nothing is left to send.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= Self::FULL_BYTES
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.open.put_slice(bytes);
    }

    pub(super) fn put_shared(&mut self, data: &Bytes) {
        if data.len() < Self::MIN_SHARED_BYTES {
            return self.put(data);
        }
        self.close();
        self.bytes += data.len();
        self.chunks.push_back(data.clone());
    }

    pub(super) fn close(&mut self) {
        if !self.open.is_empty() {
            self.chunks.push_back(self.open.split().freeze());
        }
    }

    /// Puts the pieces to send next into `slices`, and returns their number.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>; Batch::MAX_SLICES]) -> usize {
        let count = self.chunks.len().min(Self::MAX_SLICES);
        for (slice, chunk) in slices.iter_mut().zip(&self.chunks) {
            *slice = IoSlice::new(chunk);
        }
        count
    }

    /// Drops the first `count` bytes, which were sent.
    pub fn advance(&mut self, mut count: usize) {
        self.bytes -= count;
        while count > 0 {
            let Some(first) = self.chunks.front_mut() else { return };
            let taken = first.len().min(count);
            first.advance(taken);
            count -= taken;
            if first.is_empty() {
                self.chunks.pop_front();
            }
        }
    }

    /// Drops everything: the stream is lost.
    pub fn clear(&mut self) {
        self.open.clear();
        self.chunks.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(batch: &Batch) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); Batch::MAX_SLICES];
        let count = batch.slices(&mut slices);
        slices[..count].iter().flat_map(|slice| slice.to_vec()).collect()
    }

    #[test]
    fn pieces_go_out_in_the_order_in_which_they_came_in() {
        let mut batch = Batch::default();
        batch.put(b"head");
        batch.put_shared(&Bytes::from(vec![7; Batch::MIN_SHARED_BYTES]));
        batch.put(b"tail");
        batch.close();
        let all = bytes(&batch);
        assert_eq!((&all[..5], &all[all.len() - 5..]), (&b"head\x07"[..], &b"\x07tail"[..]));
        batch.advance(all.len() - 2);
        assert_eq!(bytes(&batch), b"il");
    }
}
