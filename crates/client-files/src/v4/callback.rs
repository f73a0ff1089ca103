//! Callbacks: calls by the server. They use the client's own connections from 4.1 on (RFC 8881 §2.10.3.1 and §20), and
//! a connection of the server's in 4.0 (RFC 7530 §17).

use std::sync::Weak;

use buffer::Buffer;
use bytes::Bytes;
use client_calls::BackCalls;
use client_calls::core::BackEvent;
use proto::nfs4::{
    CALLBACK_PROGRAM, CallbackArgOp, CallbackResOp, CbCompoundArgs, CbCompoundReply, CbSequenceArgs, Res, Status,
};
use rpc::{AuthStat, Call, CallError, Rejection, Xid};
use xdr::{Decode, Encode, Encoder};

use super::back_slots::Sequenced;
use super::cb_getattr::{self, Answer};
use super::client::{Client, Inner};

/// Answers the callbacks of one connection until it is closed or the client is dropped. A replacement stream carries
/// callbacks only after it is bound to the session (RFC 8881 §2.10.3.1).
pub(super) async fn serve(calls: BackCalls, number: usize, client: Weak<Inner>) {
    while let Some(event) = calls.next().await {
        let Some(client) = client.upgrade().map(Client::of) else { return };
        match event {
            BackEvent::Replaced => client.bind_stream(number),
            BackEvent::Call(message) => {
                if let Some(reply) = answer(&message, &client).await {
                    calls.answer(reply);
                }
            }
            // Applications see an enum that may grow; this crate knows all of it.
            _ => {}
        }
    }
}

/// The reply to a call; `None` if the message is no call.
pub(super) async fn answer(message: &[u8], client: &Client) -> Option<Bytes> {
    let call = match Call::parse(message) {
        Ok(call) => call,
        Err(CallError::NotACall(_)) => return None,
        Err(CallError::WrongVersion { xid, .. }) => return Some(rejection(xid, None)),
        Err(CallError::Broken { xid, .. }) => return Some(rejection(xid, Some(Rejection::GarbageArguments))),
    };
    let xid = call.xid;
    if call.procedure.program != CALLBACK_PROGRAM {
        return Some(rejection(xid, Some(Rejection::ProgramUnavailable)));
    }
    match call.procedure.number {
        0 => Some(success(xid, &[])),
        1 => {
            let mut arguments = call.arguments;
            Some(match CbCompoundArgs::decode(&mut arguments) {
                Ok(compound) if !is_meant(&compound, client) => {
                    rejection(xid, Some(Rejection::AuthError(AuthStat::BadCredential)))
                }
                Ok(compound) => {
                    let told = cb_getattr::answers(&compound.operations, client).await;
                    success(xid, &carry_out(&compound, &told, client))
                }
                Err(_) => rejection(xid, Some(Rejection::GarbageArguments)),
            })
        }
        _ => Some(rejection(xid, Some(Rejection::ProcedureUnavailable))),
    }
}

/// Whether a call is for this client. A 4.0 server repeats the number from SETCLIENTID (RFC 7530 §17.2), which nobody
/// else knows.
fn is_meant(compound: &CbCompoundArgs<'_>, client: &Client) -> bool {
    let told = client.0.identity.called_at.map(|place| place.ident);
    client.minor_version().has_sessions() || told == Some(compound.callback_ident)
}

fn success(xid: Xid, results: &[u8]) -> Bytes {
    let mut buffer = Buffer::new();
    rpc::Reply::encode_success(xid, &mut Encoder::new(&mut buffer));
    buffer.put(results);
    Bytes::copy_from_slice(buffer.as_slice())
}

fn rejection(xid: Xid, rejection: Option<Rejection>) -> Bytes {
    let mut buffer = Buffer::new();
    let mut to = Encoder::new(&mut buffer);
    match rejection {
        Some(rejection) => rpc::Reply::encode_rejection(xid, rejection, &mut to),
        None => rpc::Reply::encode_wrong_version(xid, &mut to),
    }
    Bytes::copy_from_slice(buffer.as_slice())
}

