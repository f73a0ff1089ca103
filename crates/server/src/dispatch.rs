//! Dispatches a message to the procedure that it calls, and builds the reply.

use buffer::Output;
use peer::Transport;
use proto::Operation;
use rpc::{Call, CallError, Rejection, Reply, Xid};
use xdr::Encoder;

use crate::counters::CountedEvent;
use crate::fault::NoResults;
use crate::identity::Identity;
use crate::node::CallContext;
use crate::replay::{Begun, CallState, MAX_REPLY_BYTES, ReplayCache, ReplayKey};
use crate::request::{Answer, Request};
use crate::security::{self, EntryRefusal};
use crate::server::Server;
use crate::{mount, nlm, nsm, rpcbind, v2, v3, v4};

/// How to run a version of a program.
struct Program {
    /// Runs one procedure and appends its results.
    run: fn(&CallContext<'_>, &Call<'_>, &mut Output) -> Result<(), NoResults>,
    /// Whether the call is not idempotent.
    is_non_idempotent: fn(&Call<'_>) -> bool,
    /// The WRITE procedure, if datagrams can carry it: a late duplicate must not overwrite newer data.
    write: Option<u32>,
    /// Whether replies stay valid after a restart, so that they are logged.
    outlives_process: bool,
}

impl Program {
    /// A program whose calls are all idempotent.
    const fn repeatable(run: fn(&CallContext<'_>, &Call<'_>, &mut Output) -> Result<(), NoResults>) -> Program {
        Program { run, is_non_idempotent: |_| false, write: None, outlives_process: false }
    }

