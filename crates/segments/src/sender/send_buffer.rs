use std::collections::VecDeque;

/// Unacknowledged and unsent bytes with their offsets in the stream.
#[derive(Debug, Clone)]
pub(super) struct SendBuffer {
    bytes: VecDeque<u8>,
    /// The offset of the first byte.
    start: u64,
    max_bytes: usize,
}

impl SendBuffer {
    pub fn new(max_bytes: usize, start: u64) -> SendBuffer {
        SendBuffer { bytes: VecDeque::new(), start, max_bytes }
    }

    /// Takes as much as fits, and returns how much.
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.room());
        self.bytes.extend(&bytes[..taken]);
        taken
    }

    pub fn room(&self) -> usize {
        self.max_bytes - self.bytes.len()
    }

    /// The offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Drops what precedes `offset`.
    pub fn drop_to(&mut self, offset: u64) {
        let count = offset.saturating_sub(self.start).min(self.bytes.len() as u64);
        self.bytes.drain(..count as usize);
        self.start += count;
    }

    /// The bytes from `offset` on, in two pieces; at most `count`.
    pub fn get(&self, offset: u64, count: usize) -> (&[u8], &[u8]) {
        let from = (offset.saturating_sub(self.start) as usize).min(self.bytes.len());
        let to = (from + count).min(self.bytes.len());
        let (front, back) = self.bytes.as_slices();
        let middle = front.len();
        (&front[from.min(middle)..to.min(middle)], &back[from.saturating_sub(middle)..to.saturating_sub(middle)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_at_their_offsets_while_others_come_and_go() {
        let mut buffer = SendBuffer::new(100, 1000);
        let stream: Vec<u8> = (0..250).collect();
        let mut written = 0;
        while written < stream.len() {
            written += buffer.push(&stream[written..]);
            assert_eq!(buffer.end(), 1000 + written as u64);
            for (from, count) in [(0, 10), (7, 60), (30, 500)] {
                let at = buffer.start + from;
                let (front, back) = buffer.get(at, count);
                let at = (at - 1000) as usize;
                assert_eq!([front, back].concat(), stream[at..written.min(at + count)]);
            }
            buffer.drop_to(buffer.start + 37);
        }
        assert_eq!(buffer.push(&[0; 1000]), buffer.max_bytes - (1250 - buffer.start as usize));
        assert_eq!(buffer.room(), 0);
        buffer.drop_to(u64::MAX);
        assert_eq!(buffer.room(), 100);
    }
}
