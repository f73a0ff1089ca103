//! The calls of NFS in a packet capture, and their replies.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use client::{Status, Version};
use xdr::Decoder;

use super::Error;
use super::ids::FileId;
use super::learn::{Learned, Lesson, note_call};
use super::learn_compound::CompoundLesson;
use super::left_out::LeftOut;
use super::op::Op;
use super::states::{Clients, States};
use super::tree::Tree;

/// The most connections with NFS.
const MAX_CONNECTIONS: usize = 512;
/// The most calls, about 400 MB, and the most bytes of the operations of COMPOUNDs besides.
const MAX_CALLS: usize = 2 << 20;
const MAX_OPERATION_BYTES: usize = 1 << 30;
/// The most replies that are taken to have come while one call was sent.
const MAX_REPLIES_IN_CALL: usize = 1024;

/// The calls of a capture, and the files that they are about.
#[derive(Debug, Default)]
pub struct Capture {
    pub(super) calls: Vec<Call>,
    /// The connections that these are of.
    pub(super) lines: Vec<Line>,
    pub(super) tree: Tree,
    pub(super) states: States,
    pub(super) clients: Clients,
    /// The version that the user wants, and the newest of those that the calls have.
    wanted: Option<Version>,
    version: Option<Version>,
    operation_bytes: usize,
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
    /// The client of NFSv4 that made them.
    pub client: Option<u32>,
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
    /// The calls that changed its names before, and those that made what it uses.
    pub after: Box<[u32]>,
    /// The other connections that used what it changes, and how many replies they had received.
    pub barriers: Vec<(u32, u32)>,
}

/// A call to be added.
pub(super) struct NewCall {
    pub connection: u32,
    pub server: IpAddr,
    pub began: Duration,
    pub version: Version,
    pub op: Op,
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
    /// UDP packets, fragments too.
    pub udp_packets: u64,
    /// Datagrams of which fragments are missing.
    pub lost_datagrams: u64,
    /// Packets of other protocols, and of UDP without NFS.
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
    /// A capture without calls, of which those of this version are wanted.
    pub(super) fn of(wanted: Option<Version>) -> Capture {
        Capture { wanted, ..Capture::default() }
    }

    /// Gives every connection a client.
    pub(super) fn finish(&mut self) {
        for line in &mut self.lines {
            line.client.get_or_insert_with(|| self.clients.new_one());
        }
    }

    /// The version of its calls; the newest minor version if there are several.
    pub fn version(&self) -> Version {
        self.version.unwrap_or(Version::V3)
    }

    /// Leaves out calls of another version than the others. The minor versions with sessions are as good as one.
    pub(super) fn check_version(&self, version: Version) -> Result<(), LeftOut> {
        let is_alike = |other: Version| {
            version == other
                || matches!((version, other), (Version::V4(a), Version::V4(b)) if a.has_sessions() && b.has_sessions())
        };
        if self.version.or(self.wanted).is_none_or(is_alike) { Ok(()) } else { Err(LeftOut::Version(version)) }
    }

    /// Counts a call that is not replayed.
    pub(super) fn leave_out(&mut self, why: LeftOut) {
        *self.left_out.entry(why).or_default() += 1;
    }

    /// Adds a line for the calls of a connection. Returns its number.
    pub(super) fn add_line(&mut self) -> Result<u32, Error> {
        if self.lines.len() >= MAX_CONNECTIONS {
            return Err(Error::TooManyConnections(MAX_CONNECTIONS));
        }
        self.lines.push(Line::default());
        Ok(self.lines.len() as u32 - 1)
    }

    /// Adds a call. Returns its number.
    pub(super) fn add_call(&mut self, new: NewCall) -> Result<u32, Error> {
        let NewCall { connection, server, began, version, op } = new;
        if let Op::Compound(compound) = &op {
            self.operation_bytes += compound.operations.len();
        }
        if self.calls.len() >= MAX_CALLS || self.operation_bytes > MAX_OPERATION_BYTES {
            return Err(Error::TooManyCalls(self.calls.len()));
        }
        self.version = self.version.max(Some(version));
        let number = self.calls.len() as u32;
        let (after, barriers) = (self.before(&op, connection), self.barriers(&op, connection));
        let replies_before = self.replies_before(connection, began);
        self.tree.note_use(op.files(), op.places(), connection);
        op.states().iter().for_each(|state| self.states[*state].users.add(connection));
        note_call(&mut self.tree, &op, number);
        if op.changes_opens() {
            op.open_file().into_iter().for_each(|file| self.tree[file].opened_by.note(connection, number));
            op.states().iter().for_each(|state| self.states[*state].changed_by.note(connection, number));
        }
        self.lines[connection as usize].calls.push(number);
        self.calls.push(Call { connection, server, sent: began, op, reply: None, replies_before, after, barriers });
        Ok(number)
    }

