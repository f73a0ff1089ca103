//! The calls that wait to be sent, and those that wait for replies.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use peer::Peer;
use rpc::Xid;
use state::Origin;

use super::call::{Callout, CalloutError, Destination, Transmit};
use crate::tally::Tally;

/// The most calls that may wait for replies. The calls to one client may use at most half of what the others leave
/// free.
const MAX_CALLOUTS: usize = 4096;

/// The most calls to one client's address that may wait for replies. It limits the traffic that one client can make the
/// server send.
const MAX_PER_CLIENT: usize = 256;

/// The calls, each with what follows it: a `T`.
pub(crate) struct Callouts<T> {
    inner: Mutex<CalloutTable<T>>,
    /// The number of messages that wait to be sent.
    unsent: AtomicUsize,
}

struct CalloutTable<T> {
    queue: VecDeque<Transmit>,
    waiting: HashMap<Xid, PendingCall<T>>,
    tally: Tally,
    last_xid: u32,
}

struct PendingCall<T> {
    destination: Destination,
    origin: Origin,
    /// The message to retransmit; empty when the call is never retransmitted.
    message: Vec<u8>,
    resend: Option<(Duration, Duration)>,
    deadline: Duration,
    then: T,
}

impl<T> Default for Callouts<T> {
    fn default() -> Callouts<T> {
        // Starts at random: XIDs must neither repeat those of an earlier process nor be guessable.
        let last_xid = RandomState::new().hash_one(0) as u32;
        let inner = CalloutTable { queue: VecDeque::new(), waiting: HashMap::new(), tally: Tally::default(), last_xid };
        Callouts { inner: Mutex::new(inner), unsent: AtomicUsize::new(0) }
    }
}

impl<T> Callouts<T> {
    /// Queues a call.
    pub(super) fn add(&self, callout: Callout, now: Duration, then: T) -> Result<(), CalloutError> {
        let mut inner = self.lock();
        if !inner.has_room(callout.origin) {
            return Err(CalloutError::TooMany);
        }
        let xid = inner.next_xid();
        let message = callout.message(xid);
        let resend = callout.timeouts.resend.map(|interval| (now + interval, interval));
        let kept = if resend.is_some() { message.clone() } else { Vec::new() };
        let deadline = now + callout.timeouts.timeout;
        let Callout { destination, origin, .. } = callout;
        inner.tally.add(origin);
        inner.waiting.insert(xid, PendingCall { destination, origin, message: kept, resend, deadline, then });
        inner.queue.push_back(Transmit { destination, message });
        self.publish(&inner);
        Ok(())
    }

    /// Takes the next message to be sent.
    pub(super) fn next_transmit(&self) -> Option<Transmit> {
        if self.unsent.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut inner = self.lock();
        let next = inner.queue.pop_front();
        self.publish(&inner);
        next
    }

    /// Ends the call `xid`, if it was sent to `peer`.
    pub(super) fn take(&self, xid: Xid, peer: &Peer) -> Option<T> {
        let mut inner = self.lock();
        if !inner.waiting.get(&xid)?.destination.is(peer) {
            return None;
        }
        let waiting = inner.waiting.remove(&xid)?;
        inner.tally.remove(waiting.origin);
        Some(waiting.then)
    }

    /// Ends the calls to `destination`.
    pub(super) fn fail(&self, destination: &Destination) -> Vec<T> {
        let mut inner = self.lock();
        inner.queue.retain(|transmit| transmit.destination != *destination);
        self.publish(&inner);
        inner.end_those(|waiting| waiting.destination == *destination)
    }

    /// Queues retransmissions that are due, and ends the calls that timed out.
    pub(super) fn tick(&self, now: Duration) -> Vec<T> {
        let mut inner = self.lock();
        let CalloutTable { queue, waiting, .. } = &mut *inner;
        for one in waiting.values_mut() {
            if let Some((at, interval)) = one.resend.filter(|(at, _)| *at <= now && now < one.deadline) {
                one.resend = Some((at + interval, interval));
                queue.push_back(Transmit { destination: one.destination, message: one.message.clone() });
            }
        }
        self.publish(&inner);
        inner.end_those(|waiting| waiting.deadline <= now)
    }

