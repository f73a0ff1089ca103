//! The driver of a TCP connection: transfers bytes between the socket and the core, and reconnects when it is lost.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::BufMut;
use rpc::record;
use tokio::io::{AsyncReadExt, AsyncWrite};

use super::ambient;
use super::dial::Dial;
use super::outage::Watch;
use super::shared::{Shared, wake_all};
use super::timer::Timer;
use super::tunnel::Stream;
use crate::core::{Batch, Expired, Failure, Incoming};

/// The shortest and the longest pause between two attempts to connect.
const MIN_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// A connection that lived longer than this is replaced without a pause.
const STEADY: Duration = Duration::from_secs(1);
/// A server that restarts takes connections again within this time.
const RESTART: Duration = Duration::from_secs(5);
/// How many reads without a whole reply one turn makes before other tasks get theirs.
const READS_PER_TURN: usize = 4;

/// Why the stream is no longer served.
enum End {
    /// The connection is closing.
    Closing,
    /// The peer or the network ended it.
    Lost(io::Error),
    /// Replies time out.
    Silent,
    /// The received bytes are no records.
    Broken(record::Error),
}

pub(super) struct Driver {
    shared: Arc<Shared>,
    dial: Dial,
    batch: Batch,
    incoming: Incoming,
    timer: Timer,
    wakers: Vec<Waker>,
    watch: Watch,
    /// Whether this turn was deferred once, so that more calls can join the batch.
    has_waited: bool,
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>, dial: Dial, limits: record::Limits) -> Driver {
        let (batch, incoming, timer) = (Batch::default(), Incoming::new(limits), Timer::new());
        let watch = Watch::new(Arc::clone(&shared.server));
        Driver { shared, dial, batch, incoming, timer, wakers: Vec::new(), watch, has_waited: false }
    }

    pub(super) async fn run(mut self, mut stream: Stream) {
        let mut short_lives = 0u32;
        loop {
            let since = ambient::now();
            match poll_fn(|cx| self.poll_serve(&mut stream, cx)).await {
                End::Closing => return,
                End::Lost(error) => tracing::debug!(server = %self.shared.server, %error, "connection lost"),
                End::Silent => {
                    tracing::debug!(server = %self.shared.server, "server does not answer; connecting again")
                }
                End::Broken(error) => self.fail_all(Failure::BrokenStream(error)),
            }
            short_lives = if ambient::now() - since > STEADY { 0 } else { short_lives.saturating_add(1) };
            // The old socket is closed first, so that its port is free for the new one.
            let port = stream.port();
            stream.reset();
            match self.reconnect(port, pause_after(short_lives)).await {
                Some(another) => stream = another,
                None => return,
            }
        }
    }

    fn poll_serve(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<End> {
        if let Poll::Ready(end) = self.poll_state(cx) {
            return Poll::Ready(end);
        }
        if let Err(error) = self.send(stream, cx) {
            return Poll::Ready(End::Lost(error));
        }
        self.receive(stream, cx)
    }

    /// Handles closing and timeouts; ready when the stream must end.
    fn poll_state(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        loop {
            let mut state = self.shared.lock();
            if state.is_closing {
                return Poll::Ready(End::Closing);
            }
            match &mut state.driver {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            let Some(deadline) = state.core.poll_timeout() else { return Poll::Pending };
            drop(state);
            ready!(self.timer.poll(deadline, cx));
            let (expired, news) = {
                let core = &mut self.shared.lock().core;
                (core.handle_timeout(ambient::now(), &mut self.wakers), core.take_news())
            };
            wake_all(&mut self.wakers);
            news.into_iter().for_each(|news| self.watch.tell(news));
            if expired == Expired::Reconnect {
                return Poll::Ready(End::Silent);
            }
        }
    }

    /// Sends what is queued, as much as the socket takes.
    fn send(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> io::Result<()> {
        loop {
            if self.batch.is_empty() && !self.gather(cx) {
                return Ok(());
            }
            let mut slices = [IoSlice::new(&[]); Batch::MAX_SLICES];
            let count = self.batch.slices(&mut slices);
            let sent = match &slices[..count] {
                [slice] => Pin::new(&mut *stream).poll_write(cx, slice),
                slices => Pin::new(&mut *stream).poll_write_vectored(cx, slices),
            };
            match sent {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(sent)) => self.batch.advance(sent),
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
    }

    /// Fills the batch one turn after there is something to send, so that the tasks that run in between add their
    /// calls.
    fn gather(&mut self, cx: &mut Context<'_>) -> bool {
        let mut state = self.shared.lock();
        if !state.core.wants_to_send() {
            self.has_waited = false;
            return false;
        }
        if !self.has_waited {
            self.has_waited = true;
            state.driver = None;
            drop(state);
            come_back(cx);
            return false;
        }
        state.core.fill_batch(ambient::now(), &mut self.batch);
        true
    }

    /// Receives some bytes and delivers the replies. The woken callers run next, and their new calls are sent before
    /// more is received. Otherwise the server would be idle while all its replies are processed.
    fn receive(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<End> {
        for _ in 0..READS_PER_TURN {
            let (memory, room) = self.incoming.room();
            let mut memory = memory.limit(room);
            match ready!(pin!(stream.read_buf(&mut memory)).poll(cx)) {
                Ok(0) => return Poll::Ready(End::Lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => {}
                Err(error) => return Poll::Ready(End::Lost(error)),
            }
            match self.take_messages() {
                Ok(0) => {}
                Ok(_) => {
                    self.has_waited = true;
                    come_back(cx);
                    return Poll::Pending;
                }
                Err(error) => return Poll::Ready(End::Broken(error)),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Delivers the whole messages, and returns how many callers it woke.
    fn take_messages(&mut self) -> Result<usize, record::Error> {
        let (result, news) = {
            let (mut state, mut now) = (self.shared.lock(), None);
            let result = loop {
                match self.incoming.next_message() {
                    Ok(Some(message)) => {
                        // All messages of one read get one time.
                        let now = *now.get_or_insert_with(ambient::now);
                        state.core.handle_message(now, message, &mut self.wakers);
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            if !self.wakers.is_empty() {
                state.driver = None;
            }
            (result, state.core.take_news())
        };
        let woken = self.wakers.len();
        wake_all(&mut self.wakers);
        news.into_iter().for_each(|news| self.watch.tell(news));
        result.map(|()| woken)
    }

    /// Reconnects until it succeeds or the connection closes. Calls still time out meanwhile.
    async fn reconnect(&mut self, port: Option<u16>, pause: Duration) -> Option<Stream> {
        self.shared.set_up(false);
        self.shared.lock().core.handle_lost();
        self.batch.clear();
        self.incoming.clear();
        let stream = self.connect_until_it_works(port, pause).await?;
        self.shared.lock().core.handle_connected(&mut self.wakers);
        self.shared.set_up(true);
        wake_all(&mut self.wakers);
        Some(stream)
    }

    /// Connects after `pause`, and retries until it succeeds or the connection closes. Reports a server that cannot be
    /// reached for longer than a restart takes.
    async fn connect_until_it_works(&mut self, port: Option<u16>, mut pause: Duration) -> Option<Stream> {
        let since = ambient::now();
        loop {
            let mut attempt = pin!(connect_after(pause, self.dial.clone(), port));
            let tried = poll_fn(|cx| match self.poll_state(cx) {
                Poll::Ready(End::Closing) => Poll::Ready(None),
                _ => attempt.as_mut().poll(cx).map(Some),
            });
            match tried.await? {
                Ok(stream) => return Some(stream),
                Err(error) if ambient::now() - since >= RESTART => self.report_unreachable(&error),
                Err(error) => tracing::debug!(address = %self.dial.address, %error, "cannot connect"),
            }
            pause = (pause * 2).clamp(MIN_PAUSE, MAX_PAUSE);
        }
    }

    fn report_unreachable(&self, error: &io::Error) {
        let news = {
            let core = &mut self.shared.lock().core;
            core.handle_unreachable();
            core.take_news()
        };
        news.into_iter().for_each(|news| self.watch.tell_why(news, Some(error)));
    }

    fn fail_all(&mut self, failure: Failure) {
        tracing::warn!(server = %self.shared.server, %failure, "closing the connection");
        self.shared.lock().core.fail_all(failure, &mut self.wakers);
        wake_all(&mut self.wakers);
    }
}

/// Runs the driver again after all tasks that can run now. Callers need not wake it before, so it leaves no waker for
/// them.
fn come_back(cx: &mut Context<'_>) {
    let _ = pin!(tokio::task::yield_now()).poll(cx);
}

impl Drop for Driver {
    /// Fails the remaining calls when the runtime ends first.
    fn drop(&mut self) {
        self.shared.end(&mut self.wakers);
    }
}

/// The pause before reconnecting to a server that ended this many streams in a row right after they began. The first
/// needs no pause.
fn pause_after(short_lives: u32) -> Duration {
    match short_lives {
        0 | 1 => Duration::ZERO,
        more => MIN_PAUSE.saturating_mul(1 << (more - 2).min(u32::BITS - 1)).min(MAX_PAUSE),
    }
}

async fn connect_after(pause: Duration, dial: Dial, port: Option<u16>) -> io::Result<Stream> {
    tokio::time::sleep(pause).await;
    dial.stream(port).await
}
