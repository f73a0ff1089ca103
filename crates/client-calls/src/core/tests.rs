use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use rpc::Xid;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Bench {
    core: Core,
    now: Instant,
    wakers: Vec<Waker>,
}

impl Bench {
    fn new(transport: Transport, retry: Retry) -> Bench {
        let now = Instant::now();
        Bench { core: Core::new(Config { transport, max_pending: 4, retry }, 7, now), now, wakers: Vec::new() }
    }

    fn soft(transport: Transport) -> Bench {
        Bench::new(transport, Retry { first_timeout: SECOND, retransmissions: 2, is_hard: false })
    }

    fn submit(&mut self, text: &[u8]) -> Xid {
        self.core
            .submit(self.now, None, |xid, head| {
                head.put(&xid.0.to_be_bytes());
                head.put(text);
                Label::OTHER
            })
            .unwrap()
    }

    fn datagrams(&mut self) -> Vec<Vec<u8>> {
        let mut datagram = BytesMut::new();
        std::iter::from_fn(|| self.core.fill_datagram(self.now, &mut datagram).then(|| datagram.to_vec())).collect()
    }

    fn stream(&mut self) -> Vec<u8> {
        let mut batch = Batch::default();
        self.core.fill_batch(self.now, &mut batch);
        let mut slices = [std::io::IoSlice::new(&[]); Batch::MAX_SLICES];
        let count = batch.slices(&mut slices);
        slices[..count].iter().flat_map(|slice| slice.to_vec()).collect()
    }

    fn reply(&mut self, xid: Xid, text: &[u8]) {
        self.core.handle_message(self.now, Bytes::from(reply(xid, text)), &mut self.wakers);
    }

    fn pass(&mut self, time: Duration) -> Expired {
        self.now += time;
        self.core.handle_timeout(self.now, &mut self.wakers)
    }

    fn poll(&mut self, xid: Xid) -> Poll<Result<Bytes, Failure>> {
        self.core.poll_reply(xid, &Context::from_waker(Waker::noop()))
    }
}

fn reply(xid: Xid, text: &[u8]) -> Vec<u8> {
    [&xid.0.to_be_bytes()[..], &[0, 0, 0, 1], text].concat()
}

#[test]
fn replies_in_any_order_reach_their_own_calls() {
    let mut bench = Bench::soft(Transport::Tcp);
    let calls = [bench.submit(b"aaaa"), bench.submit(b"bbbb"), bench.submit(b"cccc")];
    bench.stream();
    for (call, text) in [(calls[2], b"c"), (calls[0], b"a"), (calls[1], b"b")] {
        bench.reply(call, text);
    }
    for (call, text) in [(calls[0], b"a"), (calls[1], b"b"), (calls[2], b"c")] {
        assert!(matches!(bench.poll(call), Poll::Ready(Ok(message)) if message[8..] == text[..]));
    }
}

#[test]
fn calls_queued_together_go_out_in_one_batch_of_records() {
    let mut bench = Bench::soft(Transport::Tcp);
    bench.submit(b"one!");
    bench.submit(b"two!");
    assert_eq!(bench.stream(), b"\x80\0\0\x08\0\0\0\x07one!\x80\0\0\x08\0\0\0\x08two!");
}

#[test]
fn data_goes_out_behind_the_head_with_length_and_padding_and_the_rest_behind_it() {
    let mut bench = Bench::soft(Transport::Tcp);
    let tail = Some(Tail { data: Bytes::from_static(b"abcde"), behind: b"rest" });
    bench
        .core
        .submit(bench.now, tail, |_, head| {
            head.put(b"head");
            Label::OTHER
        })
        .unwrap();
    assert_eq!(bench.stream(), b"\x80\0\0\x14head\0\0\0\x05abcde\0\0\0rest");
}

#[test]
fn lost_datagram_is_sent_again_with_its_xid_and_twice_the_time() {
    let mut bench = Bench::soft(Transport::Udp);
    let call = bench.submit(b"call");
    let first = bench.datagrams();
    assert_eq!(first.len(), 1);
    bench.pass(SECOND);
    assert_eq!(bench.datagrams(), first, "the very same bytes, xid included");
    bench.pass(SECOND);
    assert_eq!(bench.datagrams().len(), 0, "the second send is given two seconds");
    bench.pass(SECOND);
    assert_eq!(bench.datagrams(), first);
    bench.reply(call, b"late");
    assert!(matches!(bench.poll(call), Poll::Ready(Ok(_))));
    assert_eq!(bench.core.counters().retransmissions, 2);
}

