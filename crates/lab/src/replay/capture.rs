//! Reads the calls of NFSv3 and their replies from a packet capture.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use client::proto::nfs3::{self, Status};
use rpc::{Call as RpcCall, CallError, CallResult, Flavor, Procedure, Reply, Xid};
use segments::trace::{self, Packet, Segment};
use xdr::Decoder;

use super::Error;
use super::learn::{Learned, Lesson, note_call};
use super::op::{FileId, LeftOut, Op};
use super::records::{Record, Records};
use super::stream::{Budget, Each, Stream};
use super::tree::{NumbersOf, Tree};

/// The most connections that are looked at, and of those the most with NFS.
const MAX_FLOWS: usize = 8192;
const MAX_CONNECTIONS: usize = 512;
/// The most calls: about 400 MB.
const MAX_CALLS: usize = 2 << 20;
/// The most calls of a connection that wait for their replies.
const MAX_PENDING: usize = 1 << 16;
/// The most replies that are taken to have come while one call was sent.
const MAX_REPLIES_IN_CALL: usize = 1024;

/// RPCSEC_GSS (RFC 2203 §4).
const GSS: Flavor = Flavor(6);

/// The calls of a capture, and the files that they are about.
#[derive(Debug, Default)]
pub struct Capture {
    pub(super) calls: Vec<Call>,
    /// The connections that these are of.
    pub(super) lines: Vec<Line>,
    pub(super) tree: Tree,
    /// Calls that are not replayed, and why.
    pub(super) left_out: BTreeMap<LeftOut, u64>,
    pub(super) seen: Seen,
}

/// The calls of a connection, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// As they were sent.
    pub calls: Vec<u32>,
    /// As they were answered.
    pub replies: Vec<u32>,
}

/// A call of the capture.
#[derive(Debug)]
pub(super) struct Call {
    /// The number of its connection.
    pub connection: u32,
    /// The server that it was sent to.
    pub server: IpAddr,
    /// When it was sent, since the first packet.
    pub sent: Duration,
    pub op: Op,
    pub reply: Option<Replied>,
    /// How many replies of its connection had been received before.
    pub replies_before: u32,
    /// The calls that changed its names before.
    pub after: [Option<u32>; 2],
    /// The other connections that used what it changes, and how many replies they had received.
    pub barriers: Vec<(u32, u32)>,
}

/// The reply to a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replied {
    pub at: Duration,
    /// What was learned; nothing if the reply was not captured up to its status, or refuses the call.
    pub learned: Option<Learned>,
}

impl Call {
    /// The status of the reply.
    pub(super) fn status(&self) -> Option<Status> {
        self.reply?.learned.map(|learned| learned.status)
    }

    /// The file whose handle the reply has.
    pub(super) fn file(&self) -> Option<FileId> {
        self.reply?.learned?.file
    }

    /// The last cookie of the listing that the reply has.
    pub(super) fn cookie(&self) -> Option<u64> {
        self.reply?.learned?.cookie
    }
}

/// What is in a capture besides.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Seen {
    /// TCP packets.
    pub tcp_packets: u64,
    /// Packets of other protocols, and fragments.
    pub other_packets: u64,
    /// TCP packets without a whole header.
    pub short_packets: u64,
    /// Connections without RPC.
    pub other_connections: u64,
    /// Packets of connections beyond the limit.
    pub unread_packets: u64,
    /// How often missing bytes hid where the next record begins.
    pub losses: u64,
    /// Calls that were sent again.
    pub repeated_calls: u64,
    /// Replies to calls that were not captured.
    pub lone_replies: u64,
    /// Calls whose reply was not captured.
    pub unanswered_calls: u64,
    /// Calls of servers to clients, or malformed messages.
    pub other_messages: u64,
    /// Why the capture could not be read to its end.
    pub truncated: Option<String>,
}

