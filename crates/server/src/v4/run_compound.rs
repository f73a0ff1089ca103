//! COMPOUND: runs operations in order until one fails (RFC 7530 §15.2, RFC 8881 §16.2).

use buffer::{Mark, Output};
use proto::nfs4::{
    Bitmap, CompoundHead, CompoundReplyHead, Existence, MinorVersion, OP_ILLEGAL, OpNumber, OperationInfo, Sequencing,
    Status,
};
use rpc::Call;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::compound::Compound;
use super::failure::{Failure, OpResult, in_minor};
use super::operations;
use super::paused::{Paused, PausedFile};
use super::progress::CompoundState;
use crate::fault::NoResults;
use crate::node::{CallContext, Node};

/// The most operations in one COMPOUND. Clients send about ten.
pub(super) const MAX_OPERATIONS: u32 = 128;

/// Runs a COMPOUND and appends its reply.
pub(super) fn run(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), NoResults> {
    let arguments = call.arguments.rest();
    let mut from = call.arguments.clone();
    let head = CompoundHead::decode(&mut from)?;
    let reply = ReplyHead::begin(head.tag, output);
    let paused = if cx.request.may_block { cx.server.paused.take(cx.client(), call.xid.0) } else { None };
    let files;
    let mut compound = match paused {
        Some(Paused { progress, current, saved, read, results }) => {
            from = Decoder::new(&arguments[read..]);
            output.bytes.put(&results);
            files = (current, saved);
            Compound::resume(cx, progress, &files.0, &files.1, reply.mark)
        }
        None => match minor_version(&head) {
            Ok(minor) => Compound::new(cx, CompoundState::new(minor, head.operations), reply.mark),
            Err(status) => {
                reply.end(status, 0, output);
                return Ok(());
            }
        },
    };
    match compound.carry_out(&mut from, output) {
        Ok(status) => {
            reply.end(status, compound.progress.done, output);
            compound.keep_reply(&reply, output);
            Ok(())
        }
        Err(Failure::Replay(kept)) => {
            output.bytes.truncate(reply.start);
            output.bytes.put(&kept);
            Ok(())
        }
        Err(_) => {
            let read = arguments.len() - from.rest().len();
            let results = &output.bytes.as_slice()[reply.results_start..];
            let Some(mut compound) = compound.pause(call, read, results) else { return Err(NoResults::Defer) };
            // Too many COMPOUNDs are paused. The client retries the rest later (RFC 7530 §13.1.1.3, RFC 8881
            // §15.1.1.3).
            append_failure(from.u32()?, Status::Delay, output);
            reply.end(Status::Delay, compound.progress.done + 1, output);
            compound.keep_reply(&reply, output);
            Ok(())
        }
    }
}

/// The header of a reply, whose status and count are filled in last.
struct ReplyHead {
    start: usize,
    mark: Mark,
    results_start: usize,
}

impl ReplyHead {
    fn begin(tag: &[u8], output: &mut Output) -> ReplyHead {
        let (start, mark) = (output.bytes.len(), output.mark());
        CompoundReplyHead { status: Status::Ok, tag, results: 0 }.encode(&mut Encoder::new(&mut output.bytes));
        ReplyHead { start, mark, results_start: output.bytes.len() }
    }

    fn end(&self, status: Status, results: u32, output: &mut Output) {
        let bytes = output.bytes.as_mut_slice();
        bytes[self.start..self.start + 4].copy_from_slice(&(status as u32).to_be_bytes());
        bytes[self.results_start - 4..self.results_start].copy_from_slice(&results.to_be_bytes());
    }
}

/// The minor version of a COMPOUND, if its header is valid.
fn minor_version(head: &CompoundHead<'_>) -> Result<MinorVersion, Status> {
    let minor = MinorVersion::from_number(head.minor_version).ok_or(Status::MinorVersMismatch)?;
    if std::str::from_utf8(head.tag).is_err() {
        return Err(Status::Inval);
    }
    if head.operations > MAX_OPERATIONS {
        return Err(in_minor(Status::TooManyOps, minor));
    }
    Ok(minor)
}