#[test]
fn damaged_datagram_is_as_good_as_lost_until_the_server_insists() {
    let mut bench = Bench::new(Transport::Udp, Retry { first_timeout: SECOND, retransmissions: 9, is_hard: false });
    let call = bench.submit(b"call");
    bench.core.expect(call, |message| message.ends_with(b"whole"));
    let first = bench.datagrams();
    bench.reply(call, b"wh");
    assert!(bench.poll(call).is_pending());
    bench.pass(SECOND);
    assert_eq!(bench.datagrams(), first, "it is sent again");
    bench.reply(call, b"w");
    bench.reply(call, b"who");
    assert!(bench.poll(call).is_pending());
    assert_eq!((bench.core.counters().invalid, bench.core.counters().replies), (3, 0));
    bench.reply(call, b"what");
    assert!(matches!(bench.poll(call), Poll::Ready(Ok(message)) if message.ends_with(b"what")), "it means it");
    let call = bench.submit(b"call");
    bench.datagrams();
    bench.reply(call, b"any");
    assert!(bench.poll(call).is_ready(), "nothing was said of this one");
}

#[test]
fn stream_is_what_the_server_says() {
    let mut bench = Bench::soft(Transport::Tcp);
    let call = bench.submit(b"call");
    bench.core.expect(call, |_| false);
    bench.stream();
    bench.reply(call, b"nonsense");
    assert!(bench.poll(call).is_ready());
}

#[test]
fn soft_call_fails_after_its_retransmissions() {
    let mut bench = Bench::soft(Transport::Udp);
    let call = bench.submit(b"call");
    for seconds in [1, 2, 4] {
        assert!(bench.poll(call).is_pending());
        bench.datagrams();
        bench.pass(SECOND * seconds);
    }
    let Poll::Ready(Err(failure)) = bench.poll(call) else { panic!("still waiting") };
    assert_eq!(failure, Failure::TimedOut { sends: 3, waited: SECOND * 7 });
    assert_eq!(bench.core.poll_timeout(), None);
}

#[test]
fn hard_call_goes_on_for_ever() {
    let retry = Retry { first_timeout: SECOND, retransmissions: 0, is_hard: true };
    let mut bench = Bench::new(Transport::Udp, retry);
    let call = bench.submit(b"call");
    for _ in 0..50 {
        assert_eq!(bench.datagrams().len(), 1);
        bench.pass(Retry::MAX_DATAGRAM_TIMEOUT);
    }
    assert!(bench.poll(call).is_pending());
}

#[test]
fn silence_is_news_once_and_so_is_its_end() {
    let retry = Retry { first_timeout: SECOND, retransmissions: 1, is_hard: true };
    let mut bench = Bench::new(Transport::Tcp, retry);
    let (slow, other) = (bench.submit(b"slow"), bench.submit(b"call"));
    bench.stream();
    bench.pass(SECOND);
    bench.reply(other, b"here");
    bench.pass(SECOND * 2);
    assert_eq!(bench.core.take_news(), None, "one slow call is no silence while others are answered");
    for _ in 0..10 {
        bench.pass(SECOND * 60);
    }
    assert_eq!((bench.core.take_news(), bench.core.take_news()), (Some(News::Silent), None));
    bench.reply(slow, b"at last");
    assert_eq!((bench.core.take_news(), bench.core.take_news()), (Some(News::Answers), None));
}

#[test]
fn replies_to_calls_of_a_server_that_takes_none_of_them_stay_few() {
    let mut bench = Bench::soft(Transport::Tcp);
    bench.core.serve_back_calls();
    let (mut taken, cx) = (0, Context::from_waker(Waker::noop()));
    for _ in 0..1000 {
        bench.core.handle_message(bench.now, Bytes::from_static(b"\0\0\0\x07\0\0\0\0"), &mut bench.wakers);
        if bench.core.poll_back_event(&cx).is_ready() {
            bench.core.answer_back_call(Bytes::from_static(b"reply"));
            taken += 1;
        }
    }
    assert_eq!((taken, bench.core.counters().invalid), (64, 936));
}

