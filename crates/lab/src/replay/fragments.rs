//! Puts UDP datagrams together of which captured packets have parts.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use segments::trace::Part;

/// The most datagrams that wait for parts, and the most bytes of these parts.
const MAX_WAITING: usize = 1024;
const MAX_HELD_BYTES: usize = 16 << 20;
/// The most bytes of a datagram with its header, and the most parts: those of the smallest size of IPv6.
const MAX_DATAGRAM_BYTES: usize = 1 << 16;
const MAX_PARTS: usize = 64;
const HEADER_BYTES: usize = 8;

/// A datagram, or what was captured of its front.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Datagram {
    /// When its first part was captured.
    pub began: Duration,
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub data: Vec<u8>,
}

/// The parts that wait for others.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    waiting: VecDeque<Waiting>,
    held_bytes: usize,
    /// How many datagrams lack parts.
    pub lost: u64,
}

/// A datagram of which parts are missing.
#[derive(Debug)]
struct Waiting {
    key: (IpAddr, IpAddr, u32),
    began: Duration,
    /// By their offsets: how many bytes there were, and those that were captured.
    parts: BTreeMap<usize, (usize, Vec<u8>)>,
    /// The length of all, once the last part is there.
    bytes: Option<usize>,
}

impl Fragments {
    /// Adds a part. Returns the datagram that it completes.
    pub(super) fn add(&mut self, at: Duration, part: &Part<'_>) -> Option<Datagram> {
        let (source, destination) = (part.source, part.destination);
        if part.is_whole() {
            return datagram(at, (source, destination), part.data.to_vec());
        }
        let end = part.offset + part.wire_bytes;
        if end > MAX_DATAGRAM_BYTES || part.wire_bytes == 0 {
            return None;
        }
        let key = (source, destination, part.identification);
        let place = self.waiting.iter().position(|waiting| waiting.key == key);
        let place = place.unwrap_or_else(|| self.begin(key, at));
        let waiting = &mut self.waiting[place];
        if waiting.parts.len() >= MAX_PARTS || waiting.parts.contains_key(&part.offset) {
            return None;
        }
        waiting.parts.insert(part.offset, (part.wire_bytes, part.data.to_vec()));
        waiting.bytes = if part.is_last { Some(end) } else { waiting.bytes };
        self.held_bytes += part.data.len();
        let is_complete = waiting.is_complete();
        let done = is_complete.then(|| self.remove(place)).flatten();
        self.make_room();
        done.and_then(|done| datagram(done.began, (source, destination), done.front()))
    }

    /// Ends all waiting.
    pub(super) fn end(&mut self) {
        self.lost += self.waiting.len() as u64;
        self.waiting.clear();
    }

    fn begin(&mut self, key: (IpAddr, IpAddr, u32), began: Duration) -> usize {
        self.waiting.push_back(Waiting { key, began, parts: BTreeMap::new(), bytes: None });
        self.waiting.len() - 1
    }

    /// Gives up the datagrams that have waited for longest, while there are too many.
    fn make_room(&mut self) {
        while self.waiting.len() > MAX_WAITING || self.held_bytes > MAX_HELD_BYTES {
            self.remove(0);
            self.lost += 1;
        }
    }

    fn remove(&mut self, place: usize) -> Option<Waiting> {
        let waiting = self.waiting.remove(place)?;
        self.held_bytes -= waiting.parts.values().map(|(_, data)| data.len()).sum::<usize>();
        Some(waiting)
    }
}

impl Waiting {
    /// Whether the parts follow each other up to the end.
    fn is_complete(&self) -> bool {
        let mut end = 0;
        for (offset, (bytes, _)) in &self.parts {
            if *offset > end {
                return false;
            }
            end = end.max(offset + bytes);
        }
        self.bytes.is_some_and(|bytes| end >= bytes)
    }

    /// The bytes up to the first that was not captured.
    fn front(&self) -> Vec<u8> {
        let mut front = Vec::new();
        for (offset, (bytes, data)) in &self.parts {
            if *offset > front.len() {
                break;
            }
            front.truncate(*offset);
            front.extend_from_slice(data);
            if data.len() < *bytes {
                break;
            }
        }
        front
    }
}

/// A datagram behind its header; nothing if that was not captured.
fn datagram(began: Duration, (source, destination): (IpAddr, IpAddr), mut bytes: Vec<u8>) -> Option<Datagram> {
    let header: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let (from, to) = (SocketAddr::new(source, word(0)), SocketAddr::new(destination, word(2)));
    bytes.truncate(usize::from(word(4)).max(HEADER_BYTES));
    bytes.drain(..HEADER_BYTES);
    Some(Datagram { began, from, to, data: bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn part(identification: u32, offset: usize, data: &[u8], is_last: bool) -> Part<'_> {
        Part { source: SOURCE, destination: SOURCE, identification, offset, is_last, wire_bytes: data.len(), data }
    }

    /// A datagram with its header.
    fn udp(text: &str) -> Vec<u8> {
        let mut bytes = vec![0, 1, 0, 2, 0, (HEADER_BYTES + text.len()) as u8, 0, 0];
        bytes.extend(text.as_bytes());
        bytes
    }

    fn text(datagram: Option<Datagram>) -> Option<String> {
        datagram.map(|datagram| String::from_utf8(datagram.data).unwrap())
    }

    #[test]
    fn parts_make_a_datagram_in_any_order_and_twice() {
        let bytes = udp("twenty-four bytes of text");
        let parts = [(24, true), (0, false), (0, false), (16, false), (8, false)];
        let (mut fragments, mut done) = (Fragments::default(), Vec::new());
        for (offset, is_last) in parts {
            let end = if is_last { bytes.len() } else { offset + 8 };
            done.extend(text(fragments.add(Duration::ZERO, &part(7, offset, &bytes[offset..end], is_last))));
        }
        assert_eq!(done, ["twenty-four bytes of text"]);
        assert_eq!((fragments.held_bytes, fragments.waiting.len()), (0, 0));
    }

    #[test]
    fn part_that_was_captured_in_part_truncates_the_datagram() {
        let bytes = udp("abcdefghijklmnop");
        let mut fragments = Fragments::default();
        let first = Part { data: &bytes[..12], ..part(1, 0, &bytes[..16], false) };
        assert_eq!(fragments.add(Duration::ZERO, &first), None);
        assert_eq!(text(fragments.add(Duration::ZERO, &part(1, 16, &bytes[16..], true))), Some("abcd".to_owned()));
    }

    #[test]
    fn missing_and_absurd_parts_take_bounded_memory_and_are_counted() {
        let (mut fragments, data) = (Fragments::default(), vec![0; 1400]);
        for number in 0..5_000 {
            assert_eq!(fragments.add(Duration::ZERO, &part(number, 1400, &data, true)), None);
        }
        assert!(fragments.waiting.len() <= MAX_WAITING && fragments.held_bytes <= MAX_HELD_BYTES);
        assert_eq!(fragments.add(Duration::ZERO, &part(1, MAX_DATAGRAM_BYTES - 1, &data, true)), None);
        fragments.end();
        assert_eq!(fragments.lost, 5_000);
    }
}
