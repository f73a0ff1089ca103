use std::collections::VecDeque;

/// What comes from the other side, in order. Whatever comes out of order is dropped and comes again.
#[derive(Debug, Clone)]
pub(super) struct Receive {
    bytes: VecDeque<u8>,
    max_bytes: usize,
    /// The number that is expected next.
    pub next: u32,
    /// The number up to which the other side may send, as it was told last.
    told_edge: u32,
    /// The latest clock of the other side (TS.Recent), and the number that was acknowledged last.
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

    /// The other side begins behind `number`.
    pub fn begin(&mut self, number: u32) {
        self.next = number.wrapping_add(1);
        self.acknowledged = self.next;
        self.told_edge = self.next.wrapping_add(u32::from(self.window()));
    }

    pub fn window(&self) -> u16 {
        u16::try_from(self.max_bytes - self.bytes.len()).unwrap_or(u16::MAX)
    }

    /// The window as it is sent now.
    pub fn tell(&mut self) -> u16 {
        self.told_edge = self.next.wrapping_add(u32::from(self.window()));
        self.acknowledged = self.next;
        self.window()
    }

    /// Whether half of the buffer or more is free that the other side does not know of (RFC 9293 §3.8.6.2.2).
    pub fn has_opened(&self) -> bool {
        let edge = self.next.wrapping_add(u32::from(self.window()));
        edge.wrapping_sub(self.told_edge) as usize >= self.max_bytes.div_ceil(2).max(1)
    }

    /// Whether a segment of `length` numbers is in the window in part (RFC 9293 §3.10.7.4).
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

    /// Takes the part of `data` that is next.
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