#[test]
fn doubled_and_late_replies_are_counted_and_change_nothing() {
    let mut bench = Bench::soft(Transport::Udp);
    let call = bench.submit(b"call");
    bench.datagrams();
    bench.reply(call, b"one");
    bench.reply(call, b"two");
    assert!(matches!(bench.poll(call), Poll::Ready(Ok(message)) if message[8..] == b"one"[..]));
    bench.reply(call, b"three");
    bench.reply(Xid(999), b"who");
    assert_eq!((bench.core.counters().replies, bench.core.counters().unexpected), (1, 3));
}

#[test]
fn reply_to_a_call_that_was_not_sent_yet_is_not_believed() {
    let mut bench = Bench::soft(Transport::Tcp);
    let call = bench.submit(b"call");
    bench.reply(call, b"guess");
    assert!(bench.poll(call).is_pending());
}

#[test]
fn message_that_is_no_reply_is_counted_as_invalid() {
    let mut bench = Bench::soft(Transport::Tcp);
    let call = bench.submit(b"call");
    bench.stream();
    bench.core.handle_message(bench.now, Bytes::from_static(b"\0\0"), &mut bench.wakers);
    bench.core.handle_message(bench.now, Bytes::from_static(b"\0\0\0\x07\0\0\0\0"), &mut bench.wakers);
    assert!(bench.poll(call).is_pending());
    assert_eq!(bench.core.counters().invalid, 2);
}

#[test]
fn new_stream_carries_every_unanswered_call_again_in_order() {
    let mut bench = Bench::soft(Transport::Tcp);
    let calls = [bench.submit(b"aaaa"), bench.submit(b"bbbb"), bench.submit(b"cccc")];
    let first = bench.stream();
    bench.reply(calls[1], b"");
    bench.core.handle_lost();
    bench.submit(b"dddd");
    assert!(bench.stream().is_empty(), "nothing is sent without a stream");
    bench.core.handle_connected(&mut Vec::new());
    let again = bench.stream();
    assert_eq!(again[..12], first[..12]);
    assert_eq!(again[12..24], first[24..]);
    assert!(again[24..].ends_with(b"dddd"));
    assert_eq!(again.len(), 36);
}

#[test]
fn time_out_on_a_stream_asks_for_another_one() {
    let mut bench = Bench::soft(Transport::Tcp);
    bench.submit(b"call");
    bench.stream();
    assert_eq!(bench.pass(SECOND / 2), Expired::Nothing);
    assert_eq!(bench.pass(SECOND / 2), Expired::Reconnect);
}

#[test]
fn table_takes_no_more_calls_than_it_was_given_places() {
    let mut bench = Bench::soft(Transport::Tcp);
    let first = bench.submit(b"1");
    for _ in 0..3 {
        bench.submit(b"n");
    }
    let now = bench.now;
    assert_eq!(bench.core.submit(now, None, |_, _| Label::OTHER), Err(Full));
    bench.core.cancel(first);
    bench.submit(b"5");
}

#[test]
fn cancelled_call_leaves_the_queue_and_its_place() {
    let mut bench = Bench::soft(Transport::Udp);
    let (queued, sent) = (bench.submit(b"a"), bench.submit(b"b"));
    bench.core.cancel(queued);
    assert_eq!(bench.datagrams().len(), 1);
    bench.core.cancel(sent);
    bench.reply(sent, b"late");
    assert_eq!((bench.core.pending(), bench.core.counters().unexpected), (0, 1));
    for _ in 0..4 {
        bench.submit(b"n");
    }
    assert_eq!(bench.datagrams().len(), 4);
}

#[test]
fn xids_go_on_past_places_that_are_taken() {
    let mut bench = Bench::soft(Transport::Tcp);
    let old = bench.submit(b"old");
    bench.stream();
    for _ in 0..40 {
        let call = bench.submit(b"new");
        assert_ne!(call, old);
        bench.stream();
        bench.reply(call, b"");
        assert!(bench.poll(call).is_ready());
    }
    bench.reply(old, b"at last");
    assert!(matches!(bench.poll(old), Poll::Ready(Ok(message)) if message[8..] == b"at last"[..]));
}

