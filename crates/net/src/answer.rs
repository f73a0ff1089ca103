//! Asking the service: one message, or all whole messages of a stream's unread bytes.

use std::num::NonZero;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use buffer::Output;
use peer::Peer;

use crate::calls::{CallsInFlight, MAX_RUN};
use crate::close_reason::CloseReason;
use crate::order::Quantum;
use crate::spare::SpareBuffers;
use crate::{Call, Frame, FrameError, Limits, Service, Verdict};

/// What became of a message that the service was asked to answer.
#[derive(Debug)]
pub(crate) enum ServiceAnswer {
    /// The service came to a verdict.
    Verdict(Verdict),
    /// The service panicked; the output is as it was before.
    Panicked,
}

/// Asks the service to answer a message and those that continue it. A panic costs them their connection, not the server
/// its loop.
pub(crate) fn ask<S: Service + ?Sized>(
    service: &S,
    call: &Call<'_>,
    rest: &[&[u8]],
    output: &mut Output,
) -> ServiceAnswer {
    let mark = output.mark();
    match catch_unwind(AssertUnwindSafe(|| call_all(service, call, rest, output))) {
        Ok(verdict) => ServiceAnswer::Verdict(verdict),
        Err(_) => {
            output.rewind(&mark);
            tracing::error!(peer = %call.peer.address, "the service panicked on a message");
            ServiceAnswer::Panicked
        }
    }
}

fn call_all<S: Service + ?Sized>(service: &S, call: &Call<'_>, rest: &[&[u8]], output: &mut Output) -> Verdict {
    if rest.is_empty() { service.call(call, output) } else { service.call_run(call, rest, output) }
}

/// Who asks on behalf of which connection.
pub(crate) struct StreamTurn<'a, S: ?Sized> {
    pub(crate) service: &'a S,
    pub(crate) limits: &'a Limits,
    pub(crate) peer: Peer,
    pub(crate) worker: usize,
    pub(crate) now: Instant,
    pub(crate) batch: Option<NonZero<u64>>,
    /// How many bytes the connection's peer has not taken yet.
    pub(crate) unsent_bytes: usize,
    pub(crate) quantum: Quantum,
    /// Whether the client has no memory left: replies are to be small, and no more than one call may wait.
    pub(crate) is_scarce: bool,
}

/// Where calls go that have to wait, and memory for their messages.
pub(crate) struct Deferring<'a> {
    pub(crate) calls: &'a mut CallsInFlight,
    pub(crate) spare: &'a mut SpareBuffers,
}

/// How far one turn has come.
#[derive(Debug)]
pub(crate) struct TurnProgress {
    /// How many of the unread bytes are done with.
    pub(crate) consumed: usize,
    /// How many messages there were in them.
    pub(crate) messages: u64,
    /// Why the turn ended.
    pub(crate) end: TurnEnd,
}

/// How many messages are answered before the clock is read again.
const MESSAGES_PER_LOOK: u64 = 4;

/// For how long the answers of a turn are held.
struct AnswerHold {
    begun: Instant,
    max: Duration,
    next_look: u64,
}

impl AnswerHold {
    /// Whether it is over after so many answers.
    fn is_over(&mut self, messages: u64) -> bool {
        if messages < self.next_look || self.max == Duration::MAX {
            return false;
        }
        self.next_look = messages + MESSAGES_PER_LOOK;
        self.begun.elapsed() >= self.max
    }
}

/// How much was answered at one go.
struct Answered {
    consumed: usize,
    messages: u64,
    /// Whether the channel is to be upgraded behind the answer.
    is_upgrade: bool,
}

/// Why a turn ended.
#[derive(Debug)]
pub(crate) enum TurnEnd {
    /// The next message is not whole until there are this many unread bytes.
    Needs(usize),
    /// A limit was reached; whole messages may be left.
    Limit,
    /// The first answer was held for long enough; whole messages are left.
    Pause,
    /// What follows the last message comes through a layer.
    Upgrade,
    /// The connection cannot go on.
    Close(CloseReason),
}

