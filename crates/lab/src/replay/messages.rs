//! The calls and replies of one connection of a capture.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use client::Version;
use client::proto::nfs4::{self, CALLBACK_PROGRAM, ClientId, CompoundHead, CompoundReplyHead, MinorVersion, ResOp};
use client::proto::{Operation, nfs3};
use rpc::{Call as RpcCall, CallError, CallResult, Flavor, Procedure, Reply, Xid};
use xdr::{Decode, Decoder};

use super::Error;
use super::capture::{Capture, NewCall, Replied};
use super::compound::{Compound, Holder};
use super::decode::Decoded;
use super::left_out::LeftOut;
use super::op::Op;
use super::records::Record;
use super::states::Numbering;
use super::tree::NumbersOf;

/// The most calls of a connection that wait for their replies.
const MAX_PENDING: usize = 1 << 16;
/// How many answered calls of a client over UDP are known.
const MAX_ANSWERED: usize = 256;
/// RPCSEC_GSS (RFC 2203 §4).
const GSS: Flavor = Flavor(6);

/// The calls of one connection.
#[derive(Debug, Default)]
pub(super) struct Rpc {
    /// The number of the connection, if there is NFS on it.
    number: Option<u32>,
    /// The calls without reply, by their direction: servers call too.
    pending: HashMap<(usize, Xid), Pending>,
    /// Over UDP, the latest calls that were answered: clients may have sent them again before.
    answered: Option<VecDeque<(usize, Xid)>>,
}

/// A call that waits for its reply.
#[derive(Debug, Clone, Copy)]
enum Pending {
    /// One that is left out.
    LeftOut,
    /// One that is left out, and whose reply has a session of this client.
    Session(IpAddr, ClientId),
    /// The call of this number.
    Call(u32),
}

/// A call that can be replayed.
struct Replayable {
    op: Op,
    version: Version,
    holder: Option<Holder>,
}

impl Rpc {
    /// Calls in datagrams.
    pub(super) fn over_datagrams() -> Rpc {
        Rpc { answered: Some(VecDeque::new()), ..Rpc::default() }
    }

