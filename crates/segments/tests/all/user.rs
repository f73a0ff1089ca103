//! The sender over a TAP device with the kernel as the receiver.

use std::time::Duration;

use segments::link::LinkError;
use segments::sender::{Algorithm, Config};
use segments::user::{Control, Error, Options, TransferResult, run};
use segments::{Card, Faults, Rule};

/// The outcome, or `None` where no device can be made.
fn outcome(options: &Options) -> Option<TransferResult> {
    match run(options, &Control::default()) {
        Ok(outcome) => {
            assert_eq!((outcome.received_bytes, outcome.wrong_bytes), (options.total_bytes, 0), "{options:?}");
            Some(outcome)
        }
        Err(
            error @ (Error::Permission
            | Error::NoTun
            | Error::Link(LinkError::Permission | LinkError::NoProgram { .. })),
        ) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}: {options:?}"),
    }
}

#[test]
fn kernel_receives_what_was_sent_with_and_without_offload() {
    for rule in Rule::ALL {
        let with = |card| Options { sender: Config { rule, card, ..Config::default() }, ..Options::default() };
        let Some(offloaded) = outcome(&with(Card::FULL)) else { return };
        let Some(plain) = outcome(&with(Card::PLAIN)) else { return };
        assert!(offloaded.tally.supers() > 50, "{rule:?}: {:?}", offloaded.tally);
        assert_eq!((plain.tally.supers(), plain.mss), (0, 1448));
        assert!(plain.tally.packets() > 5000, "{rule:?}: {:?}", plain.tally);
    }
}

#[test]
fn kernel_receives_what_was_sent_over_bad_paths() {
    let mut resends = 0;
    for seed in 0..12 {
        let faults = Faults { loss: 0.02, duplication: 0.02, reordering: 0.05, max_delay: Duration::from_millis(3) };
        let algorithm = if seed % 2 == 0 { Algorithm::Reno } else { Algorithm::Cubic };
        let card = if seed % 2 == 0 { Card::FULL } else { Card::PLAIN };
        let sender = Config { sack: seed % 3 > 0, timestamps: seed % 4 > 0, algorithm, card, ..Config::default() };
        let options = Options { sender, faults, seed, total_bytes: 1 << 20, ..Options::default() };
        let Some(outcome) = outcome(&options) else { return };
        resends += outcome.statistics.resends;
    }
    assert!(resends > 50, "{resends}");
}

#[test]
fn small_window_of_the_kernel_is_waited_for() {
    let options = Options {
        receive_buffer_bytes: Some(8192),
        read_bytes_per_second: Some(2e6),
        total_bytes: 1 << 20,
        ..Options::default()
    };
    let Some(outcome) = outcome(&options) else { return };
    assert!(outcome.elapsed > Duration::from_millis(400), "{:?}", outcome.elapsed);
    assert_eq!(outcome.statistics.timeouts, 0);
}

#[test]
fn wire_carries_whole_frames_of_every_super_segment() {
    for card in [Card::FULL, Card::PLAIN] {
        let sender = Config { card, ..Config::default() };
        let options = Options { sender, wire_bits_per_second: Some(1_000_000_000), ..Options::default() };
        let Some(outcome) = outcome(&options) else { return };
        let frames = outcome.frames.unwrap();
        // Beside the data there are the handshake, the end, questions for addresses and the bridge's own packets.
        assert!((outcome.tally.wire_packets..outcome.tally.wire_packets + 50).contains(&frames), "{outcome:?}");
        // The fastest that packets of 1448 bytes of data can be, with a burst of 64 KiB and 1 % for the rounding of
        // rates.
        let bytes = outcome.received_bytes as f64 - 65536.0;
        let least = bytes * 8.0 * 1538.0 / 1448.0 / 1e9 / 1.01;
        assert!(outcome.elapsed.as_secs_f64() > least, "{outcome:?}");
    }
}