impl<S: Service + ?Sized> StreamTurn<'_, S> {
    /// Answers the whole messages at the start of `unread` into `output` and adds those that have to wait to `calls`.
    ///
    /// A panic of the service takes back what it wrote for the message that it panicked on, and closes the connection.
    pub(crate) fn answer(&self, unread: &mut [u8], output: &mut Output, calls: &mut Deferring<'_>) -> TurnProgress {
        let mut progress = TurnProgress { consumed: 0, messages: 0, end: TurnEnd::Needs(1) };
        let mut answered = output.mark();
        let stop = catch_unwind(AssertUnwindSafe(|| {
            let mut hold = AnswerHold { begun: self.now, max: self.quantum.max_held, next_look: MESSAGES_PER_LOOK };
            while progress.consumed < unread.len() {
                if hold.is_over(progress.messages) {
                    return TurnEnd::Pause;
                }
                if progress.messages >= self.quantum.messages || !self.has_room(output, calls.calls) {
                    return TurnEnd::Limit;
                }
                let room = self.quantum.messages - progress.messages;
                match self.answer_first(&mut unread[progress.consumed..], room, output, calls) {
                    Ok(done) => {
                        progress.consumed += done.consumed;
                        progress.messages += done.messages;
                        if done.is_upgrade {
                            return TurnEnd::Upgrade;
                        }
                    }
                    Err(stop) => return stop,
                }
                answered = output.mark();
            }
            TurnEnd::Needs(1)
        }));
        progress.end = stop.unwrap_or_else(|_| {
            output.rewind(&answered);
            TurnEnd::Close(CloseReason::Panic)
        });
        progress
    }

    fn has_room(&self, output: &Output, calls: &CallsInFlight) -> bool {
        output.len() < self.quantum.answer_bytes
            && self.unsent_bytes + output.len() <= self.limits.max_unsent_bytes
            && calls.have_room(self.limits)
            && (!self.is_scarce || calls.is_empty())
    }

    /// Answers the first message of `unread`, and those behind it that continue it, no more than `room` together.
    fn answer_first(
        &self,
        unread: &mut [u8],
        room: u64,
        output: &mut Output,
        calls: &mut Deferring<'_>,
    ) -> Result<Answered, TurnEnd> {
        let (body, consumed) = match self.service.frame(unread) {
            Ok(Frame::Message { body, consumed }) => (body, consumed),
            Ok(Frame::Partial(needed)) => return Err(self.needs(needed, unread.len())),
            Err(error) => return Err(TurnEnd::Close(CloseReason::BadFrame(error))),
        };
        assert!(consumed > 0 && consumed <= unread.len(), "the service framed a message outside the unread bytes");
        if room > 1 && consumed < unread.len() && self.service.begins_run(&unread[body.clone()]) {
            let (run, consumed) = self.find_run(unread, body, consumed, room);
            let messages: Vec<&[u8]> = run.into_iter().map(|body| &unread[body]).collect();
            let is_upgrade = self.answer_all(&messages, output, calls)?;
            return Ok(Answered { consumed, messages: messages.len() as u64, is_upgrade });
        }
        let is_upgrade = self.answer_all(&[&unread[body]], output, calls)?;
        Ok(Answered { consumed, messages: 1, is_upgrade })
    }

    /// Finds the whole messages behind the first one that continue it; says how many bytes they take together.
    fn find_run(
        &self,
        unread: &mut [u8],
        first: Range<usize>,
        mut consumed: usize,
        room: u64,
    ) -> (Vec<Range<usize>>, usize) {
        let max = MAX_RUN.min(usize::try_from(room).unwrap_or(MAX_RUN));
        let mut run = Vec::with_capacity(max);
        run.push(first);
        while run.len() < max && consumed < unread.len() {
            // What cannot be framed is found again, and dealt with, as the first message.
            let Ok(Frame::Message { body, consumed: length }) = self.service.frame(&mut unread[consumed..]) else {
                break;
            };
            let next = body.start + consumed..body.end + consumed;
            if !self.service.continues_run(&unread[run[run.len() - 1].clone()], &unread[next.clone()]) {
                break;
            }
            run.push(next);
            consumed += length;
        }
        (run, consumed)
    }

    /// Answers the messages of `run`; says whether the channel is to be upgraded behind the answer.
    fn answer_all(&self, run: &[&[u8]], output: &mut Output, calls: &mut Deferring<'_>) -> Result<bool, TurnEnd> {
        let StreamTurn { peer, worker, now, batch, is_scarce, .. } = *self;
        let call = Call { message: run[0], peer, worker, may_block: false, now, batch, is_scarce };
        match call_all(self.service, &call, &run[1..], output) {
            Verdict::Answered | Verdict::Silent => {}
            Verdict::Upgrade => return Ok(true),
            Verdict::WouldBlock(lane) => {
                run.iter().for_each(|message| calls.calls.add(message, lane, now, calls.spare));
            }
            Verdict::Close(why) => return Err(TurnEnd::Close(CloseReason::Service(why))),
        }
        Ok(false)
    }

    fn needs(&self, needed: usize, have: usize) -> TurnEnd {
        let needed = needed.max(have + 1);
        if needed > self.limits.max_message_bytes {
            let too_large = FrameError::TooLarge { bytes: needed, max: self.limits.max_message_bytes };
            return TurnEnd::Close(CloseReason::BadFrame(too_large));
        }
        TurnEnd::Needs(needed)
    }
}
