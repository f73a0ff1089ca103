//! The model beside the sender over a TAP device: the same sender, a modelled path and receiver, and the kernel.

use std::time::Duration;

use segments::model::{
    self, AckPolicy, Costs, Frees, Interrupts, Path, ReadCosts, Reader, ReceiverConfig, Situation, WindowUpdates,
};
use segments::sender::Config;
use segments::trace::Tally;
use segments::user::{self, Control, Error, Options};
use segments::{Card, Faults, Rule};

const BYTES: u64 = 16 << 20;

fn modelled(sender: Config) -> Tally {
    let situation = Situation {
        sender,
        receiver: ReceiverConfig {
            buffer_bytes: 6 << 20,
            window_scale: 7,
            mss: 1460,
            acks: AckPolicy::Delayed(Duration::from_millis(40)),
            updates: WindowUpdates::Doubled,
            timestamps: true,
            sack: true,
        },
        path: Path {
            bits_per_second: 1e11,
            delay: Duration::from_micros(1),
            arrives_whole: true,
            faults: Faults::default(),
        },
        costs: Costs { send: Duration::from_micros(20), ..Costs::default() },
        write_bytes_per_second: None,
        write_bytes: 64 << 10,
        reader: Reader { read_bytes: 64 << 10, frees: Frees::EachRead, costs: ReadCosts::default(), jitter: 0.5 },
        sender_interrupts: Interrupts::default(),
        receiver_interrupts: Interrupts::default(),
        total_bytes: BYTES,
        seed: 1,
    };
    model::run(&situation).tally
}

/// The same with packets; `None` where no device can be made.
fn real(sender: Config) -> Option<Tally> {
    let options = Options { sender, total_bytes: BYTES, ..Options::default() };
    match user::run(&options, &Control::default()) {
        Ok(outcome) => Some(outcome.tally),
        Err(error @ (Error::Permission | Error::NoTun)) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn without_offload_the_packets_are_as_many() {
    let sender = Config { card: Card::PLAIN, ..Config::default() };
    let Some(real) = real(sender.clone()) else { return };
    let modelled = modelled(sender);
    assert!(real.packets().abs_diff(modelled.packets()) <= modelled.packets() / 100, "{real:?} {modelled:?}");
}

#[test]
fn packets_are_the_same_where_the_send_buffer_is_the_limit() {
    for rule in Rule::ALL {
        let sender = Config { rule, send_buffer_bytes: 32 << 10, ..Config::default() };
        let Some(real) = real(sender.clone()) else { return };
        let modelled = modelled(sender);
        let is_close = |real: u64, modelled: u64| real.abs_diff(modelled) <= modelled / 100 + 2;
        assert!(is_close(real.packets(), modelled.packets()), "{rule:?} {real:?} {modelled:?}");
        assert!(is_close(real.partial(), modelled.partial()), "{rule:?} {real:?} {modelled:?}");
    }
}

/// How often a stream is sent until its sends agree with the model's: other processes delay the kernel's ACKs.
const TRIES: usize = 10;

/// What the kernel acknowledges, and when, depends on when its threads run; the wire's packets hardly do.
#[test]
fn wire_packets_agree_within_two_percent_and_sends_within_half() {
    for (rule, send_buffer_bytes) in
        Rule::ALL.into_iter().flat_map(|rule| [256 << 10, 1 << 20].map(|bytes| (rule, bytes)))
    {
        let sender = Config { rule, send_buffer_bytes, ..Config::default() };
        let modelled = modelled(sender.clone());
        let mut seen = Vec::new();
        let sends_agree = |real: &Tally| {
            real.packets().abs_diff(modelled.packets()) <= modelled.packets() / 2
                && real.single <= modelled.single + modelled.packets() / 20
        };
        while !seen.last().is_some_and(sends_agree) {
            let Some(real) = real(sender.clone()) else { return };
            let shown = format!("{rule:?} {send_buffer_bytes}: {real:?} {modelled:?}");
            assert!(real.wire_packets.abs_diff(modelled.wire_packets) <= modelled.wire_packets / 50, "{shown}");
            seen.push(real);
            assert!(seen.len() < TRIES || seen.last().is_some_and(sends_agree), "{rule:?} {seen:?} {modelled:?}");
        }
    }
}