    /// A version of NFSACL. A late duplicate of SETACL would undo a later one.
    const fn of_access_lists(run: fn(&CallContext<'_>, &Call<'_>, &mut Output) -> Result<(), NoResults>) -> Program {
        let is_non_idempotent = |call: &Call<'_>| call.procedure.number == proto::nfsacl::Setacl3::PROCEDURE;
        Program { run, is_non_idempotent, write: None, outlives_process: true }
    }
}

/// The program of a call. NFSv4 requires a transport with congestion control (RFC 7530 §3.1), which UDP lacks.
fn program(program: u32, version: u32, transport: Transport) -> Result<Program, Rejection> {
    match (program, version) {
        (proto::nfs4::PROGRAM, proto::nfs4::VERSION) if transport == Transport::Udp => {
            Err(Rejection::ProgramMismatch { low: 2, high: 3 })
        }
        (proto::nfs3::PROGRAM, proto::nfs3::VERSION) => Ok(Program {
            run: v3::run,
            is_non_idempotent: |call| v3::is_non_idempotent(call.procedure.number),
            write: Some(proto::nfs3::Write::PROCEDURE),
            outlives_process: true,
        }),
        (proto::nfs2::PROGRAM, proto::nfs2::VERSION) => Ok(Program {
            run: v2::run,
            is_non_idempotent: |call| v2::is_non_idempotent(call.procedure.number),
            write: Some(proto::nfs2::Write::PROCEDURE),
            outlives_process: true,
        }),
        (proto::nfs4::PROGRAM, proto::nfs4::VERSION) => {
            Ok(Program { run: v4::run, is_non_idempotent: v4::is_non_idempotent, write: None, outlives_process: true })
        }
        (proto::nfs3::PROGRAM, _) => Err(Rejection::ProgramMismatch { low: 2, high: 4 }),
        (proto::nfsacl::PROGRAM, proto::nfsacl::VERSION_3) => Ok(Program::of_access_lists(v3::run_acl)),
        (proto::nfsacl::PROGRAM, proto::nfsacl::VERSION_2) => Ok(Program::of_access_lists(v2::run_acl)),
        (proto::nfsacl::PROGRAM, _) => Err(Rejection::ProgramMismatch { low: 2, high: 3 }),
        (proto::mount::PROGRAM, 1..=3) => Ok(Program::repeatable(mount::run)),
        (proto::mount::PROGRAM, _) => Err(Rejection::ProgramMismatch { low: 1, high: 3 }),
        // The locks that a reply reports end with the process.
        (proto::nlm::PROGRAM, 1 | 3 | 4) => Ok(Program {
            run: nlm::run,
            is_non_idempotent: |call| nlm::is_non_idempotent(call.procedure.number),
            write: None,
            outlives_process: false,
        }),
        (proto::nlm::PROGRAM, _) => Err(Rejection::ProgramMismatch { low: 1, high: 4 }),
        (proto::nsm::PROGRAM, proto::nsm::VERSION) => Ok(Program::repeatable(nsm::run)),
        (proto::nsm::PROGRAM, _) => Err(Rejection::ProgramMismatch { low: 1, high: 1 }),
        (proto::rpcbind::PROGRAM, 2..=4) => Ok(Program::repeatable(rpcbind::run)),
        (proto::rpcbind::PROGRAM, _) => Err(Rejection::ProgramMismatch { low: 2, high: 4 }),
        _ => Err(Rejection::ProgramUnavailable),
    }
}

impl Server {
    /// Answers one message: appends its reply, without a record mark, to `output`.
    pub fn answer(&self, request: &Request<'_>, output: &mut Output) -> Answer {
        match Call::parse(request.message) {
            Ok(call) => answer_call(self, request, &call, output),
            Err(CallError::WrongVersion { xid, .. }) => {
                self.counters.count(request.worker, CountedEvent::Rejected);
                Reply::encode_wrong_version(xid, &mut Encoder::new(&mut output.bytes));
                Answer::Reply
            }
            Err(CallError::Broken { xid, .. }) => reject(self, request, xid, Rejection::GarbageArguments, output),
            Err(error @ CallError::NotACall(_)) => {
                self.counters.count(request.worker, CountedEvent::NotACall);
                Answer::NotACall(error)
            }
        }
    }
}

fn reject(server: &Server, request: &Request<'_>, xid: Xid, why: Rejection, output: &mut Output) -> Answer {
    server.counters.count(request.worker, CountedEvent::Rejected);
    tracing::debug!(client = %request.peer.address, %xid, %why, "call rejected");
    Reply::encode_rejection(xid, why, &mut Encoder::new(&mut output.bytes));
    Answer::Reply
}

#[inline]
fn answer_call(server: &Server, request: &Request<'_>, call: &Call<'_>, output: &mut Output) -> Answer {
    let program = match program(call.procedure.program, call.procedure.version, request.peer.transport) {
        Ok(program) => program,
        Err(why) => return reject(server, request, call.xid, why, output),
    };
    if security::is_plain(&server.security, call) {
        answer_plain(server, request, &PlainCall { call, program, will_wrap: false }, output)
    } else {
        answer_wrapped(server, request, program, call, output)
    }
}

/// A call behind the stage of security flavours.
struct PlainCall<'a> {
    call: &'a Call<'a>,
    program: Program,
    /// Whether the results will be wrapped.
    will_wrap: bool,
}

/// Answers a call of a flavour that wraps arguments: the stage before and after its procedure.
#[cold]
fn answer_wrapped(
    server: &Server,
    request: &Request<'_>,
    program: Program,
    call: &Call<'_>,
    output: &mut Output,
) -> Answer {
    let secured = match security::enter(&server.security, request.message, call) {
        Ok(secured) => secured,
        Err(EntryRefusal::Refused(stat)) => {
            return reject(server, request, call.xid, Rejection::AuthError(stat), output);
        }
        Err(EntryRefusal::Dropped) => return drop_call(server, request),
    };
    let request = Request { message: secured.message(), ..*request };
    let (call, start) = (secured.call(), output.bytes.len());
    let answer = answer_plain(server, &request, &PlainCall { call: &call, program, will_wrap: true }, output);
    secured.leave(&answer, start, output);
    answer
}

fn answer_plain(server: &Server, request: &Request<'_>, plain: &PlainCall<'_>, output: &mut Output) -> Answer {
    let program = &plain.program;
    let is_datagram = request.peer.transport == Transport::Udp;
    if (program.is_non_idempotent)(plain.call) {
        answer_once(server, &server.replay, request, plain, output)
    } else if is_datagram && program.write == Some(plain.call.procedure.number) {
        let plain = PlainCall { program: Program { outlives_process: false, ..*program }, ..*plain };
        answer_once(server, &server.replay_of_writes, request, &plain, output)
    } else {
        run(server, request, plain, None, output)
    }
}

