//! What the model says of the document's situation.

use std::time::Duration;

use segments::Rule;
use segments::model::scan::Fit;
use segments::model::{AckPolicy, DOCUMENT_BUFFERS, Host, Limit, ModelResult, Situation, WindowUpdates, run};

/// Enough for the state that lasts, and short enough for a test.
const BYTES: u64 = 32 << 20;

fn outcome(limit: Limit, rule: Rule, seed: u64) -> ModelResult {
    run(&Situation { total_bytes: BYTES, ..Situation::document(limit, rule, seed) })
}

fn single_share(outcome: &ModelResult) -> f64 {
    outcome.tally.share(outcome.tally.single).unwrap_or_default()
}

#[test]
fn sender_and_window_as_limits_give_no_single_segments_under_any_rule() {
    for (limit, rule) in
        [Limit::Sender, Limit::Window].into_iter().flat_map(|limit| Rule::ALL.map(|rule| (limit, rule)))
    {
        let outcome = outcome(limit, rule, 1);
        assert!(single_share(&outcome) < 0.01, "{limit:?} {rule:?}: {:?}", outcome.tally);
    }
}

#[test]
fn slow_receiver_makes_single_segments_before_the_change_and_fractional_sends_after_it() {
    for seed in 1..4 {
        let [before, after, today] = Rule::ALL.map(|rule| outcome(Limit::Receiver, rule, seed));
        assert!(single_share(&before) > 0.25, "{:?}", before.tally);
        assert!(single_share(&today) > 0.25, "{:?}", today.tally);
        assert!(single_share(&after) < 0.15, "{:?}", after.tally);
        assert!(after.tally.partial() > 10 * before.tally.partial(), "{:?}", after.tally);
        assert!(after.tally.packets() < before.tally.packets());
        // The receiver's wire sees no fewer packets than whole segments make.
        assert!(after.tally.wire_packets >= before.tally.wire_packets);
    }
}

#[test]
fn speed_is_what_the_limit_allows() {
    for limit in Limit::ALL {
        let gbit = outcome(limit, Rule::After, 1).bytes_per_second() * 8e-9;
        assert!((2.0..3.4).contains(&gbit), "{limit:?}: {gbit}");
    }
}

fn receiver(change: impl FnOnce(&mut Situation)) -> [ModelResult; 2] {
    let mut base = Situation { total_bytes: BYTES, ..Situation::document(Limit::Receiver, Rule::Before, 1) };
    change(&mut base);
    [Rule::Before, Rule::After].map(|rule| {
        let mut situation = base.clone();
        situation.sender.rule = rule;
        run(&situation)
    })
}

#[test]
fn early_window_updates_and_short_reads_give_the_documents_share_of_single_segments() {
    let [before, after] = receiver(|situation| {
        situation.receiver.acks = AckPolicy::EachPacket;
        situation.receiver.updates = WindowUpdates::Segment;
        situation.reader.read_bytes = 1300;
        situation.receiver_interrupts.gap = Duration::from_micros(4);
        situation.sender_interrupts.gap = Duration::from_micros(4);
    });
    assert!((0.68..0.84).contains(&single_share(&before)), "{:?}", before.tally);
    assert!(single_share(&after) < 0.001, "{:?}", after.tally);
}

/// Rare interrupts collect the updates, and windows open by many segments.
#[test]
fn rare_interrupts_leave_no_single_segments() {
    let [before, _] = receiver(|situation| {
        situation.receiver_interrupts.gap = Duration::from_micros(125);
        situation.sender_interrupts.gap = Duration::from_micros(125);
    });
    assert!(single_share(&before) < 0.1, "{:?}", before.tally);
}

#[test]
fn slower_of_reader_and_interrupts_decides_the_speed() {
    let mbit = |kib_ns, packet_ns| {
        let [before, _] = receiver(|situation| {
            situation.receiver.buffer_bytes = 64 << 10;
            situation.reader.read_bytes = 64 << 10;
            situation.reader.costs.kib = Duration::from_nanos(kib_ns);
            situation.receiver_interrupts.packet = Duration::from_nanos(packet_ns);
        });
        before.bytes_per_second() * 8e-6
    };
    // 1024 bytes in 8 µs, and 1448 bytes in 16 µs.
    assert!((mbit(8000, 1000) / 1024.0 - 1.0).abs() < 0.05, "{}", mbit(8000, 1000));
    assert!((mbit(1000, 16_000) / 724.0 - 1.0).abs() < 0.05, "{}", mbit(1000, 16_000));
}

#[test]
fn everything_arrives_with_each_of_netperfs_buffers() {
    for (send, receive) in DOCUMENT_BUFFERS {
        let situation = Situation::document(Limit::Receiver, Rule::Before, 1).with_buffers(send, receive, Host::R1);
        let outcome = run(&Situation { total_bytes: BYTES, ..situation });
        assert_eq!((outcome.received_bytes, outcome.wrong_bytes, outcome.failure), (BYTES, 0, None));
        assert_eq!(outcome.statistics.timeouts, 0, "{send} {receive}");
    }
}

#[test]
fn receiver_nearest_to_the_document_is_within_five_percent_of_all_its_figures() {
    let fit = Fit::new(&Situation::nearest_to_document(Rule::Before, 1));
    assert!(fit.distance() < 0.05, "{:?} {:?}", fit.deviations(), fit.tallies);
}

#[test]
fn speed_follows_from_the_processor_time_of_the_receiving_host() {
    let mbit = |host, (send, receive)| {
        let situation = Situation::document(Limit::Receiver, Rule::Before, 1).with_buffers(send, receive, host);
        run(&Situation { total_bytes: BYTES, ..situation }).bytes_per_second() * 8e-6
    };
    let [small, large] = [2, 6].map(|row| mbit(Host::R1, DOCUMENT_BUFFERS[row]));
    assert!(small > 1.2 * large, "{small} {large}");
    // The hosts differ most with 256 and 512 KiB.
    let [r1, s1] = [Host::R1, Host::S1].map(|host| mbit(host, DOCUMENT_BUFFERS[3]));
    assert!(s1 > 1.05 * r1, "{s1} {r1}");
}