/// Carries out a CB_COMPOUND and encodes its results.
fn carry_out(compound: &CbCompoundArgs<'_>, told: &[Answer], client: &Client) -> Vec<u8> {
    if compound.minor_version != client.minor_version().number() {
        return encode(compound, Status::MinorVersMismatch, Vec::new());
    }
    if !client.minor_version().has_sessions() {
        return carry_out_all(compound, Vec::new(), compound.operations.iter().zip(told), client);
    }
    // From 4.1 on CB_SEQUENCE comes first (RFC 8881 §20.9.3).
    let Some((CallbackArgOp::CbSequence(sequence), operations)) = compound.operations.split_first() else {
        return encode(compound, Status::OpNotInSession, Vec::new());
    };
    let place = match &client.session().channel {
        Some(channel) => client.0.callbacks.slots().place(sequence, channel.session),
        None => Err(Status::BadSession),
    };
    match place {
        Err(status) => encode(compound, status, vec![CallbackResOp::CbSequence(Res::Fail(status))]),
        Ok(Sequenced::Again(results)) => results,
        Ok(Sequenced::New(ok)) => {
            let first = vec![CallbackResOp::CbSequence(Res::Ok(ok))];
            let results = carry_out_all(compound, first, operations.iter().zip(&told[1..]), client);
            keep(client, sequence, &results);
            results
        }
    }
}

fn keep(client: &Client, sequence: &CbSequenceArgs, results: &[u8]) {
    client.0.callbacks.slots().keep(sequence, results);
}

/// Carries out operations until one fails; `results` begins with that of CB_SEQUENCE from 4.1 on.
fn carry_out_all<'a>(
    compound: &CbCompoundArgs<'a>,
    mut results: Vec<CallbackResOp<'a>>,
    operations: impl Iterator<Item = (&'a CallbackArgOp<'a>, &'a Answer)>,
    client: &Client,
) -> Vec<u8> {
    for (operation, told) in operations {
        let (status, result) = one(operation, told, client);
        results.push(result);
        if status != Status::Ok {
            return encode(compound, status, results);
        }
    }
    encode(compound, Status::Ok, results)
}

fn encode(compound: &CbCompoundArgs<'_>, status: Status, results: Vec<CallbackResOp<'_>>) -> Vec<u8> {
    let mut buffer = Buffer::new();
    CbCompoundReply { status, tag: compound.tag, results }.encode(&mut Encoder::new(&mut buffer));
    buffer.as_slice().to_vec()
}

/// Carries out one operation. While an OPEN is in flight, a recall of an unknown delegation is deferred: it may have
/// overtaken the reply to the OPEN (RFC 8881 §10.2.1).
fn one<'a>(operation: &CallbackArgOp<'_>, told: &'a Answer, client: &Client) -> (Status, CallbackResOp<'a>) {
    use CallbackArgOp as Arg;
    use CallbackResOp as Result;
    let plain = |status: Status| if status == Status::Ok { Res::Ok(()) } else { Res::Fail(status) };
    let is_there = matches!(operation, Arg::CbGetattr(_) | Arg::CbRecall(_)) || client.minor_version().has_sessions();
    if !is_there {
        // 4.0 has only CB_GETATTR and CB_RECALL (RFC 7530 §18).
        return (Status::OpIllegal, Result::Illegal(Status::OpIllegal));
    }
    let (status, make): (Status, fn(Res<()>) -> Result<'a>) = match operation {
        Arg::CbRecall(args) => {
            let is_known = client.recall(&args.file.into(), args.stateid);
            let unknown = if client.0.opens.are_under_way() { Status::Delay } else { Status::BadStateid };
            (if is_known { Status::Ok } else { unknown }, Result::CbRecall)
        }
        Arg::CbRecallAny(args) => {
            client.recall_any(args);
            (Status::Ok, Result::CbRecallAny)
        }
        Arg::CbRecallableObjAvail(_) => (Status::Ok, Result::CbRecallableObjAvail),
        Arg::CbWantsCancelled(_) => (Status::Ok, Result::CbWantsCancelled),
        Arg::CbPushDeleg(_) => (Status::RejectDeleg, Result::CbPushDeleg),
        Arg::CbOffload(args) => (client.0.offloads.end(args), Result::CbOffload),
        Arg::CbRecallSlot(args) => {
            client.session().channel.iter().for_each(|channel| channel.slots.aim(args.target_highest_slot));
            (Status::Ok, Result::CbRecallSlot)
        }
        Arg::CbNotifyLock(_) => {
            client.0.callbacks.lock_freed.notify_waiters();
            (Status::Ok, Result::CbNotifyLock)
        }
        Arg::CbGetattr(_) => {
            return match told {
                Ok(told) => (Status::Ok, Result::CbGetattr(Res::Ok(told.fattr()))),
                Err(status) => (*status, Result::CbGetattr(Res::Fail(*status))),
            };
        }
        Arg::CbSequence(_) => {
            return (Status::SequencePos, Result::CbSequence(Res::Fail(Status::SequencePos)));
        }
        Arg::Illegal => return (Status::OpIllegal, Result::Illegal(Status::OpIllegal)),
    };
    (status, make(plain(status)))
}
