//! Finds the connections of a packet capture, and the messages on each.

use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

use client::Version;
use segments::trace::{self, Packet, Part, Segment};

use super::Error;
use super::capture::Capture;
use super::fragments::{Datagram, Fragments};
use super::messages::{Rpc, is_nfs_call};
use super::records::{Record, Records};
use super::stream::{Budget, Each, Stream};

/// The most connections that are looked at.
const MAX_FLOWS: usize = 8192;

impl Capture {
    /// Reads a capture in pcap or pcapng format: the calls of the version that is wanted, or of that of the first call.
    ///
    /// # Errors
    /// When it is no capture, has no call that can be replayed, or more than fit.
    pub fn read(capture: impl Read + Send, wanted: Option<Version>) -> Result<Capture, Error> {
        let mut reader = Reader::new(Capture::of(wanted));
        let ended = trace::each_packet(capture, |at, packet| reader.add(at, packet));
        let mut capture = reader.end()?;
        capture.finish();
        match ended {
            Err(error @ (trace::Error::Truncated { .. } | trace::Error::Damaged { .. })) => {
                capture.seen.truncated = Some(error.to_string());
            }
            other => other?,
        }
        if capture.calls.is_empty() {
            return Err(Error::NothingToReplay(capture.remarks().join("; ")));
        }
        Ok(capture)
    }
}

/// A TCP connection of the capture.
#[derive(Debug)]
struct Flow {
    /// Who sends in which direction.
    ends: [SocketAddr; 2],
    ways: [Way; 2],
    rpc: Rpc,
}

/// One direction.
#[derive(Debug, Default)]
struct Way {
    stream: Stream,
    records: Records,
}

/// Reads the packets of a capture.
#[derive(Default)]
pub(super) struct Reader {
    capture: Capture,
    flows: Vec<Flow>,
    /// The latest connection between two ends; the lesser one comes first.
    places: HashMap<[SocketAddr; 2], usize>,
    budget: Budget,
    fragments: Fragments,
    /// The calls in datagrams between two ends; the lesser one comes first.
    datagrams: HashMap<[SocketAddr; 2], Rpc>,
    first_at: Option<Duration>,
    last_at: Duration,
    failure: Option<Error>,
}

impl Reader {
    pub(super) fn new(capture: Capture) -> Reader {
        Reader { capture, ..Reader::default() }
    }

    /// Adds a packet.
    pub(super) fn add(&mut self, at: Duration, packet: &Packet<'_>) {
        if self.failure.is_some() {
            return;
        }
        let at = at.saturating_sub(*self.first_at.get_or_insert(at));
        self.last_at = self.last_at.max(at);
        match packet {
            Packet::Tcp(segment) => {
                self.capture.seen.tcp_packets += 1;
                self.add_segment(at, segment);
            }
            Packet::Udp(part) => self.add_part(at, part),
            Packet::Short => self.capture.seen.short_packets += 1,
            Packet::Other | Packet::Unknown(_) => self.capture.seen.other_packets += 1,
        }
    }

    fn add_part(&mut self, at: Duration, part: &Part<'_>) {
        self.capture.seen.udp_packets += 1;
        let Some(Datagram { began, from, to, data }) = self.fragments.add(at, part) else { return };
        let mut key = [from, to];
        key.sort();
        let message = &data[..];
        let is_full = self.datagrams.len() >= MAX_FLOWS;
        if !self.datagrams.contains_key(&key) && (is_full || !is_nfs_call(message)) {
            self.capture.seen.other_packets += 1;
            return;
        }
        let rpc = self.datagrams.entry(key).or_insert_with(Rpc::over_datagrams);
        let way = usize::from(from != key[0]);
        let result = rpc.add(&Record { began, ended: at, message }, (to, way), &mut self.capture);
        self.failure = result.err();
    }

    fn add_segment(&mut self, at: Duration, segment: &Segment<'_>) {
        let mut key = [segment.from, segment.to];
        key.sort();
        let begins = segment.is_syn && !segment.is_ack;
        let place = match self.places.get(&key) {
            Some(place) if !begins || self.flows[*place].began_with(segment) => *place,
            _ if self.flows.len() >= MAX_FLOWS => {
                self.capture.seen.unread_packets += 1;
                return;
            }
            _ => {
                self.flows.push(Flow { ends: key, ways: Default::default(), rpc: Rpc::default() });
                self.places.insert(key, self.flows.len() - 1);
                self.flows.len() - 1
            }
        };
        let result = self.flows[place].add(at, segment, &mut self.capture, &mut self.budget);
        self.failure = result.err();
    }

    /// What was read.
    ///
    /// # Errors
    /// When it is more than fits.
    pub(super) fn end(mut self) -> Result<Capture, Error> {
        for flow in &mut self.flows {
            for way in 0..2 {
                let result = flow.pass(way, &mut self.capture, |stream, each| {
                    stream.end(self.last_at, &mut self.budget, each);
                });
                self.failure = self.failure.take().or(result.err());
            }
            let [one, other] = &flow.ways;
            let seen = &mut self.capture.seen;
            seen.losses += one.records.losses + other.records.losses;
            seen.other_connections += u64::from(!one.records.has_records && !other.records.has_records);
            seen.unanswered_calls += flow.rpc.unanswered();
        }
        self.fragments.end();
        self.capture.seen.lost_datagrams = self.fragments.lost;
        self.capture.seen.unanswered_calls += self.datagrams.values().map(Rpc::unanswered).sum::<u64>();
        self.failure.map_or(Ok(self.capture), Err)
    }
}

impl Flow {
    /// The direction of a segment.
    fn way(&self, segment: &Segment<'_>) -> usize {
        usize::from(segment.from != self.ends[0])
    }

    fn began_with(&self, syn: &Segment<'_>) -> bool {
        self.ways[self.way(syn)].stream.began_with(syn)
    }

    fn add(
        &mut self,
        at: Duration,
        segment: &Segment<'_>,
        capture: &mut Capture,
        budget: &mut Budget,
    ) -> Result<(), Error> {
        let way = self.way(segment);
        if segment.is_ack {
            self.pass(1 - way, capture, |stream, each| {
                stream.acknowledge(at, segment.acknowledgment, budget, each);
            })?;
        }
        self.pass(way, capture, |stream, each| stream.add(at, segment, budget, each))
    }

    /// Has the stream of one direction go on, and takes what it passes.
    fn pass(
        &mut self,
        way: usize,
        capture: &mut Capture,
        go_on: impl FnOnce(&mut Stream, &mut Each<'_>),
    ) -> Result<(), Error> {
        let Flow { ends, ways, rpc } = self;
        let Way { stream, records } = &mut ways[way];
        let server = ends[1 - way];
        let mut result = Ok(());
        go_on(stream, &mut |at, piece| {
            records.add(at, piece, &mut |record| {
                if result.is_ok() {
                    result = rpc.add(&record, (server, way), capture);
                }
            });
        });
        result
    }
}