    /// The calls that changed the names of a call before, and that made what it uses.
    fn before(&self, op: &Op, connection: u32) -> Box<[u32]> {
        let changes = op.places().into_iter().filter_map(|place| self.tree.changed_by(place));
        let states = op.states().iter().map(|state| &self.states[*state]);
        let states = states.flat_map(|state| state.made_by.into_iter().chain(state.changed_by.calls()));
        let opens = op.open_file().into_iter().flat_map(|file| self.tree[file].opened_by.calls());
        let before: BTreeSet<u32> = changes.chain(states).chain(opens).collect();
        let waited_for = |call: &u32| {
            let call = &self.calls[*call as usize];
            call.reply.is_some() && call.connection != connection
        };
        before.into_iter().filter(waited_for).collect()
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
        let changed = op.changes().into_iter().map(|(place, _)| place);
        let mut users = self.tree.take_users(op.resized(), changed);
        if op.ends_states() {
            op.states().iter().for_each(|state| users.take(&mut self.states[*state].users));
        }
        let others = users.0.into_iter().filter(|other| *other != connection);
        others.map(|other| (other, self.lines[other as usize].replies.len() as u32)).collect()
    }

    /// When the last of the replies was received that a call of their connection had waited for.
    pub(super) fn last_reply_before(&self, call: &Call) -> Option<Duration> {
        let index = call.replies_before.checked_sub(1)?;
        let last = *self.lines[call.connection as usize].replies.get(index as usize)?;
        self.calls[last as usize].reply.map(|reply| reply.at)
    }

    /// Learns from the results of a call.
    pub(super) fn learn(&mut self, number: u32, results: &Decoder<'_>) -> Option<Learned> {
        let Call { server, op, .. } = &mut self.calls[number as usize];
        let (tree, states, server) = (&mut self.tree, &mut self.states, *server);
        op.changes().into_iter().for_each(|(place, _)| tree.note_answer(place, number));
        match op {
            Op::Compound(compound) => CompoundLesson { tree, states, server, call: number }.learn(compound, results),
            op => Lesson { tree, server, call: number }.learn(op, results),
        }
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
            (seen.lost_datagrams, "datagrams lack fragments"),
            (seen.other_packets, "packets are neither TCP nor NFS over UDP"),
        ];
        let left_out = self.left_out.iter().map(|(why, count)| format!("{count} calls are {why}"));
        let counted =
            counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        seen.truncated.iter().cloned().chain(left_out).chain(counted).collect()
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
            after: Box::default(),
            barriers: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use buffer::Buffer;
    use client::proto::nfs4::{
        ArgOp, ClientId, CloseArgs, CompoundArgs, FileHandle, OpenArgs, OpenClaim, OpenHow, PutfhArgs, StateOwner,
        Stateid,
    };
    use client::v4::MinorVersion;
    use xdr::{Encode, Encoder};

    use super::super::compound::Compound;
    use super::super::states::Numbering;
    use super::*;

    const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Adds a call on the file of this handle, which was answered at once. Returns its number.
    fn add(capture: &mut Capture, connection: u32, file: u8, operation: ArgOp<'_>) -> u32 {
        let object = FileHandle::new(&[file]).unwrap();
        let operations = vec![ArgOp::Putfh(PutfhArgs { object }), operation];
        let mut buffer = Buffer::new();
        CompoundArgs { tag: b"", minor_version: 1, operations }.encode(&mut Encoder::new(&mut buffer));
        let numbering = Numbering { tree: &mut capture.tree, states: &mut capture.states, server: SERVER };
        let decoded = Compound::decode(Decoder::new(buffer.as_slice()), numbering).unwrap();
        let (op, version) = (Op::Compound(Box::new(decoded.compound)), Version::V4(MinorVersion::V1));
        let new = NewCall { connection, server: SERVER, began: Duration::ZERO, version, op };
        let number = capture.add_call(new).unwrap();
        capture.calls[number as usize].reply = Some(Replied { at: Duration::ZERO, learned: None });
        number
    }

    fn open() -> ArgOp<'static> {
        let owner = StateOwner { client: ClientId(1), owner: b"owner" };
        let (how, claim) = (OpenHow::NoCreate, OpenClaim::Fh);
        ArgOp::Open(OpenArgs { seqid: 0, share_access: 1, share_deny: 0, owner, how, claim })
    }

    fn close() -> ArgOp<'static> {
        ArgOp::Close(CloseArgs { seqid: 0, open_stateid: Stateid { seqid: 1, other: [3; 12] } })
    }

    #[test]
    fn opens_and_closes_of_a_file_keep_their_order_on_all_connections() {
        let mut capture = Capture::default();
        for _ in 0..3 {
            capture.add_line().unwrap();
        }
        let opened = [add(&mut capture, 0, 7, open()), add(&mut capture, 1, 7, open())];
        let closed = add(&mut capture, 2, 7, close());
        let again = add(&mut capture, 0, 7, open());
        let elsewhere = add(&mut capture, 0, 8, open());
        let after = |call: u32| &capture.calls[call as usize].after[..];
        assert_eq!(after(closed), opened);
        assert_eq!(after(again), [opened[1], closed]);
        assert_eq!(after(elsewhere), [0; 0]);
    }
}
