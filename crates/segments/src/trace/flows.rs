use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::early::Sending;
use super::packet::{Packet, Segment};
use super::{Flow, MssSource, Options, Tally, Timeline, Trace};

/// The maximum number of directions of connections.
const MAX_FLOWS: usize = 8192;
/// Bytes of an Ethernet packet.
const ETHERNET_MTU: usize = 1500;
/// Bytes of the headers of TCP and of either version of IP, without options.
const TCP_HEADER_BYTES: usize = 20;
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;

/// Who sends to whom.
type Key = (SocketAddr, SocketAddr);

/// The directions of connections read so far.
pub(super) struct Flows {
    options: Options,
    flows: Vec<Flow>,
    /// The state for early packets, for each of `flows`.
    sendings: Vec<Sending>,
    /// The index in `flows` of the latest connection between two ends.
    places: HashMap<Key, usize>,
    /// The handshakes of the two ends, by sender.
    handshakes: HashMap<Key, Handshake>,
    first_at: Option<Duration>,
    last_at: Duration,
    tcp_packets: u64,
    other_packets: u64,
    short_packets: u64,
    untold_packets: u64,
}

/// The SYN of one end.
#[derive(Clone, Copy)]
struct Handshake {
    sequence: u32,
    mss: u16,
}

impl Flows {
    pub fn new(options: Options) -> Flows {
        Flows {
            options,
            flows: Vec::new(),
            sendings: Vec::new(),
            places: HashMap::new(),
            handshakes: HashMap::new(),
            first_at: None,
            last_at: Duration::ZERO,
            tcp_packets: 0,
            other_packets: 0,
            short_packets: 0,
            untold_packets: 0,
        }
    }

    pub fn add(&mut self, at: Duration, packet: &Packet<'_>) {
        let first_at = *self.first_at.get_or_insert(at);
        self.last_at = self.last_at.max(at);
        match packet {
            Packet::Tcp(segment) => self.add_segment(segment, at.saturating_sub(first_at)),
            Packet::Short => self.short_packets += 1,
            Packet::Udp(_) | Packet::Other | Packet::Unknown(_) => self.other_packets += 1,
        }
    }

    pub fn into_trace(self) -> Trace {
        Trace {
            flows: self.flows,
            tcp_packets: self.tcp_packets,
            other_packets: self.other_packets,
            short_packets: self.short_packets,
            untold_packets: self.untold_packets,
            duration: self.first_at.map_or(Duration::ZERO, |first| self.last_at.saturating_sub(first)),
        }
    }

    fn add_segment(&mut self, segment: &Segment<'_>, at: Duration) {
        self.tcp_packets += 1;
        let key = (segment.from, segment.to);
        if segment.is_syn {
            self.begin(segment);
        }
        let (mss, source) = self.mss(segment);
        let Some(place) = self.place(key) else {
            self.untold_packets += 1;
            return;
        };
        if let Some(other) = self.places.get(&(segment.to, segment.from)) {
            self.sendings[*other].receive(segment);
        }
        let flow = &mut self.flows[place];
        flow.packets += 1;
        if segment.data_bytes > 0 || flow.tally.packets() == 0 {
            (flow.mss, flow.mss_source) = (mss, source);
        }
        if segment.data_bytes > 0 {
            flow.tally.add(segment.data_bytes, mss);
            flow.timeline.add(at, segment.data_bytes, mss);
            flow.early += u64::from(self.sendings[place].send(segment, mss, at));
        }
    }

    /// Stores the MSS of an end. A SYN with another sequence number starts a new connection.
    fn begin(&mut self, segment: &Segment<'_>) {
        let key = (segment.from, segment.to);
        let known = self.handshakes.get(&key).map(|handshake| handshake.sequence);
        if known.is_some_and(|sequence| sequence != segment.sequence) || (known.is_none() && !segment.is_ack) {
            self.places.remove(&key);
            if !segment.is_ack {
                self.places.remove(&(key.1, key.0));
                self.handshakes.remove(&(key.1, key.0));
            }
        }
        if let Some(mss) = segment.mss
            && self.handshakes.len() < MAX_FLOWS
        {
            self.handshakes.insert(key, Handshake { sequence: segment.sequence, mss });
        }
    }

    /// The MSS of this packet.
    fn mss(&self, segment: &Segment<'_>) -> (usize, MssSource) {
        if let Some(mss) = self.options.mss {
            return (mss, MssSource::Given);
        }
        let announced = |from, to| self.handshakes.get(&(from, to)).map(|handshake| usize::from(handshake.mss));
        let ends = [announced(segment.from, segment.to), announced(segment.to, segment.from)];
        let ip_bytes = if segment.from.is_ipv4() { IPV4_HEADER_BYTES } else { IPV6_HEADER_BYTES };
        let (mss, source) = match ends.into_iter().flatten().min() {
            Some(mss) => (mss, MssSource::Handshake),
            None => (ETHERNET_MTU - ip_bytes - TCP_HEADER_BYTES, MssSource::Assumed),
        };
        (mss.saturating_sub(segment.option_bytes).max(1), source)
    }

    /// The index of the flow of these ends; `None` when there are too many.
    fn place(&mut self, key: Key) -> Option<usize> {
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        if self.flows.len() >= MAX_FLOWS {
            return None;
        }
        self.flows.push(Flow {
            from: key.0,
            to: key.1,
            mss: 1,
            mss_source: MssSource::Assumed,
            packets: 0,
            tally: Tally::default(),
            early: 0,
            timeline: Timeline::new(self.options.interval),
        });
        self.sendings.push(Sending::default());
        self.places.insert(key, self.flows.len() - 1);
        Some(self.flows.len() - 1)
    }
}
