//! A client of NFSv4.2 with a session, which sends whole COMPOUNDs and gets whole results.

use std::cell::Cell;

use proto::nfs4::{
    ArgOp, CREATE_SESSION_CONN_BACK_CHAN, CallbackSec, ChannelAttrs, Component, Compound, CompoundArgs,
    CreateSessionArgs, DestroySessionArgs, ExchangeIdArgs, LookupArgs, ReadPlusArgs, ReadPlusOk, ReadPlusSegment,
    ReclaimCompleteArgs, Res, ResOp, SequenceArgs, SessionId, SlotId, StateProtect, Stateid, Status,
};

use testing::caller::Caller;

/// The largest requests and replies, in bytes.
const MESSAGE_BYTES: u32 = (1 << 20) + 4096;

pub struct Client<'s> {
    pub caller: Caller<'s>,
    minor: u32,
    session: SessionId,
    next: Cell<u32>,
}

impl<'s> Client<'s> {
    pub fn new(caller: Caller<'s>, minor: u32) -> Client<'s> {
        Client::start(caller, minor, 0)
    }

    /// A client of NFSv4.2 that can be called back over its connection.
    pub fn with_back_channel(caller: Caller<'s>) -> Client<'s> {
        Client::start(caller, 2, CREATE_SESSION_CONN_BACK_CHAN)
    }

    fn start(caller: Caller<'s>, minor: u32, flags: u32) -> Client<'s> {
        // Each caller is a client of its own (RFC 8881 §18.35.4).
        let name = format!("{:?}", caller.credential);
        let exchange = ExchangeIdArgs {
            verifier: [1; 8],
            owner_id: name.as_bytes(),
            flags: 0,
            state_protect: StateProtect::None,
            implementation: None,
        };
        let mut client = Client { caller, minor, session: SessionId::default(), next: Cell::new(1) };
        let results = client.send(vec![ArgOp::ExchangeId(exchange)]).1;
        let Some(ResOp::ExchangeId(Res::Ok(exchanged))) = results.first() else { panic!("{results:?}") };
        let channel = ChannelAttrs {
            max_request_size: MESSAGE_BYTES,
            max_response_size: MESSAGE_BYTES,
            max_response_size_cached: 4096,
            max_operations: 16,
            max_requests: 1,
            ..ChannelAttrs::default()
        };
        let create = CreateSessionArgs {
            client: exchanged.client,
            sequence: exchanged.sequence,
            flags,
            fore: channel,
            back: channel,
            callback_program: 0x4000_0000,
            callback_security: vec![CallbackSec::None],
        };
        let results = client.send(vec![ArgOp::CreateSession(create)]).1;
        let Some(ResOp::CreateSession(Res::Ok(created))) = results.first() else { panic!("{results:?}") };
        client.session = created.session;
        client.ops(vec![ArgOp::ReclaimComplete(ReclaimCompleteArgs { one_fs: false })]);
        client
    }

    /// Ends the session.
    pub fn end_session(&self) -> Status {
        self.send(vec![ArgOp::DestroySession(DestroySessionArgs { session: self.session })]).0
    }

    fn send(&self, operations: Vec<ArgOp<'_>>) -> (Status, Vec<ResOp<'static>>) {
        let arguments = CompoundArgs { tag: b"", minor_version: self.minor, operations };
        let reply = self.caller.call::<Compound>(&arguments);
        (reply.status, reply.results)
    }

    /// The bytes of a request for one operation on the file at `path`.
    pub fn message_on(&self, path: &str, operation: ArgOp<'_>) -> Vec<u8> {
        let mut operations = vec![self.sequence()];
        operations.extend(walk(path));
        operations.push(operation);
        self.caller.message::<Compound>(&CompoundArgs { tag: b"", minor_version: self.minor, operations })
    }

    fn sequence(&self) -> ArgOp<'static> {
        ArgOp::Sequence(SequenceArgs {
            session: self.session,
            sequence: self.next.replace(self.next.get() + 1),
            slot: SlotId(0),
            highest_slot: SlotId(0),
            cache_this: false,
        })
    }

    /// Carries out operations in the session; the results are without SEQUENCE's.
    pub fn ops(&self, operations: Vec<ArgOp<'_>>) -> (Status, Vec<ResOp<'static>>) {
        let mut all = vec![self.sequence()];
        all.extend(operations);
        let (status, mut results) = self.send(all);
        results.remove(0);
        (status, results)
    }

    /// Carries out one operation on the file at `path`; the result is that operation's.
    pub fn on(&self, path: &str, operation: ArgOp<'_>) -> (Status, ResOp<'static>) {
        let mut operations = walk(path);
        operations.push(operation);
        let (status, mut results) = self.ops(operations);
        (status, results.pop().unwrap())
    }

    /// Carries out one operation with the file at `saved` saved and the one at `current` current.
    pub fn between(&self, saved: &str, current: &str, operation: ArgOp<'_>) -> (Status, ResOp<'static>) {
        let mut operations = walk(saved);
        operations.push(ArgOp::Savefh);
        operations.extend(walk(current));
        operations.push(operation);
        let (status, mut results) = self.ops(operations);
        (status, results.pop().unwrap())
    }

    pub fn read_plus(&self, path: &str, offset: u64, count: u32) -> ReadPlusOk<'static> {
        match self.on(path, ArgOp::ReadPlus(ReadPlusArgs { stateid: Stateid::ANONYMOUS, offset, count })).1 {
            ResOp::ReadPlus(Res::Ok(ok)) => ok,
            other => panic!("{other:?}"),
        }
    }
}

/// The operations that go to the file at `path`.
fn walk(path: &str) -> Vec<ArgOp<'_>> {
    let names = path.split('/').filter(|name| !name.is_empty());
    let lookups = names.map(|name| ArgOp::Lookup(LookupArgs { name: Component(name.as_bytes()) }));
    std::iter::once(ArgOp::Putrootfh).chain(lookups).collect()
}

/// The bytes that the segments of a reply stand for; they must follow each other from `offset` on.
#[track_caller]
pub fn bytes_of(reply: &ReadPlusOk<'_>, offset: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for segment in &reply.segments {
        let at = offset + bytes.len() as u64;
        match segment {
            ReadPlusSegment::Data { offset, data } => {
                assert!(*offset == at && !data.is_empty());
                bytes.extend_from_slice(data);
            }
            ReadPlusSegment::Hole { offset, length } => {
                assert!(*offset == at && *length > 0);
                bytes.resize(bytes.len() + *length as usize, 0);
            }
        }
    }
    bytes
}

/// The kinds of the segments: `D` and `H`.
pub fn kinds(reply: &ReadPlusOk<'_>) -> String {
    let kind = |segment: &ReadPlusSegment<'_>| if matches!(segment, ReadPlusSegment::Data { .. }) { 'D' } else { 'H' };
    reply.segments.iter().map(kind).collect()
}