    fn publish(&self, inner: &CalloutTable<T>) {
        self.unsent.store(inner.queue.len(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, CalloutTable<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> CalloutTable<T> {
    fn next_xid(&mut self) -> Xid {
        loop {
            self.last_xid = self.last_xid.wrapping_add(1);
            if !self.waiting.contains_key(&Xid(self.last_xid)) {
                return Xid(self.last_xid);
            }
        }
    }

    fn end_those(&mut self, ends: impl Fn(&PendingCall<T>) -> bool) -> Vec<T> {
        let ended = self.waiting.extract_if(|_, waiting| ends(waiting));
        ended
            .map(|(_, waiting)| {
                self.tally.remove(waiting.origin);
                waiting.then
            })
            .collect()
    }

    fn has_room(&self, origin: Origin) -> bool {
        self.tally.of(origin) < MAX_PER_CLIENT && self.tally.has_room(origin, MAX_CALLOUTS)
    }
}

#[cfg(test)]
mod tests {
    use peer::Transport;

    use super::*;
    use crate::callout::{OwnCredential, Timeouts};

    const PEER: &str = "192.0.2.1:700";

    fn udp() -> Destination {
        Destination::Udp { local: "192.0.2.9:2049".parse().unwrap(), to: PEER.parse().unwrap() }
    }

    fn callout(destination: Destination, resend_s: Option<u64>) -> Callout {
        Callout {
            destination,
            origin: origin(1),
            procedure: rpc::Procedure { program: 9, version: 1, number: 1 },
            credential: OwnCredential::superuser("box"),
            arguments: b"args".to_vec(),
            timeouts: Timeouts { timeout: secs(10), resend: resend_s.map(secs) },
        }
    }

    fn origin(host: u8) -> Origin {
        Origin::of([192, 0, 2, host].into())
    }

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn peer(address: &str, transport: Transport, connection: u64) -> Peer {
        let local = "192.0.2.9:2049".parse().unwrap();
        Peer { address: address.parse().unwrap(), local, transport, connection }
    }

    fn xid(transmit: &Transmit) -> Xid {
        Xid(u32::from_be_bytes(transmit.message[..4].try_into().unwrap()))
    }

    #[test]
    fn call_is_answered_once_and_only_by_whom_it_went_to() {
        let calls = Callouts::default();
        calls.add(callout(udp(), None), secs(0), "then").unwrap();
        let sent = calls.next_transmit().unwrap();
        let call = rpc::Call::parse(&sent.message).unwrap();
        assert_eq!((call.arguments.rest(), call.procedure.program, sent.destination), (&b"args"[..], 9, udp()));
        assert!(calls.take(xid(&sent), &peer("192.0.2.2:700", Transport::Udp, 0)).is_none());
        assert!(calls.take(xid(&sent), &peer(PEER, Transport::Tcp, 5)).is_none());
        assert!(calls.take(xid(&sent), &peer(PEER, Transport::Udp, 0)).is_some());
        assert!(calls.take(xid(&sent), &peer(PEER, Transport::Udp, 0)).is_none());
    }

    #[test]
    fn datagram_is_sent_again_until_its_time_is_over() {
        let calls = Callouts::default();
        calls.add(callout(udp(), Some(4)), secs(0), "then").unwrap();
        let first = calls.next_transmit().unwrap();
        assert_eq!((calls.tick(secs(3)).len(), calls.next_transmit()), (0, None));
        assert_eq!((calls.tick(secs(4)).len(), calls.next_transmit()), (0, Some(first)));
        assert_eq!(calls.tick(secs(10)).len(), 1);
        assert_eq!(calls.tick(secs(20)).len(), 0);
    }

    #[test]
    fn calls_over_a_connection_that_is_gone_end_and_others_do_not() {
        let calls = Callouts::default();
        let (gone, other) = (Destination::Connection(5), Destination::Connection(6));
        for destination in [gone, other, gone] {
            calls.add(callout(destination, None), secs(0), "then").unwrap();
        }
        assert_eq!(calls.fail(&gone).len(), 2);
        let left = calls.next_transmit().unwrap();
        assert_eq!((left.destination, calls.next_transmit()), (other, None));
        assert!(calls.take(xid(&left), &peer(PEER, Transport::Tcp, 6)).is_some());
    }

    #[test]
    fn calls_to_one_client_are_bounded_and_leave_room_for_calls_to_others() {
        let calls = Callouts::default();
        let call = |host, now| {
            let callout = Callout { origin: origin(host), ..callout(udp(), None) };
            calls.add(callout, secs(now), "then")
        };
        assert_eq!((0..MAX_CALLOUTS).take_while(|_| call(1, 0).is_ok()).count(), MAX_PER_CLIENT);
        assert_eq!((call(1, 0), call(2, 0)), (Err(CalloutError::TooMany), Ok(())));
        assert_eq!(calls.tick(secs(10)).len(), MAX_PER_CLIENT + 1);
        assert_eq!(call(1, 10), Ok(()));
        let last = Xid(calls.lock().last_xid);
        assert!(calls.take(last, &peer(PEER, Transport::Udp, 0)).is_some());
        assert_eq!(calls.lock().tally.of(origin(1)), 0);
    }

    #[test]
    fn calls_to_all_clients_together_are_bounded() {
        let calls = Callouts::default();
        let call = |host| calls.add(Callout { origin: origin(host), ..callout(udp(), None) }, secs(0), "then");
        let made: usize = (1..=200).map(|host| (0..MAX_CALLOUTS).take_while(|_| call(host).is_ok()).count()).sum();
        assert_eq!(made, MAX_CALLOUTS);
        assert_eq!(call(250), Err(CalloutError::TooMany));
    }
}
