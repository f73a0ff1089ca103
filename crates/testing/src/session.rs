//! A client of NFSv4.1 or NFSv4.2 with a session.

use std::cell::Cell;

use proto::nfs4::{
    CREATE_SESSION_CONN_BACK_CHAN, CallbackSec, ChannelAttrs, CreateSession, CreateSessionArgs, ExchangeId,
    ExchangeIdArgs, ReclaimComplete, ReclaimCompleteArgs, Sequence, SequenceArgs, SessionId, SlotId, StateProtect,
};

use crate::caller::Caller;
use crate::compound::{Compound, Results, success};

/// The channels of most sessions.
pub const CHANNEL: ChannelAttrs = ChannelAttrs {
    header_pad_size: 0,
    max_request_size: 1 << 20,
    max_response_size: 1 << 20,
    max_response_size_cached: 4096,
    max_operations: 64,
    max_requests: 4,
    rdma_ird: None,
};

pub struct Session<'s> {
    pub caller: Caller<'s>,
    pub minor: u32,
    pub id: SessionId,
    /// What the server grants of the fore channel.
    pub fore: ChannelAttrs,
    /// The sequence number of the next request on slot 0.
    pub next: Cell<u32>,
}

impl<'s> Session<'s> {
    pub fn new(caller: Caller<'s>, minor: u32) -> Session<'s> {
        Session::named(caller, minor, b"the client")
    }

    /// A client called `name`, which has nothing to reclaim.
    pub fn named(caller: Caller<'s>, minor: u32, name: &[u8]) -> Session<'s> {
        Session::made(caller, minor, name, (0, CHANNEL))
    }

    /// The same, with these channels.
    pub fn with_channel(caller: Caller<'s>, minor: u32, name: &[u8], channel: ChannelAttrs) -> Session<'s> {
        Session::made(caller, minor, name, (0, channel))
    }

    /// The same, with a back channel over its connection.
    pub fn with_back_channel(caller: Caller<'s>, minor: u32, name: &[u8]) -> Session<'s> {
        Session::made(caller, minor, name, (CREATE_SESSION_CONN_BACK_CHAN, CHANNEL))
    }

    fn made(caller: Caller<'s>, minor: u32, name: &[u8], (flags, channel): (u32, ChannelAttrs)) -> Session<'s> {
        let exchange = ExchangeIdArgs {
            verifier: [1; 8],
            owner_id: name,
            flags: 0,
            state_protect: StateProtect::None,
            implementation: None,
        };
        let exchanged = caller.compound(&Compound::new(minor).op::<ExchangeId>(&exchange)).take::<ExchangeId>();
        let exchanged = success(exchanged);
        let create = CreateSessionArgs {
            client: exchanged.client,
            sequence: exchanged.sequence,
            flags,
            fore: channel,
            back: channel,
            callback_program: 0x4000_0000,
            callback_security: vec![CallbackSec::None],
        };
        let created = caller.compound(&Compound::new(minor).op::<CreateSession>(&create)).take::<CreateSession>();
        let created = success(created);
        let session = Session { caller, minor, id: created.session, fore: created.fore, next: Cell::new(1) };
        let done = session.begin().op::<ReclaimComplete>(&ReclaimCompleteArgs { one_fs: false });
        success(session.call(&done).take::<ReclaimComplete>());
        session
    }

    /// The arguments of a SEQUENCE on slot 0.
    pub fn sequence(&self, sequence: u32) -> SequenceArgs {
        SequenceArgs { session: self.id, sequence, slot: SlotId(0), highest_slot: SlotId(0), cache_this: true }
    }

    /// A COMPOUND that begins with the next SEQUENCE.
    pub fn begin(&self) -> Compound {
        let next = self.next.replace(self.next.get() + 1);
        Compound::new(self.minor).op::<Sequence>(&self.sequence(next))
    }

    /// Sends what [`Session::begin`] began; the result of SEQUENCE is taken from the reply.
    #[track_caller]
    pub fn call(&self, compound: &Compound) -> Results {
        let mut results = self.caller.compound(compound);
        success(results.take::<Sequence>());
        results
    }
}