    /// Adds a message that was sent to this end, in this direction.
    pub(super) fn add(
        &mut self,
        record: &Record<'_>,
        to: (SocketAddr, usize),
        capture: &mut Capture,
    ) -> Result<(), Error> {
        if rpc::is_reply(record.message) {
            self.add_reply(record, 1 - to.1, capture);
            return Ok(());
        }
        match RpcCall::parse(record.message) {
            Ok(call) => self.add_call(record, &call, to, capture),
            Err(CallError::NotACall(xdr::Error::Truncated { .. }))
            | Err(CallError::Broken { source: xdr::Error::Truncated { .. }, .. }) => {
                capture.leave_out(LeftOut::Truncated);
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
        (server, way): (SocketAddr, usize),
        capture: &mut Capture,
    ) -> Result<(), Error> {
        let is_answered = self.answered.iter().flatten().any(|answered| *answered == (way, call.xid));
        if is_answered || self.pending.contains_key(&(way, call.xid)) {
            capture.seen.repeated_calls += 1;
            return Ok(());
        }
        let pending = match decode(call, server.ip(), capture) {
            Ok(replayable) => Pending::Call(self.push(record, server.ip(), replayable, capture)?),
            Err(why) => {
                capture.leave_out(why);
                let client = if why == LeftOut::Session { Compound::session_of(call.arguments.clone()) } else { None };
                client.map_or(Pending::LeftOut, |client| Pending::Session(server.ip(), client))
            }
        };
        self.await_reply((way, call.xid), pending, capture);
        Ok(())
    }

    fn push(
        &mut self,
        record: &Record<'_>,
        server: IpAddr,
        call: Replayable,
        capture: &mut Capture,
    ) -> Result<u32, Error> {
        let connection = match self.number {
            Some(number) => number,
            None => *self.number.insert(capture.add_line()?),
        };
        let line = &mut capture.lines[connection as usize];
        line.client = line.client.or_else(|| match call.holder? {
            Holder::Session(session) => capture.clients.of_session(server, session),
            Holder::Id(client) => capture.clients.of_id(server, client),
        });
        let Replayable { op, version, .. } = call;
        capture.add_call(NewCall { connection, server, began: record.began, version, op })
    }

    /// Notes that a call waits for its reply. When there are too many, none of them does any longer.
    fn await_reply(&mut self, call: (usize, Xid), pending: Pending, capture: &mut Capture) {
        if self.pending.len() >= MAX_PENDING {
            capture.seen.unanswered_calls += self.unanswered();
            self.pending.clear();
        }
        self.pending.insert(call, pending);
    }

    /// How many calls have no reply.
    pub(super) fn unanswered(&self) -> u64 {
        self.pending.values().filter(|pending| matches!(pending, Pending::Call(_))).count() as u64
    }

    fn add_reply(&mut self, record: &Record<'_>, way: usize, capture: &mut Capture) {
        let Some(xid) = record.message.first_chunk().map(|xid| Xid(u32::from_be_bytes(*xid))) else {
            capture.seen.other_messages += 1;
            return;
        };
        let results = match Reply::parse(record.message) {
            Ok(Reply { outcome: CallResult::Success(results), .. }) => Some(results),
            _ => None,
        };
        if let Some(answered) = &mut self.answered {
            if answered.contains(&(way, xid)) {
                return;
            }
            answered.push_back((way, xid));
            let excess = answered.len().saturating_sub(MAX_ANSWERED);
            answered.drain(..excess);
        }
        match self.pending.remove(&(way, xid)) {
            None => capture.seen.lone_replies += 1,
            Some(Pending::LeftOut) => {}
            Some(Pending::Session(server, client)) => {
                if let Some(session) = results.and_then(created_session) {
                    capture.clients.note_session(server, session, client);
                }
            }
            Some(Pending::Call(number)) => {
                let learned = results.and_then(|results| capture.learn(number, &results));
                let call = &mut capture.calls[number as usize];
                call.reply = Some(Replied { at: record.ended, learned });
                capture.lines[call.connection as usize].replies.push(number);
            }
        }
    }
}

/// Whether a datagram is a call of NFS.
pub(super) fn is_nfs_call(message: &[u8]) -> bool {
    !rpc::is_reply(message) && RpcCall::parse(message).is_ok_and(|call| call.procedure.program == nfs3::PROGRAM)
}

fn decode(call: &RpcCall<'_>, server: IpAddr, capture: &mut Capture) -> Result<Replayable, LeftOut> {
    match call.procedure {
        Procedure { program: nfs3::PROGRAM, .. } if call.credential.flavor == GSS => Err(LeftOut::Secured),
        Procedure { program: nfs3::PROGRAM, version: nfs3::VERSION, number } => {
            capture.check_version(Version::V3)?;
            let mut numbers = NumbersOf { tree: &mut capture.tree, server };
            let op = Op::decode(number, call.arguments.clone(), &mut numbers)?;
            Ok(Replayable { op, version: Version::V3, holder: None })
        }
        Procedure { program: nfs4::PROGRAM, version: nfs4::VERSION, number } => match number {
            nfs4::Compound::PROCEDURE => decode_compound(&call.arguments, server, capture),
            nfs4::Null::PROCEDURE => Err(LeftOut::Session),
            other => Err(LeftOut::Procedure(other)),
        },
        Procedure { program: nfs3::PROGRAM, .. } => Err(LeftOut::Version2),
        Procedure { program: CALLBACK_PROGRAM, .. } => Err(LeftOut::Callback),
        Procedure { program, .. } => Err(LeftOut::Program(program)),
    }
}

fn decode_compound(arguments: &Decoder<'_>, server: IpAddr, capture: &mut Capture) -> Result<Replayable, LeftOut> {
    let head = CompoundHead::decode(&mut arguments.clone())?;
    let minor = MinorVersion::from_number(head.minor_version).ok_or(LeftOut::Damaged)?;
    capture.check_version(Version::V4(minor))?;
    let numbering = Numbering { tree: &mut capture.tree, states: &mut capture.states, server };
    let Decoded { compound, holder } = Compound::decode(arguments.clone(), numbering)?;
    Ok(Replayable { op: Op::Compound(Box::new(compound)), version: Version::V4(minor), holder })
}

/// The session in the results of CREATE_SESSION.
fn created_session(mut from: Decoder<'_>) -> Option<nfs4::SessionId> {
    CompoundReplyHead::decode(&mut from).ok()?;
    match ResOp::decode(&mut from).ok()? {
        ResOp::CreateSession(nfs4::Res::Ok(ok)) => Some(ok.session),
        _ => None,
    }
}
