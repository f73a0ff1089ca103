use std::collections::VecDeque;

/// Received data, in order. Data out of order is dropped, and retransmitted.
#[derive(Debug, Clone)]
pub(super) struct Receive {
    bytes: VecDeque<u8>,
    max_bytes: usize,
    /// The next expected sequence number.
    pub next: u32,
    /// The end of the announced window.
    told_edge: u32,
    /// The latest timestamp of the other side (TS.Recent), and the last acknowledged number.
    pub recent_stamp: u32,
    pub acknowledged: u32,
    pub is_ended: bool,
}

impl Receive {
    pub fn new(max_bytes: usize) -> Receive {
        let max_bytes = max_bytes.min(u16::MAX.into());
        Receive {
            bytes: VecDeque::new(),
            max_bytes,
            next: 0,
            told_edge: 0,
            recent_stamp: 0,
            acknowledged: 0,
            is_ended: false,
        }
    }

    /// Starts the other side's stream behind `number`.
    pub fn begin(&mut self, number: u32) {
        self.next = number.wrapping_add(1);
        self.acknowledged = self.next;
        self.told_edge = self.next.wrapping_add(u32::from(self.window()));
    }

    pub fn window(&self) -> u16 {
        u16::try_from(self.max_bytes - self.bytes.len()).unwrap_or(u16::MAX)
    }

    /// Returns the window to announce.
    pub fn tell(&mut self) -> u16 {
        self.told_edge = self.next.wrapping_add(u32::from(self.window()));
        self.acknowledged = self.next;
        self.window()
    }

    /// Whether at least half of the buffer is free and not yet announced (RFC 9293 §3.8.6.2.2).
    pub fn has_opened(&self) -> bool {
        let edge = self.next.wrapping_add(u32::from(self.window()));
        edge.wrapping_sub(self.told_edge) as usize >= self.max_bytes.div_ceil(2).max(1)
    }

    /// Whether a segment of `length` numbers overlaps the window (RFC 9293 §3.10.7.4).
    pub fn accepts(&self, sequence: u32, length: u32) -> bool {
        let window = u32::from(self.window());
        let is_inside = |number: u32| number.wrapping_sub(self.next) < window;
        match (length, window) {
            (0, 0) => sequence == self.next,
            (0, _) => is_inside(sequence),
            (_, 0) => false,
            _ => is_inside(sequence) || is_inside(sequence.wrapping_add(length - 1)),
        }
    }

    /// Stores the part of `data` that is next.
    pub fn push(&mut self, sequence: u32, data: &[u8]) {
        let known = self.next.wrapping_sub(sequence) as usize;
        if known < data.len() {
            let fresh = &data[known..];
            let taken = fresh.len().min(self.window().into());
            self.bytes.extend(&fresh[..taken]);
            self.next = self.next.wrapping_add(taken as u32);
        }
    }

    pub fn read(&mut self, bytes: &mut [u8]) -> usize {
        let count = bytes.len().min(self.bytes.len());
        bytes.iter_mut().zip(self.bytes.drain(..count)).for_each(|(to, from)| *to = from);
        count
    }
}
