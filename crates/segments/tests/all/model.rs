//! What the model says of the document's situation.

use segments::Rule;
use segments::model::{DOCUMENT_BUFFERS, Limit, ModelResult, Situation, run};

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
        assert!((2.0..3.3).contains(&gbit), "{limit:?}: {gbit}");
    }
}

#[test]
fn everything_arrives_with_each_of_netperfs_buffers() {
    for (send, receive) in DOCUMENT_BUFFERS {
        let situation = Situation::document(Limit::Receiver, Rule::Before, 1).with_buffers(send, receive);
        let outcome = run(&Situation { total_bytes: BYTES, ..situation });
        assert_eq!((outcome.received_bytes, outcome.wrong_bytes, outcome.failure), (BYTES, 0, None));
        assert_eq!(outcome.statistics.timeouts, 0, "{send} {receive}");
    }
}