/// Runs a call that is not idempotent, unless `replay` has seen it before.
fn answer_once(
    server: &Server,
    replay: &ReplayCache,
    request: &Request<'_>,
    plain: &PlainCall<'_>,
    output: &mut Output,
) -> Answer {
    let key = replay.key(&request.peer, plain.call.xid.0, request.message);
    let connection = connection(request);
    let Some(seen) = look_up(server, replay, &key, connection, request) else {
        server.counters.count(request.worker, CountedEvent::Deferred);
        return Answer::WouldBlock(0);
    };
    let happened = match seen {
        CallState::New(happened) => happened,
        CallState::InProgress | CallState::Elsewhere { .. } => {
            return drop_call(server, request);
        }
        CallState::Answered(reply) => {
            server.counters.count(request.worker, CountedEvent::Replayed);
            output.bytes.put(&reply);
            return Answer::Reply;
        }
    };
    let begun = replay.begun(key, connection, happened, plain.program.outlives_process);
    let start = output.bytes.len();
    let answer = run(server, request, plain, Some(&begun), output);
    let reply = &output.bytes.as_slice()[start..];
    // A COMPOUND of NFSv4.0 that both changes and reads may have a larger reply: it is not kept.
    if answer == Answer::Reply && reply.len() <= MAX_REPLY_BYTES {
        begun.finish(reply, request.now);
    }
    answer
}

/// Looks a call up in the replay cache; `None` if only a thread that may block can tell.
fn look_up(
    server: &Server,
    replay: &ReplayCache,
    key: &ReplayKey,
    connection: u64,
    request: &Request<'_>,
) -> Option<CallState> {
    match replay.begin(key, connection, request.now) {
        CallState::Elsewhere { .. } if !request.may_block => None,
        CallState::Elsewhere { .. } => Some(server.begin_elsewhere(replay, key, request)),
        seen => Some(seen),
    }
}

/// The connection of a call; 0 for datagrams.
fn connection(request: &Request<'_>) -> u64 {
    if request.peer.transport == Transport::Tcp { request.peer.connection } else { 0 }
}

fn drop_call(server: &Server, request: &Request<'_>) -> Answer {
    server.counters.count(request.worker, CountedEvent::Dropped);
    Answer::Silent
}

/// Runs the procedure.
fn run(
    server: &Server,
    request: &Request<'_>,
    plain: &PlainCall<'_>,
    begun: Option<&Begun<'_>>,
    output: &mut Output,
) -> Answer {
    let call = plain.call;
    let identity = match Identity::of(&call.credential) {
        Ok(identity) => identity,
        // NULL is for everybody: clients probe with flavours that other procedures refuse.
        Err(_) if call.procedure.number == 0 => Identity::NOBODY,
        Err(stat) => return reject(server, request, call.xid, Rejection::AuthError(stat), output),
    };
    let exports = server.exports.load();
    let may_send_files = request.peer.transport == Transport::Tcp && !plain.will_wrap;
    let context = CallContext { begun, may_send_files, ..CallContext::new(server, request, &exports, identity) };
    let mark = output.mark();
    Reply::encode_success(call.xid, &mut Encoder::new(&mut output.bytes));
    let stop = match (plain.program.run)(&context, call, output) {
        Ok(()) => {
            server.counters.count_call(request.worker, &call.procedure);
            return Answer::Reply;
        }
        Err(stop) => stop,
    };
    output.rewind(&mark);
    match stop {
        NoResults::Defer => {
            server.counters.count(request.worker, CountedEvent::Deferred);
            Answer::WouldBlock(context.waits_for.get())
        }
        NoResults::Garbage(error) => {
            tracing::debug!(client = %request.peer.address, xid = %call.xid, procedure = ?call.procedure, %error, "arguments make no sense");
            reject(server, request, call.xid, Rejection::GarbageArguments, output)
        }
        NoResults::NoProcedure => reject(server, request, call.xid, Rejection::ProcedureUnavailable, output),
        NoResults::Silent => {
            server.counters.count(request.worker, CountedEvent::Rejected);
            Answer::Silent
        }
    }
}
