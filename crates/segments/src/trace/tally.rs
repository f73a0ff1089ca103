use std::ops::AddAssign;

/// Data packets classified by length relative to the MSS (without options).
///
/// Every data packet is one of four kinds. Full ones have whole segments (`single` and `whole`); fractional ones end
/// with a part of one (`fractional` and `short`); super-segments have more than one (`whole` and `fractional`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Packets of exactly one segment.
    pub single: u64,
    /// Super-segments of whole segments.
    pub whole: u64,
    /// Super-segments that end with a part of a segment.
    pub fractional: u64,
    /// Packets of less than a segment.
    pub short: u64,
    /// The number of packets on the wire, after super-segments were segmented.
    pub wire_packets: u64,
    /// Bytes of data, including retransmissions.
    pub bytes: u64,
}

impl Tally {
    /// Adds a packet with `bytes` of data; ignores one without data. `mss` is at least 1.
    pub fn add(&mut self, bytes: usize, mss: usize) {
        if bytes == 0 {
            return;
        }
        let kind = match (bytes.cmp(&mss), bytes.is_multiple_of(mss)) {
            (std::cmp::Ordering::Less, _) => &mut self.short,
            (std::cmp::Ordering::Equal, _) => &mut self.single,
            (_, true) => &mut self.whole,
            (_, false) => &mut self.fractional,
        };
        *kind += 1;
        self.wire_packets += bytes.div_ceil(mss) as u64;
        self.bytes += bytes as u64;
    }

    /// All data packets.
    pub fn packets(&self) -> u64 {
        self.single + self.whole + self.fractional + self.short
    }

    /// Packets of whole segments.
    pub fn full(&self) -> u64 {
        self.single + self.whole
    }

    /// Packets that end with a part of a segment.
    pub fn partial(&self) -> u64 {
        self.fractional + self.short
    }

    /// Packets of more than a segment.
    pub fn supers(&self) -> u64 {
        self.whole + self.fractional
    }

    /// `count` as a share of all data packets, from 0 to 1; `None` when there are none.
    pub fn share(&self, count: u64) -> Option<f64> {
        (self.packets() > 0).then(|| count as f64 / self.packets() as f64)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.single += other.single;
        self.whole += other.whole;
        self.fractional += other.fractional;
        self.short += other.short;
        self.wire_packets += other.wire_packets;
        self.bytes += other.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_by_their_length_in_segments() {
        let mut tally = Tally::default();
        [0, 1, 1447, 1448, 1448, 1449, 2896, 65_160, 65_161].iter().for_each(|bytes| tally.add(*bytes, 1448));
        let expected = Tally { single: 2, whole: 2, fractional: 2, short: 2, wire_packets: 99, bytes: 139_010 };
        assert_eq!(tally, expected);
        assert_eq!((tally.packets(), tally.full(), tally.partial(), tally.supers()), (8, 4, 4, 4));
        assert_eq!(tally.share(tally.single), Some(0.25));
        assert_eq!(Tally::default().share(0), None);
    }
}
