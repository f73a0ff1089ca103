//! A reply under construction: one buffer with the header in front, and optionally one lent buffer, so that one write
//! sends it without a copy.

use std::io::IoSlice;

use vfs::LentBytes;

use crate::abi::OUT_HEADER_BYTES;

/// What to undo if the kernel does not get the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undo {
    /// The kernel never learned of this file.
    Forget(u64),
    /// The kernel never learned of this open file.
    Close(u64),
    /// The kernel never learned of this open directory.
    CloseDir(u64),
}

/// A reply, and what it hands to the kernel.
pub(crate) struct Output {
    /// Always initialised and never truncated; the first `used` bytes count.
    bytes: Vec<u8>,
    used: usize,
    /// The bytes behind, and how many of them at most.
    lent: Option<(LentBytes, usize)>,
    undo: Vec<Undo>,
    is_postponed: bool,
}

impl Output {
    /// An empty reply.
    pub(crate) fn new() -> Output {
        Output { bytes: vec![0; 4096], used: OUT_HEADER_BYTES, lent: None, undo: Vec::new(), is_postponed: false }
    }

    /// Empties it for the next reply.
    pub(crate) fn clear(&mut self) {
        self.used = OUT_HEADER_BYTES;
        self.lent = None;
        self.undo.clear();
        self.is_postponed = false;
    }

    /// The number of bytes behind the header.
    pub(crate) fn length(&self) -> usize {
        self.used - OUT_HEADER_BYTES
    }

    /// Room for `count` bytes at the end; [`Output::advance`] adds them to the reply. The caller has checked that a
    /// reply may hold so many.
    pub(crate) fn room(&mut self, count: usize) -> &mut [u8] {
        let end = self.used + count;
        if self.bytes.len() < end {
            self.bytes.resize(end.next_power_of_two(), 0);
        }
        &mut self.bytes[self.used..end]
    }

    /// Adds the next `count` bytes of the room to the reply.
    pub(crate) fn advance(&mut self, count: usize) {
        self.used = (self.used + count).min(self.bytes.len());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.advance(bytes.len());
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_ne_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_ne_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_ne_bytes());
    }

    pub(crate) fn zeros(&mut self, count: usize) {
        self.room(count).fill(0);
        self.advance(count);
    }

    /// Adds lent bytes behind all others, at most `most` of them.
    pub(crate) fn lend(&mut self, bytes: LentBytes, most: usize) {
        self.lent = Some((bytes, most));
    }

    /// Notes what the reply hands to the kernel.
    pub(crate) fn gives(&mut self, undo: Undo) {
        self.undo.push(undo);
    }

    /// What the reply hands to the kernel.
    pub(crate) fn given(&self) -> &[Undo] {
        &self.undo
    }

    /// Marks the reply as sent later, by another thread.
    pub(crate) fn postpone(&mut self) {
        self.is_postponed = true;
    }

    /// Whether the reply is sent later.
    pub(crate) fn is_postponed(&self) -> bool {
        self.is_postponed
    }

    /// The whole message, in two pieces.
    pub(crate) fn message(&mut self, unique: u64) -> [IoSlice<'_>; 2] {
        let lent = self.lent.as_ref().map_or(&[][..], |(bytes, most)| {
            let bytes = (**bytes).as_ref();
            &bytes[..bytes.len().min(*most)]
        });
        let header = header(self.used + lent.len(), 0, unique);
        self.bytes[..OUT_HEADER_BYTES].copy_from_slice(&header);
        [IoSlice::new(&self.bytes[..self.used]), IoSlice::new(lent)]
    }
}

/// The header of a message of `length` bytes; `error` is a negative error number, 0, or a notification's code.
pub(crate) fn header(length: usize, error: i32, unique: u64) -> [u8; OUT_HEADER_BYTES] {
    let mut header = [0; OUT_HEADER_BYTES];
    header[..4].copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
    header[4..8].copy_from_slice(&error.to_ne_bytes());
    header[8..].copy_from_slice(&unique.to_ne_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(output: &mut Output, unique: u64) -> Vec<u8> {
        output.message(unique).iter().flat_map(|piece| piece.to_vec()).collect()
    }

    #[test]
    fn message_is_header_and_what_was_put_in_and_nothing_of_the_reply_before() {
        let mut output = Output::new();
        output.bytes(&[0xff; 100]);
        output.clear();
        output.u32(5);
        output.room(64).fill(9);
        output.advance(2);
        let mut expected = header(22, 0, 3).to_vec();
        expected.extend(5_u32.to_ne_bytes());
        expected.extend([9, 9]);
        assert_eq!(whole(&mut output, 3), expected);
    }

    #[test]
    fn reply_grows_as_far_as_its_data_needs() {
        let mut output = Output::new();
        output.room(1 << 20).fill(1);
        output.advance(1 << 20);
        assert_eq!(whole(&mut output, 1).len(), OUT_HEADER_BYTES + (1 << 20));
    }

    #[test]
    fn lent_bytes_come_last_as_far_as_they_are_wanted_and_are_let_go() {
        let mut output = Output::new();
        output.lend(Box::new(vec![7; 100]), 3);
        assert_eq!(whole(&mut output, 1), [&header(19, 0, 1)[..], &[7, 7, 7]].concat());
        output.clear();
        assert_eq!(whole(&mut output, 1), header(16, 0, 1));
    }
}