impl<'c> Compound<'c> {
    #[inline]
    fn new(cx: &'c CallContext<'c>, progress: CompoundState, reply_mark: Mark) -> Compound<'c> {
        Compound { cx, current: None, saved: None, attributes_after: None, progress, reply_mark }
    }

    /// Continues a COMPOUND with its current and its saved file.
    #[cold]
    fn resume(
        cx: &'c CallContext<'c>,
        progress: CompoundState,
        current: &'c Option<PausedFile>,
        saved: &'c Option<PausedFile>,
        reply_mark: Mark,
    ) -> Compound<'c> {
        let mut compound = Compound::new(cx, progress, reply_mark);
        // A file that is no longer exported to the caller is gone.
        let file = |file: &'c PausedFile| compound.file(&file.exported, file.handle).ok();
        (compound.current, compound.saved) = (current.as_ref().and_then(file), saved.as_ref().and_then(file));
        compound
    }

    /// Runs the remaining operations and returns the status of the last one. Fails with [`Failure::Defer`], with `from`
    /// before the operation that must wait, or with [`Failure::Replay`].
    fn carry_out(&mut self, from: &mut Decoder<'_>, output: &mut Output) -> OpResult<Status> {
        let mut status = Status::Ok;
        while status == Status::Ok && self.progress.done < self.progress.count {
            let (mark, before) = (output.mark(), from.clone());
            status = self.one(from, &mark, output).inspect_err(|_| {
                output.rewind(&mark);
                *from = before;
            })?;
            self.progress.done += 1;
        }
        Ok(status)
    }

    /// Runs one operation and appends its number, status and results behind `start`.
    fn one(&mut self, from: &mut Decoder<'_>, start: &Mark, output: &mut Output) -> OpResult<Status> {
        let Ok(number) = from.u32() else { return Ok(append_status(OP_ILLEGAL, Status::BadXdr, output)) };
        let info = match OpNumber::lookup(number, self.progress.minor) {
            Existence::Exists(info) => info,
            Existence::Removed(info) => return Ok(append_status(info.number.number(), Status::NotSupp, output)),
            Existence::Illegal => return Ok(append_status(OP_ILLEGAL, Status::OpIllegal, output)),
        };
        append_status(number, Status::Ok, output);
        // Opens and locks end with the process, writes are idempotent, and changes of names are logged one by one. An
        // OPEN that may create a file requests this itself.
        if info.changes_attributes() {
            self.progress.changes.keep();
        }
        let outcome = self.attempt(info, from, output);
        if let Err(failure) = outcome {
            return self.append_failure(number, failure, start, output);
        }
        self.progress.has_changed |= info.is_change();
        if !info.keeps_attributes() {
            self.drop_attributes();
        }
        Ok(Status::Ok)
    }

    #[inline]
    fn attempt(&mut self, info: &OperationInfo, from: &mut Decoder<'_>, output: &mut Output) -> OpResult<()> {
        self.check_room(output)?;
        self.check(info)?;
        self.check_room_for(info, output)?;
        operations::carry_out(self, info.number, from, output)?;
        self.check_reply(output)
    }

    /// Replaces what an operation appended behind `start` by its failure.
    #[cold]
    fn append_failure(&self, number: u32, failure: Failure, start: &Mark, output: &mut Output) -> OpResult<Status> {
        match failure {
            Failure::Status(status) => {
                output.rewind(start);
                let status = in_minor(status, self.progress.minor);
                append_failure(number, status, output);
                Ok(status)
            }
            Failure::Explained(status, body) => {
                output.rewind(start);
                append_status(number, status, output);
                output.bytes.put(&body);
                Ok(status)
            }
            failure @ (Failure::Defer | Failure::Replay(_)) => Err(failure),
        }
    }

    /// Fails for an operation at a wrong position (RFC 8881 §2.10.6.1, §18.46.3) or without its file handle.
    fn check(&self, info: &OperationInfo) -> OpResult<()> {
        if self.progress.minor.has_sessions() {
            self.check_place(info)?;
        }
        let (number, foreign) = (info.number, self.progress.foreign);
        if info.needs_current && self.current.is_none() {
            let is_foreign = number == OpNumber::Savefh && foreign.is_some_and(|foreign| !foreign.is_saved);
            return if is_foreign { Ok(()) } else { Err(Status::NoFileHandle.into()) };
        }
        if info.needs_saved && self.saved.is_none() {
            return match foreign {
                Some(_) if number == OpNumber::Copy => Ok(()),
                Some(foreign) => Err(foreign.status.into()),
                None if number == OpNumber::Restorefh => Err(Status::RestoreFh.into()),
                None => Err(Status::NoFileHandle.into()),
            };
        }
        Ok(())
    }

    fn check_place(&self, info: &OperationInfo) -> OpResult<()> {
        let is_first = self.progress.done == 0;
        match info.sequencing {
            Sequencing::First if !is_first => return Err(Status::SequencePos.into()),
            Sequencing::Behind if self.progress.turn.is_none() => return Err(Status::OpNotInSession.into()),
            // BIND_CONN_TO_SESSION is not even behind SEQUENCE (§18.34.3).
            Sequencing::Alone if self.progress.count > 1 => return Err(Status::NotOnlyOp.into()),
            Sequencing::BehindOrAlone if self.progress.turn.is_none() && self.progress.count > 1 => {
                return Err(Status::NotOnlyOp.into());
            }
            _ => {}
        }
        Ok(())
    }

    /// Passes the reply to the session, for retransmissions, and to the log, for those after the end of this process.
    fn keep_reply(&mut self, reply: &ReplyHead, output: &Output) {
        let Some(turn) = self.progress.turn.take() else { return };
        let bytes = &output.bytes.as_slice()[reply.start..];
        // Data sent from a file cannot be replayed, since the file may change.
        let kept = Some(bytes).filter(|bytes| output.len_since(&reply.mark) == bytes.len());
        self.cx.server.replay.keep_of_slot(turn.request(), &self.progress.changes, kept);
        match kept {
            Some(bytes) => turn.finish(bytes),
            None => turn.finish_unkept(),
        }
    }

    /// Pauses a COMPOUND that changed something, to continue where it is. Any other one runs again from its start, and
    /// its slot is released for that. Returns the COMPOUND when no more can be paused.
    #[cold]
    fn pause(self, call: &Call<'_>, read: usize, results: &[u8]) -> Option<Compound<'c>> {
        if !self.progress.has_changed {
            return None;
        }
        let Compound { cx, current, saved, attributes_after, progress, reply_mark } = self;
        let [paused_current, paused_saved] = [current, saved].map(|file| file.map(|file| paused_file(&file.node)));
        let results = results.to_vec();
        let paused = Paused { progress, current: paused_current, saved: paused_saved, read, results };
        let refused = cx.server.paused.keep(cx.client(), call.xid.0, paused)?;
        Some(Compound { cx, current, saved, attributes_after, progress: refused.progress, reply_mark })
    }
}

fn paused_file(node: &Node<'_>) -> PausedFile {
    PausedFile { exported: node.exported.clone(), handle: node.handle }
}

fn append_failure(number: u32, status: Status, output: &mut Output) {
    append_status(number, status, output);
    append_failed_body(number, output);
}

/// The body of a failure: only SETATTR has one, the mask of attributes that were set (RFC 7530 §16.32.2, RFC 8881
/// §18.30.2).
fn append_failed_body(number: u32, output: &mut Output) {
    if number == OpNumber::Setattr.number() {
        Bitmap::EMPTY.encode(&mut Encoder::new(&mut output.bytes));
    }
}

#[inline]
fn append_status(number: u32, status: Status, output: &mut Output) -> Status {
    Encoder::new(&mut output.bytes).words([number, status as u32]);
    status
}
