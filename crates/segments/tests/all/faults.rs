//! The sender over bad paths: what arrives is what was sent.

use std::time::Duration;

use segments::model::{
    AckPolicy, Costs, Frees, Interrupts, Path, ReadCosts, Reader, ReceiverConfig, Situation, WindowUpdates, run,
};
use segments::sender::{Algorithm, Config};
use segments::{Card, Faults, Rule};

const ACK_DELAY: Duration = Duration::from_millis(40);

/// A situation by chance; the same for the same seed.
fn situation(seed: u64) -> Situation {
    let mut random = fastrand::Rng::with_seed(seed);
    let flip = |random: &mut fastrand::Rng| random.bool();
    let faults = Faults {
        loss: random.f64() * 0.15,
        duplication: random.f64() * 0.1,
        reordering: random.f64() * 0.3,
        max_delay: Duration::from_micros(random.u64(1..20_000)),
    };
    Situation {
        sender: Config {
            rule: Rule::ALL[random.usize(..3)],
            card: if flip(&mut random) { Card::FULL } else { Card::PLAIN },
            mss: random.u16(200..9000),
            send_buffer_bytes: random.usize(2000..300_000),
            algorithm: if flip(&mut random) { Algorithm::Reno } else { Algorithm::Cubic },
            no_delay: flip(&mut random),
            timestamps: flip(&mut random),
            sack: flip(&mut random),
            window_scaling: flip(&mut random),
            give_up: Duration::from_secs(600),
            ..Config::default()
        },
        receiver: ReceiverConfig {
            buffer_bytes: random.u64(1000..200_000),
            window_scale: random.u8(0..8),
            mss: random.u16(200..9000),
            acks: [AckPolicy::Delayed(ACK_DELAY), AckPolicy::EachPacket, AckPolicy::Merged(ACK_DELAY)]
                [random.usize(..3)],
            updates: [WindowUpdates::Doubled, WindowUpdates::QuarterOrTight, WindowUpdates::Segment][random.usize(..3)],
            timestamps: true,
            sack: true,
        },
        path: Path {
            bits_per_second: 1e9,
            delay: Duration::from_micros(random.u64(1..5000)),
            arrives_whole: seed.is_multiple_of(4),
            faults,
        },
        costs: Costs::default(),
        write_bytes_per_second: None,
        write_bytes: random.usize(1..100_000),
        reader: Reader {
            read_bytes: random.u64(1..100_000),
            frees: if flip(&mut random) { Frees::EachRead } else { Frees::EachPacket },
            costs: if flip(&mut random) {
                ReadCosts::of_rate(1e5 + random.f64() * 1e7)
            } else {
                ReadCosts { read: Duration::from_micros(random.u64(0..20)), ..ReadCosts::default() }
            },
            jitter: random.f64(),
        },
        sender_interrupts: interrupts(&mut random),
        receiver_interrupts: interrupts(&mut random),
        total_bytes: random.u64(1..400_000),
        seed,
    }
}

fn interrupts(random: &mut fastrand::Rng) -> Interrupts {
    let mut time = |most| Duration::from_micros(random.u64(0..most));
    Interrupts { gap: time(200), packet: time(5) }
}

#[test]
fn received_bytes_are_the_sent_bytes_over_bad_paths() {
    let mut resends = 0;
    for seed in 0..400 {
        let situation = situation(seed);
        let outcome = run(&situation);
        assert_eq!(outcome.failure, None, "seed {seed}");
        assert_eq!((outcome.received_bytes, outcome.wrong_bytes), (situation.total_bytes, 0), "seed {seed}");
        resends += outcome.statistics.resends;
    }
    assert!(resends > 1000, "{resends}");
}

#[test]
fn same_seed_gives_the_same_packets() {
    for seed in 0..5 {
        assert_eq!(run(&situation(seed)), run(&situation(seed)), "seed {seed}");
    }
}

#[test]
fn good_paths_cost_no_retransmission() {
    for seed in 0..100 {
        let mut situation = situation(seed);
        situation.path.faults = Faults::default();
        let statistics = run(&situation).statistics;
        assert_eq!((statistics.timeouts, statistics.fast_recoveries), (0, 0), "seed {seed}");
        assert_eq!(statistics.resends, 0, "seed {seed}: {statistics:?}");
    }
}