#[test]
fn table_grows_with_the_calls_at_once_and_keeps_them() {
    let now = Instant::now();
    let retry = Retry { first_timeout: SECOND, retransmissions: 2, is_hard: false };
    let config = Config { transport: Transport::Tcp, max_pending: 1000, retry };
    let mut bench = Bench { core: Core::new(config, u32::MAX - 3, now), now, wakers: Vec::new() };
    for _ in 0..100 {
        let call = bench.submit(b"alone");
        bench.stream();
        bench.reply(call, b"");
        assert!(bench.poll(call).is_ready());
    }
    assert_eq!(bench.core.slots.len(), FIRST_PLACES);
    let calls: Vec<Xid> = (0..1000).map(|_| bench.submit(b"many")).collect();
    assert_eq!(bench.core.slots.len(), 2048);
    bench.stream();
    for call in &calls {
        bench.reply(*call, &call.0.to_be_bytes());
    }
    for call in calls {
        assert!(matches!(bench.poll(call), Poll::Ready(Ok(message)) if message[8..] == call.0.to_be_bytes()));
    }
}

#[test]
fn datagrams_in_flight_stay_within_the_window() {
    let now = Instant::now();
    let retry = Retry { first_timeout: SECOND, retransmissions: 2, is_hard: false };
    let config = Config { transport: Transport::Udp, max_pending: 64, retry };
    let mut bench = Bench { core: Core::new(config, 1, now), now, wakers: Vec::new() };
    let calls: Vec<Xid> = (0..64).map(|_| bench.submit(b"x")).collect();
    assert_eq!(bench.datagrams().len(), 8);
    bench.reply(calls[0], b"");
    assert_eq!(bench.datagrams().len(), 1);
}

/// A seeded random number generator (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % sides
    }
}

/// Datagrams in flight, each with the turn in which it arrives.
#[derive(Default)]
struct Wire(Vec<(u64, Vec<u8>)>);

impl Wire {
    /// Takes a datagram: loses one in five, duplicates one in five, and delays all.
    fn carry(&mut self, datagram: &[u8], turn: u64, dice: &mut Dice) {
        let copies = [0, 1, 1, 1, 2][dice.roll(5) as usize];
        self.0.extend((0..copies).map(|_| (turn + dice.roll(40), datagram.to_vec())));
    }

    fn arrivals(&mut self, turn: u64) -> Vec<Vec<u8>> {
        let (now, later) = self.0.drain(..).partition(|(arrival, _)| *arrival <= turn);
        self.0 = later;
        now.into_iter().map(|(_, datagram)| datagram).collect()
    }
}

/// Makes 200 calls over a bad network; the server's reply is the call's text reversed.
fn simulate(seed: u64) {
    const CALLS: u32 = 200;
    let mut dice = Dice(seed);
    let retry = Retry { first_timeout: SECOND, retransmissions: 0, is_hard: true };
    let mut bench = Bench::new(Transport::Udp, retry);
    let (mut there, mut back) = (Wire::default(), Wire::default());
    let (mut open, mut made, mut answered): (Vec<(Xid, [u8; 4])>, u32, u32) = (Vec::new(), 0, 0);
    for turn in 0.. {
        assert!(turn < 1_000_000, "seed {seed}: {answered} calls answered and no end");
        while made < CALLS && open.len() < 4 {
            let text = made.to_be_bytes();
            open.push((bench.submit(&text), text));
            made += 1;
        }
        for datagram in bench.datagrams() {
            there.carry(&datagram, turn, &mut dice);
        }
        for call in there.arrivals(turn) {
            let (xid, text) = (&call[..4], call[4..].iter().rev().copied().collect::<Vec<u8>>());
            back.carry(&[xid, &[0, 0, 0, 1], &text].concat(), turn, &mut dice);
        }
        for message in back.arrivals(turn) {
            bench.core.handle_message(bench.now, message.into(), &mut bench.wakers);
        }
        bench.pass(SECOND / 10);
        open.retain(|(xid, text)| match bench.poll(*xid) {
            Poll::Pending => true,
            Poll::Ready(reply) => {
                let reply = reply.unwrap();
                assert!(reply[8..].iter().rev().eq(text), "seed {seed}: another call's reply");
                answered += 1;
                false
            }
        });
        if answered == CALLS {
            return;
        }
    }
}

#[test]
fn every_call_gets_its_own_reply_over_a_wire_that_loses_doubles_and_reorders() {
    (0..200).for_each(simulate);
}
