//! The protocol programs as the event loops see them: records in, records out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer::Output;
use net::{Call, Frame, FrameError, Service, Verdict};
use rpc::record;
use server::{Answer, Peer, Request, Server, Transport};

use crate::courier::Courier;

/// How many bytes a record mark takes (RFC 5531 §11).
const MARK_BYTES: usize = 4;

/// A [`Server`] that answers what comes over sockets.
pub(crate) struct Programs {
    pub(crate) server: Arc<Server>,
    pub(crate) courier: Courier,
    record_limits: record::Limits,
    began: Instant,
}

impl Programs {
    pub(crate) fn new(server: Arc<Server>, began: Instant) -> Programs {
        Programs { server, courier: Courier::default(), record_limits: record::Limits::default(), began }
    }

    /// How long the server has run.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Does what is due, as [`Server::tick`].
    pub(crate) fn tick(&self) {
        let now = self.now();
        self.server.tick(now);
        self.courier.send_all(&self.server, now);
    }

    /// Carries on a copy, as [`Server::carry_on_copy`].
    pub(crate) fn carry_on_copy(&self, worker: usize) -> bool {
        let carried_on = self.server.carry_on_copy(worker, self.now());
        self.courier.send_all(&self.server, self.now());
        carried_on
    }

    fn answer(&self, call: &Call<'_>, output: &mut Output) -> Verdict {
        let peer = peer(&call.peer);
        let request = Request {
            message: call.message,
            peer,
            worker: call.worker,
            may_block: call.may_block,
            now: self.time_of(call),
        };
        match self.server.answer(&request, output) {
            Answer::Reply => Verdict::Answered,
            Answer::Silent => Verdict::Silent,
            Answer::WouldBlock => Verdict::WouldBlock,
            Answer::NotACall(error) if peer.transport == Transport::Tcp => Verdict::Close(error.to_string()),
            Answer::NotACall(_) => Verdict::Silent,
        }
    }

    /// Answers a call, or takes a reply to a call of the server's own.
    fn answer_or_take(&self, call: &Call<'_>, output: &mut Output) -> Verdict {
        if rpc::is_reply(call.message) {
            self.server.take_reply(&peer(&call.peer), call.message, self.time_of(call));
            return Verdict::Silent;
        }
        match call.peer.transport {
            net::Transport::Tcp => self.answer_record(call, output),
            net::Transport::Udp => self.answer(call, output),
        }
    }

    fn time_of(&self, call: &Call<'_>) -> Duration {
        call.now.saturating_duration_since(self.began)
    }

    /// Answers a call of a stream: a mark goes in front of the reply, and holds its length once that is known.
    fn answer_record(&self, call: &Call<'_>, output: &mut Output) -> Verdict {
        let mark = output.mark();
        let mark_at = output.bytes.len();
        output.bytes.put(&[0; MARK_BYTES]);
        let verdict = self.answer(call, output);
        if verdict == Verdict::Answered {
            let length = output.len_since(&mark) - MARK_BYTES;
            let bytes = &mut output.bytes.as_mut_slice()[mark_at..mark_at + MARK_BYTES];
            bytes.copy_from_slice(&record::last_mark(length).to_be_bytes());
        } else {
            output.rewind(&mark);
        }
        verdict
    }
}

fn peer(peer: &net::Peer) -> Peer {
    let transport = match peer.transport {
        net::Transport::Tcp => Transport::Tcp,
        net::Transport::Udp => Transport::Udp,
    };
    Peer { address: peer.address, local: peer.local, transport, connection: peer.connection }
}

impl Service for Programs {
    fn frame(&self, unread: &mut [u8]) -> Result<Frame, FrameError> {
        match record::scan(unread, &self.record_limits) {
            Ok(record::Scan::Partial(needed)) => Ok(Frame::Partial(needed)),
            Ok(record::Scan::Whole { message, consumed }) => Ok(Frame::Message { body: message, consumed }),
            Err(error) => Err(FrameError(error.to_string())),
        }
    }

    fn call(&self, call: &Call<'_>, output: &mut Output) -> Verdict {
        let mark = output.mark();
        let answered = catch_unwind(AssertUnwindSafe(|| {
            let verdict = self.answer_or_take(call, output);
            self.courier.send_all(&self.server, self.time_of(call));
            verdict
        }));
        // A defect in one call costs its sender the connection and nobody else anything.
        answered.unwrap_or_else(|_| {
            output.rewind(&mark);
            tracing::error!(client = %call.peer.address, "a call ended in a defect of the server; its connection is closed");
            Verdict::Close("a defect of the server".to_owned())
        })
    }

    fn disconnected(&self, gone: &net::Peer) {
        let now = self.now();
        self.courier.disconnected(&self.server, gone, now);
        self.server.disconnected(&peer(gone), now);
        self.courier.send_all(&self.server, now);
    }
}
