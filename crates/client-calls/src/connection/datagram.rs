//! The driver of a UDP socket. A message is a datagram; the core retransmits what is lost.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::BytesMut;
use tokio::net::UdpSocket;

use super::ambient;
use super::outage::Watch;
use super::shared::{Shared, wake_all};
use super::timer::Timer;

/// The largest datagram, in bytes.
const MAX_DATAGRAM_BYTES: usize = 1 << 16;
/// The memory that several replies share, in bytes.
const BLOCK_BYTES: usize = 4 * MAX_DATAGRAM_BYTES;
/// How many datagrams one turn receives before other tasks get their turn.
const RECEIVES_PER_TURN: usize = 64;

pub(super) struct Driver {
    shared: Arc<Shared>,
    socket: UdpSocket,
    /// The datagram that the socket has not accepted yet; empty if there is none.
    outgoing: BytesMut,
    incoming: BytesMut,
    timer: Timer,
    wakers: Vec<Waker>,
    watch: Watch,
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>, socket: UdpSocket) -> Driver {
        let (outgoing, incoming) = (BytesMut::new(), BytesMut::new());
        let watch = Watch::new(Arc::clone(&shared.server));
        Driver { shared, socket, outgoing, incoming, timer: Timer::new(), wakers: Vec::new(), watch }
    }

    pub(super) async fn run(mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Replies first: they open the window for what is sent next.
        self.receive(cx);
        ready!(self.poll_state(cx));
        Poll::Ready(())
    }

    /// Handles timeouts and sends queued calls; ready when the connection is closing.
    fn poll_state(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let deadline = {
                let mut state = self.shared.lock();
                if state.is_closing {
                    return Poll::Ready(());
                }
                match &mut state.driver {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
                state.core.poll_timeout()
            };
            self.send(cx);
            let Some(deadline) = deadline else { return Poll::Pending };
            ready!(self.timer.poll(deadline, cx));
            let news = {
                let core = &mut self.shared.lock().core;
                core.handle_timeout(ambient::now(), &mut self.wakers);
                core.take_news()
            };
            wake_all(&mut self.wakers);
            news.into_iter().for_each(|news| self.watch.tell(news));
        }
    }

    fn send(&mut self, cx: &mut Context<'_>) {
        let now = ambient::now();
        loop {
            if self.outgoing.is_empty() && !self.shared.lock().core.fill_datagram(now, &mut self.outgoing) {
                return;
            }
            match self.socket.poll_send(cx, &self.outgoing) {
                Poll::Pending => return,
                // A datagram that the socket refuses counts as lost, and is retransmitted on timeout.
                Poll::Ready(Err(error)) => self.note(&error),
                Poll::Ready(Ok(_)) => {}
            }
            self.outgoing.clear();
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>) {
        let mut now = None;
        for _ in 0..RECEIVES_PER_TURN {
            if !matches!(self.socket.poll_recv_ready(cx), Poll::Ready(Ok(()))) {
                return;
            }
            if self.incoming.capacity() < MAX_DATAGRAM_BYTES {
                self.incoming.reserve(BLOCK_BYTES);
            }
            match self.socket.try_recv_buf(&mut self.incoming) {
                // All datagrams of one turn get one time.
                Ok(_) => self.take_message(*now.get_or_insert_with(ambient::now)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => self.note(&error),
            }
        }
        cx.waker().wake_by_ref();
    }

    fn take_message(&mut self, now: std::time::Instant) {
        let message = self.incoming.split().freeze();
        let news = {
            let core = &mut self.shared.lock().core;
            core.handle_message(now, message, &mut self.wakers);
            core.take_news()
        };
        wake_all(&mut self.wakers);
        news.into_iter().for_each(|news| self.watch.tell(news));
    }

    /// A socket error means that the server is not there yet or the network is full. Retransmission handles both.
    fn note(&self, error: &io::Error) {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            self.shared.lock().core.handle_refused();
        }
        tracing::debug!(server = %self.shared.server, %error, "datagram socket");
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.end(&mut self.wakers);
    }
}
