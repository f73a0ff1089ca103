//! Runs of WRITEs: messages that arrived together and run as one.

use buffer::Output;
use proto::nfs3::WriteArgs;
use rpc::{Call, OpaqueAuth, Reply, Xid};
use xdr::{Decode, Encoder};

use crate::counters::CountedEvent;
use crate::fault::Fault;
use crate::identity::Identity;
use crate::node::CallContext;
use crate::request::{Answer, Request};
use crate::security::{self, SecuredCall};
use crate::server::Server;
use crate::v3::gather::{self, Gathered};

/// The result of a run.
#[derive(Debug)]
pub enum RunAnswer {
    /// The first messages of the run, at least one, are done; the others must be answered one by one.
    Written(Box<WrittenRun>),
    /// All messages must be answered one by one. Some of their bytes may already be written, which is harmless.
    OneByOne,
    /// The run would block: ask again from a thread that may. Nothing has happened. The number is that of
    /// [`Answer::WouldBlock`](crate::Answer::WouldBlock).
    WouldBlock(u64),
}

/// WRITEs that ran as one.
#[derive(Debug)]
pub struct WrittenRun {
    gathered: Gathered,
    calls: Vec<WrittenCall>,
    /// The same calls, if they were unwrapped.
    secured: Vec<SecuredCall>,
}

/// One of the WRITEs, for its reply.
#[derive(Debug)]
struct WrittenCall {
    xid: Xid,
    count: u32,
}

impl WrittenRun {
    /// The number of messages that are done, from the first on.
    pub fn count(&self) -> usize {
        self.gathered.count
    }

    /// Appends the reply to the message at `index` of the run, without a record mark.
    ///
    /// # Panics
    /// When the run has no message at `index`.
    pub fn answer(&self, index: usize, output: &mut Output) {
        let WrittenCall { xid, count } = self.calls[index];
        let start = output.bytes.len();
        let mut to = Encoder::new(&mut output.bytes);
        Reply::encode_success(xid, &mut to);
        self.gathered.encode(index, count, &mut to);
        if let Some(secured) = self.secured.get(index) {
            secured.leave(&Answer::Reply, start, output);
        }
    }
}

/// The offset of the data in a WRITE of NFSv3, which may be incomplete; 0 if it cannot be determined.
pub fn write_data_at(message: &[u8]) -> usize {
    gather::data_at(message).unwrap_or(0)
}

/// WRITEs of one caller, each of which continues the one before it, behind the stage of security flavours.
struct Run<'m> {
    credential: OpaqueAuth<'m>,
    first: WriteArgs<'m>,
    parts: Vec<&'m [u8]>,
    calls: Vec<WrittenCall>,
    end_bytes: u64,
}

impl<'m> Run<'m> {
    /// The first of the plain `messages` that are such WRITEs; `None` if not even the first is one.
    fn of(messages: &[&'m [u8]]) -> Option<Run<'m>> {
        let (call, first) = write(messages.first()?)?;
        let mut run = Run {
            credential: call.credential,
            first,
            parts: Vec::with_capacity(messages.len()),
            calls: Vec::with_capacity(messages.len()),
            end_bytes: first.offset,
        };
        run.push(call.xid, &first)?;
        for message in &messages[1..] {
            if run.add(message).is_none() {
                break;
            }
        }
        Some(run)
    }

    /// Adds a WRITE that continues the run. Callers have compared plain messages already, but not wrapped ones.
    fn add(&mut self, message: &'m [u8]) -> Option<()> {
        let (call, args) = write(message)?;
        let continues = call.credential == self.credential
            && args.file == self.first.file
            && args.stable == self.first.stable
            && args.offset == self.end_bytes;
        if continues { self.push(call.xid, &args) } else { None }
    }

    fn push(&mut self, xid: Xid, args: &WriteArgs<'m>) -> Option<()> {
        self.end_bytes = args.offset.checked_add(u64::from(args.count))?;
        self.parts.push(args.data);
        self.calls.push(WrittenCall { xid, count: args.count });
        Some(())
    }
}

/// A WRITE whose count is that of its data.
fn write(message: &[u8]) -> Option<(Call<'_>, WriteArgs<'_>)> {
    let mut call = Call::parse(message).ok()?;
    if call.procedure != gather::PROCEDURE {
        return None;
    }
    let args = WriteArgs::decode(&mut call.arguments).ok()?;
    (args.count as usize == args.data.len()).then_some((call, args))
}

impl Server {
    /// Whether a message may be the first of a run.
    pub fn begins_run(&self, message: &[u8]) -> bool {
        self.settings.gather_writes && gather::is_write(message)
    }

    /// Whether `next` may run together with `previous`.
    pub fn continues_run(&self, previous: &[u8], next: &[u8]) -> bool {
        self.settings.gather_writes && (gather::continues(previous, next) || self.may_continue_wrapped(previous, next))
    }

    /// Whether both are WRITEs of a flavour that wraps arguments: [`Server::write_run`] unwraps them, and learns
    /// whether one continues the other.
    fn may_continue_wrapped(&self, previous: &[u8], next: &[u8]) -> bool {
        let is_wrapped = |message| gather::is_write(message) && !self.arrived_plain(message);
        !self.security.is_empty() && is_wrapped(previous) && is_wrapped(next)
    }

    fn arrived_plain(&self, message: &[u8]) -> bool {
        self.security.is_empty() || Call::parse(message).is_ok_and(|call| security::is_plain(&self.security, &call))
    }

    /// Executes a run, each message of which continues the one before it. The message of `request` is its first.
    pub fn write_run(&self, request: &Request<'_>, run: &[&[u8]]) -> RunAnswer {
        if self.arrived_plain(request.message) {
            return self.write_plain_run(request, run);
        }
        let secured: Vec<SecuredCall> = run.iter().map_while(|message| self.enter_run(message)).collect();
        let messages: Vec<&[u8]> = secured.iter().map(SecuredCall::message).collect();
        let answer = self.write_plain_run(request, &messages);
        let done = if let RunAnswer::Written(written) = &answer { written.count() } else { 0 };
        // These enter again, one by one or from another thread.
        secured[done..].iter().for_each(SecuredCall::deferred);
        match answer {
            RunAnswer::Written(written) => RunAnswer::Written(Box::new(WrittenRun { secured, ..*written })),
            answer => answer,
        }
    }

    fn enter_run(&self, message: &[u8]) -> Option<SecuredCall> {
        security::enter(&self.security, message, &Call::parse(message).ok()?).ok()
    }

    fn write_plain_run(&self, request: &Request<'_>, messages: &[&[u8]]) -> RunAnswer {
        let Some(Run { credential, first, parts, calls, .. }) = Run::of(messages) else { return RunAnswer::OneByOne };
        let Ok(identity) = Identity::of(&credential) else { return RunAnswer::OneByOne };
        let exports = self.exports.load();
        let context = CallContext::new(self, request, &exports, identity);
        match gather::write(&context, &first, &parts) {
            Ok(gathered) => {
                for _ in 0..gathered.count {
                    self.counters.count_call(request.worker, &gather::PROCEDURE);
                }
                self.counters.count_many(request.worker, CountedEvent::Gathered, gathered.count as u64 - 1);
                RunAnswer::Written(Box::new(WrittenRun { gathered, calls, secured: Vec::new() }))
            }
            Err(Fault::Defer) => {
                self.counters.count_many(request.worker, CountedEvent::Deferred, messages.len() as u64);
                RunAnswer::WouldBlock(context.waits_for.get())
            }
            Err(_) => RunAnswer::OneByOne,
        }
    }
}