impl Capture {
    /// Reads a capture in pcap or pcapng format.
    ///
    /// # Errors
    /// When it is no capture, has no call that can be replayed, or more than fit.
    pub fn read(capture: impl Read + Send) -> Result<Capture, Error> {
        let mut reader = Reader::default();
        let ended = trace::each_packet(capture, |at, packet| reader.add(at, packet));
        reader.end();
        let Reader { mut capture, failure, .. } = reader;
        if let Some(failure) = failure {
            return Err(failure);
        }
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

    /// From the first call to the last reply.
    pub(super) fn duration(&self) -> Duration {
        let first = self.calls.iter().map(|call| call.sent).min().unwrap_or_default();
        let last = self.calls.iter().map(|call| call.reply.map_or(call.sent, |reply| reply.at)).max();
        last.unwrap_or_default().saturating_sub(first)
    }

    /// How many replies a connection has had when a call of it begins: those that came while the call was sent are not
    /// among them.
    fn replies_before(&self, connection: u32, began: Duration) -> u32 {
        let replies = &self.lines[connection as usize].replies;
        let is_later = |call: &&u32| self.calls[**call as usize].reply.is_some_and(|reply| reply.at > began);
        let later = replies.iter().rev().take(MAX_REPLIES_IN_CALL).take_while(is_later).count();
        (replies.len() - later) as u32
    }

    /// What other connections had done with what a call changes.
    fn barriers(&mut self, op: &Op, connection: u32) -> Vec<(u32, u32)> {
        let others = self.tree.take_users(op).into_iter().filter(|other| *other != connection);
        others.map(|other| (other, self.lines[other as usize].replies.len() as u32)).collect()
    }

    /// When the last of the replies was received that a call of their connection had waited for.
    pub(super) fn last_reply_before(&self, call: &Call) -> Option<Duration> {
        let index = call.replies_before.checked_sub(1)?;
        let last = *self.lines[call.connection as usize].replies.get(index as usize)?;
        self.calls[last as usize].reply.map(|reply| reply.at)
    }

    fn learn(&mut self, number: u32, results: &Decoder<'_>) -> Option<Learned> {
        let call = &self.calls[number as usize];
        Lesson { tree: &mut self.tree, server: call.server, call: number }.learn(&call.op, results)
    }

    /// What of the capture is not replayed, in sentences.
    pub(super) fn remarks(&self) -> Vec<String> {
        let seen = &self.seen;
        let counted = [
            (seen.unanswered_calls, "calls have no reply in the capture: nothing waits for them"),
            (seen.repeated_calls, "calls were retransmitted: each is sent once"),
            (seen.lone_replies, "replies are to calls before the capture"),
            (seen.losses, "times packets are missing that hid where the next RPC message begins"),
            (seen.short_packets, "TCP packets have no whole header"),
            (seen.unread_packets, "packets are of connections beyond the first 8192"),
            (seen.other_connections, "TCP connections have no calls of ONC RPC"),
            (seen.other_messages, "RPC messages are malformed or go from server to client"),
            (seen.other_packets, "packets are not TCP: NFS over UDP is not replayed"),
        ];
        let left_out = self.left_out.iter().map(|(why, count)| format!("{count} calls are {why}"));
        let counted =
            counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        seen.truncated.iter().cloned().chain(left_out).chain(counted).collect()
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

/// The calls of one connection.
#[derive(Debug, Default)]
struct Rpc {
    /// The number of the connection, if there is NFS on it.
    number: Option<u32>,
    /// The calls without reply: their numbers, or nothing for those that are left out.
    pending: HashMap<Xid, Option<u32>>,
}

#[derive(Default)]
struct Reader {
    capture: Capture,
    flows: Vec<Flow>,
    /// The latest connection between two ends; the lesser one comes first.
    places: HashMap<[SocketAddr; 2], usize>,
    budget: Budget,
    first_at: Option<Duration>,
    last_at: Duration,
    failure: Option<Error>,
}

impl Reader {
    fn add(&mut self, at: Duration, packet: &Packet<'_>) {
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
            Packet::Short => self.capture.seen.short_packets += 1,
            Packet::Other | Packet::Unknown(_) => self.capture.seen.other_packets += 1,
        }
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

    fn end(&mut self) {
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
                    result = rpc.add(&record, server, capture);
                }
            });
        });
        result
    }
}

impl Rpc {
    /// Adds a message that was sent to `to`.
    fn add(&mut self, record: &Record<'_>, to: SocketAddr, capture: &mut Capture) -> Result<(), Error> {
        if rpc::is_reply(record.message) {
            self.add_reply(record, capture);
            return Ok(());
        }
        match RpcCall::parse(record.message) {
            Ok(call) => self.add_call(record, &call, to, capture),
            Err(CallError::NotACall(xdr::Error::Truncated { .. }))
            | Err(CallError::Broken { source: xdr::Error::Truncated { .. }, .. }) => {
                *capture.left_out.entry(LeftOut::Truncated).or_default() += 1;
                Ok(())
            }
            Err(_) => {
                capture.seen.other_messages += 1;
                Ok(())
            }
        }
    }

