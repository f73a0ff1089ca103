//! Connects the protocol programs to the event loops.

use std::iter;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer::Output;
use net::{Call, Frame, FrameError, Lane, Peer, Service, ServiceError, Transport, Verdict};
use rpc::record::{self, MARK_BYTES};
use server::{Answer, Request, RunAnswer, Server};

use crate::courier::Courier;

/// A [`Server`] that answers messages from sockets.
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

    /// The time since the start of the server.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Runs periodic work, see [`Server::tick`].
    pub(crate) fn tick(&self) {
        let now = self.now();
        self.server.tick(now);
        self.courier.send_all(&self.server, now);
    }

    /// Recalls delegations whose leases are broken, see [`Server::recall_leased`].
    pub(crate) fn recall_leased(&self) {
        let now = self.now();
        self.server.recall_leased(now);
        self.courier.send_all(&self.server, now);
    }

    /// Carries on a copy, see [`Server::carry_on_copy`].
    pub(crate) fn carry_on_copy(&self, worker: usize) -> bool {
        let carried_on = self.server.carry_on_copy(worker, self.now());
        self.courier.send_all(&self.server, self.now());
        carried_on
    }

    fn request<'c>(&self, call: &Call<'c>) -> Request<'c> {
        let Call { message, peer, worker, may_block, batch, is_scarce, .. } = *call;
        Request { message, peer, worker, may_block, now: self.time_of(call), batch, is_scarce }
    }

    fn answer(&self, call: &Call<'_>, output: &mut Output) -> Verdict {
        let request = self.request(call);
        match self.server.answer(&request, output) {
            Answer::Reply => Verdict::Answered,
            Answer::Silent => Verdict::Silent,
            Answer::WouldBlock(waits_for) => Verdict::WouldBlock(Lane(waits_for)),
            Answer::NotACall(error) if request.peer.transport == Transport::Tcp => {
                Verdict::Close(ServiceError::NotACall(Arc::new(error)))
            }
            Answer::NotACall(_) => Verdict::Silent,
        }
    }

    /// Answers a call, or accepts a reply to one of the server's own calls.
    fn answer_or_take(&self, call: &Call<'_>, output: &mut Output) -> Verdict {
        if rpc::is_reply(call.message) {
            self.server.take_reply(&call.peer, call.message, self.time_of(call));
            return Verdict::Silent;
        }
        match call.peer.transport {
            Transport::Tcp => self.answer_record(call, output),
            Transport::Udp => self.answer(call, output),
        }
    }

    fn time_of(&self, call: &Call<'_>) -> Duration {
        call.now.saturating_duration_since(self.began)
    }

    /// Answers a call from a stream.
    fn answer_record(&self, call: &Call<'_>, output: &mut Output) -> Verdict {
        put_record(output, |output| self.answer(call, output))
    }

    /// Answers adjacent calls: those that were combined together, the others one by one.
    fn answer_run(&self, call: &Call<'_>, rest: &[&[u8]], output: &mut Output) -> Verdict {
        let run: Vec<&[u8]> = iter::once(call.message).chain(rest.iter().copied()).collect();
        let done = match self.server.write_run(&self.request(call), &run) {
            RunAnswer::WouldBlock(waits_for) => return Verdict::WouldBlock(Lane(waits_for)),
            RunAnswer::OneByOne => 0,
            RunAnswer::Written(written) => {
                for index in 0..written.count() {
                    put_record(output, |output| {
                        written.answer(index, output);
                        Verdict::Answered
                    });
                }
                written.count()
            }
        };
        for message in &run[done..] {
            match self.answer_record(&Call { message, ..*call }, output) {
                Verdict::Answered | Verdict::Silent => {}
                verdict => return verdict,
            }
        }
        Verdict::Answered
    }

    /// Drops the output of `answer` if it fails or panics, and sends the server's own requests that are due.
    fn guarded(&self, call: &Call<'_>, output: &mut Output, answer: impl FnOnce(&mut Output) -> Verdict) -> Verdict {
        let mark = output.mark();
        let answered = catch_unwind(AssertUnwindSafe(|| {
            let verdict = answer(output);
            self.courier.send_all(&self.server, self.time_of(call));
            verdict
        }));
        // A panic in one call closes its sender's connection and affects nobody else.
        let verdict = answered.unwrap_or_else(|_| {
            tracing::error!(
                client = %call.peer.address,
                "a request failed because of a bug in the server; its connection is closed"
            );
            Verdict::Close(ServiceError::Bug)
        });
        if matches!(verdict, Verdict::WouldBlock(_) | Verdict::Close(_)) {
            output.rewind(&mark);
        }
        verdict
    }
}

/// Appends a record: reserves a mark, appends the output of `answer`, and then sets its length in the mark.
fn put_record(output: &mut Output, answer: impl FnOnce(&mut Output) -> Verdict) -> Verdict {
    let mark = output.mark();
    let mark_at = output.bytes.len();
    output.bytes.put(&[0; MARK_BYTES]);
    let verdict = answer(output);
    if matches!(verdict, Verdict::Answered) {
        let length = output.len_since(&mark) - MARK_BYTES;
        let bytes = &mut output.bytes.as_mut_slice()[mark_at..mark_at + MARK_BYTES];
        bytes.copy_from_slice(&record::last_mark(length).to_be_bytes());
    } else {
        output.rewind(&mark);
    }
    verdict
}

impl Service for Programs {
    fn frame(&self, unread: &mut [u8]) -> Result<Frame, FrameError> {
        match record::scan(unread, &self.record_limits) {
            Ok(record::Scan::Partial(needed)) => Ok(Frame::Partial(needed)),
            Ok(record::Scan::Whole { message, consumed }) => Ok(Frame::Message { body: message, consumed }),
            Err(record::Error::TooLarge { bytes, max }) => Err(FrameError::TooLarge { bytes, max }),
            Err(record::Error::TooManyFragments { max }) => Err(FrameError::TooManyFragments { max }),
        }
    }

    fn bulk_at(&self, unread: &[u8]) -> usize {
        MARK_BYTES + unread.get(MARK_BYTES..).map_or(0, server::write_data_at)
    }

    fn call(&self, call: &Call<'_>, output: &mut Output) -> Verdict {
        self.guarded(call, output, |output| self.answer_or_take(call, output))
    }

    fn begins_run(&self, message: &[u8]) -> bool {
        self.server.begins_run(message)
    }

    fn continues_run(&self, previous: &[u8], next: &[u8]) -> bool {
        self.server.continues_run(previous, next)
    }

    fn call_run(&self, call: &Call<'_>, rest: &[&[u8]], output: &mut Output) -> Verdict {
        self.guarded(call, output, |output| self.answer_run(call, rest, output))
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.server.exports().iter().any(|export| export.is_offered_to(address))
    }

    fn disconnected(&self, gone: &Peer, is_delivered: bool) {
        let now = self.now();
        self.courier.disconnected(&self.server, gone, now);
        self.server.disconnected(gone, is_delivered, now);
        self.courier.send_all(&self.server, now);
    }
}
