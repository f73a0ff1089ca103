//! Asking the service: one message, or all whole messages of a stream's unread bytes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use buffer::Output;

use crate::connection::{CallsInFlight, CloseReason};
use crate::spare::SpareBuffers;
use crate::{Call, Frame, Limits, Peer, Service, Verdict};

/// How many bytes of answers one turn of a connection makes before it is the next connection's turn; the answer that
/// reaches the limit may go beyond it. It bounds the memory that a batch of small calls with large answers takes.
const TURN_OUTPUT_BYTES: usize = 1 << 20;

/// What became of a message that the service was asked to answer.
#[derive(Debug)]
pub(crate) enum Asked {
    /// The service came to a verdict.
    Verdict(Verdict),
    /// The service panicked; the output is as it was before.
    Panicked,
}

/// Asks the service to answer one message. A panic costs this message its connection, not the server its loop.
pub(crate) fn ask<S: Service + ?Sized>(service: &S, call: &Call<'_>, output: &mut Output) -> Asked {
    let mark = output.mark();
    match catch_unwind(AssertUnwindSafe(|| service.call(call, output))) {
        Ok(verdict) => Asked::Verdict(verdict),
        Err(_) => {
            output.rewind(&mark);
            tracing::error!(peer = %call.peer.address, "the service panicked on a message");
            Asked::Panicked
        }
    }
}

/// Who asks on behalf of which connection.
pub(crate) struct Turn<'a, S: ?Sized> {
    pub(crate) service: &'a S,
    pub(crate) limits: &'a Limits,
    pub(crate) peer: Peer,
    pub(crate) worker: usize,
    pub(crate) now: Instant,
    /// How many bytes the connection's peer has not taken yet.
    pub(crate) unsent_bytes: usize,
    /// How many messages it answers at most.
    pub(crate) max_messages: u64,
}

/// Where calls go that have to wait, and memory for their messages.
pub(crate) struct Deferring<'a> {
    pub(crate) calls: &'a mut CallsInFlight,
    pub(crate) spare: &'a mut SpareBuffers,
}

/// How far one turn has come.
#[derive(Debug)]
pub(crate) struct Progress {
    /// How many of the unread bytes are done with.
    pub(crate) consumed: usize,
    /// How many messages there were in them.
    pub(crate) messages: u64,
    /// Why the turn ended.
    pub(crate) stop: Stop,
}

/// Why a turn ended.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The next message is not whole until there are this many unread bytes.
    Needs(usize),
    /// A limit was reached; whole messages may be left.
    Limit,
    /// The connection cannot go on.
    Close(CloseReason),
}

impl<S: Service + ?Sized> Turn<'_, S> {
    /// Answers the whole messages at the start of `unread` into `output` and adds those that have to wait to `calls`.
    ///
    /// A panic of the service takes back what it wrote for the message that it panicked on, and closes the connection.
    pub(crate) fn answer(&self, unread: &mut [u8], output: &mut Output, calls: &mut Deferring<'_>) -> Progress {
        let mut progress = Progress { consumed: 0, messages: 0, stop: Stop::Needs(1) };
        let mut answered = output.mark();
        let stop = catch_unwind(AssertUnwindSafe(|| {
            while progress.consumed < unread.len() {
                if progress.messages >= self.max_messages || !self.has_room(output, calls.calls) {
                    return Stop::Limit;
                }
                match self.answer_first(&mut unread[progress.consumed..], output, calls) {
                    Ok(consumed) => progress.consumed += consumed,
                    Err(stop) => return stop,
                }
                progress.messages += 1;
                answered = output.mark();
            }
            Stop::Needs(1)
        }));
        progress.stop = stop.unwrap_or_else(|_| {
            output.rewind(&answered);
            Stop::Close(CloseReason::Panic)
        });
        progress
    }

    fn has_room(&self, output: &Output, calls: &CallsInFlight) -> bool {
        output.len() < TURN_OUTPUT_BYTES
            && self.unsent_bytes + output.len() <= self.limits.max_unsent_bytes
            && calls.have_room(self.limits)
    }

    /// Answers the first message of `unread`; says how many bytes it took.
    fn answer_first(&self, unread: &mut [u8], output: &mut Output, calls: &mut Deferring<'_>) -> Result<usize, Stop> {
        let (body, consumed) = match self.service.frame(unread) {
            Ok(Frame::Message { body, consumed }) => (body, consumed),
            Ok(Frame::Partial(needed)) => return Err(self.needs(needed, unread.len())),
            Err(error) => return Err(Stop::Close(CloseReason::BadFrame(error.0))),
        };
        assert!(consumed > 0 && consumed <= unread.len(), "the service framed a message outside the unread bytes");
        let message = &unread[body];
        let Turn { peer, worker, now, .. } = *self;
        match self.service.call(&Call { message, peer, worker, may_block: false, now }, output) {
            Verdict::Answered | Verdict::Silent => {}
            Verdict::WouldBlock => calls.calls.add(message, now, calls.spare),
            Verdict::Close(why) => return Err(Stop::Close(CloseReason::Service(why))),
        }
        Ok(consumed)
    }

    fn needs(&self, needed: usize, have: usize) -> Stop {
        let needed = needed.max(have + 1);
        if needed > self.limits.max_message_bytes {
            let limit = self.limits.max_message_bytes;
            let why = format!("a message of at least {needed} bytes is larger than the limit of {limit}");
            return Stop::Close(CloseReason::BadFrame(why));
        }
        Stop::Needs(needed)
    }
}