    fn add_call(
        &mut self,
        record: &Record<'_>,
        call: &RpcCall<'_>,
        server: SocketAddr,
        capture: &mut Capture,
    ) -> Result<(), Error> {
        if self.pending.contains_key(&call.xid) {
            capture.seen.repeated_calls += 1;
            return Ok(());
        }
        let number = match self.decode(call, server, capture) {
            Ok(op) => Some(self.push(record, server.ip(), op, capture)?),
            Err(why) => {
                *capture.left_out.entry(why).or_default() += 1;
                None
            }
        };
        self.await_reply(call.xid, number, capture);
        Ok(())
    }

    fn decode(&self, call: &RpcCall<'_>, server: SocketAddr, capture: &mut Capture) -> Result<Op, LeftOut> {
        match call.procedure {
            Procedure { program: nfs3::PROGRAM, version: nfs3::VERSION, number } => {
                if call.credential.flavor == GSS {
                    return Err(LeftOut::Secured);
                }
                let mut numbers = NumbersOf { tree: &mut capture.tree, server: server.ip() };
                Op::decode(number, call.arguments.clone(), &mut numbers)
            }
            Procedure { program: nfs3::PROGRAM, version, .. } => Err(LeftOut::Version(version)),
            Procedure { program, .. } => Err(LeftOut::Program(program)),
        }
    }

    fn push(&mut self, record: &Record<'_>, server: IpAddr, op: Op, capture: &mut Capture) -> Result<u32, Error> {
        if capture.calls.len() >= MAX_CALLS {
            return Err(Error::TooManyCalls(MAX_CALLS));
        }
        let connection = match self.number {
            Some(number) => number,
            None if capture.lines.len() >= MAX_CONNECTIONS => return Err(Error::TooManyConnections(MAX_CONNECTIONS)),
            None => {
                capture.lines.push(Line::default());
                *self.number.insert(capture.lines.len() as u32 - 1)
            }
        };
        let call = capture.calls.len() as u32;
        let is_replied = |call: &u32| capture.calls[*call as usize].reply.is_some();
        let after = op.places().map(|place| capture.tree.changed_by(place?).filter(is_replied));
        let replies_before = capture.replies_before(connection, record.began);
        let barriers = capture.barriers(&op, connection);
        capture.tree.note_use(&op, connection);
        note_call(&mut capture.tree, &op, call);
        capture.lines[connection as usize].calls.push(call);
        capture.calls.push(Call {
            connection,
            server,
            sent: record.began,
            op,
            reply: None,
            replies_before,
            after,
            barriers,
        });
        Ok(call)
    }

    /// Notes that a call waits for its reply. When there are too many, none of them does any longer.
    fn await_reply(&mut self, xid: Xid, call: Option<u32>, capture: &mut Capture) {
        if self.pending.len() >= MAX_PENDING {
            capture.seen.unanswered_calls += self.unanswered();
            self.pending.clear();
        }
        self.pending.insert(xid, call);
    }

    fn unanswered(&self) -> u64 {
        self.pending.values().flatten().count() as u64
    }

    fn add_reply(&mut self, record: &Record<'_>, capture: &mut Capture) {
        let Some(xid) = record.message.first_chunk().map(|xid| Xid(u32::from_be_bytes(*xid))) else {
            capture.seen.other_messages += 1;
            return;
        };
        let Some(pending) = self.pending.remove(&xid) else {
            capture.seen.lone_replies += 1;
            return;
        };
        let Some(number) = pending else { return };
        let learned = match Reply::parse(record.message) {
            Ok(Reply { outcome: CallResult::Success(results), .. }) => capture.learn(number, &results),
            _ => None,
        };
        let call = &mut capture.calls[number as usize];
        call.reply = Some(Replied { at: record.ended, learned });
        capture.lines[call.connection as usize].replies.push(number);
    }
}

#[cfg(test)]
impl Call {
    /// A NULL call.
    pub(super) fn of_nothing(connection: u32, sent: Duration, replied: Option<Duration>) -> Call {
        Call {
            connection,
            server: std::net::Ipv4Addr::LOCALHOST.into(),
            sent,
            op: Op::Null,
            reply: replied.map(|at| Replied { at, learned: None }),
            replies_before: 0,
            after: [None; 2],
            barriers: Vec::new(),
        }
    }
}
