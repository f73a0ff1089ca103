//! A stream to a receiving host of its own, whose process is `wharf tcp receive`.

use std::fs;
use std::process::Command;
use std::time::Duration;

use segments::link::{LinkOptions, is_permitted};
use segments::user::{Control, Error, Options, ReceivingHost, TransferResult, run_to};

const BYTES: u64 = 4 << 20;

/// A host, or `None` where none can be made.
fn host() -> Option<ReceivingHost> {
    if !is_permitted() || !fs::exists("/dev/net/tun").unwrap() {
        println!("skipped: a wire and a TAP device need root");
        return None;
    }
    let link = LinkOptions { bits_per_second: 10_000_000_000, mtu: 1500 };
    let host = ReceivingHost::new(link);
    host.inspect_err(|error| println!("skipped: {error}")).ok()
}

fn transfer(host: &ReceivingHost) -> TransferResult {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    command.args(["tcp", "receive", "--receive-buffer", "256K", "--read-size", "16K"]);
    let receiver = host.start(&mut command, None).unwrap();
    run_to(host, receiver, &Options { total_bytes: BYTES, ..Options::default() }, &Control::default()).unwrap()
}

/// How often a thread has waited, which is more often after it has worked.
fn waits(thread: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
    let waits = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    waits.unwrap().trim().parse().unwrap()
}

#[test]
fn streams_reach_processes_of_another_host_whose_thread_receives_the_frames() {
    let Some(host) = host() else { return };
    for _ in 0..2 {
        let before = waits(host.thread());
        let outcome = transfer(&host);
        assert_eq!((outcome.received_bytes, outcome.wrong_bytes), (BYTES, 0), "{outcome:?}");
        assert!(outcome.receiver_time > Duration::ZERO, "{outcome:?}");
        // The handshake, the end and questions for addresses beside the data of this run alone.
        let frames = outcome.frames.unwrap();
        assert!((outcome.tally.wire_packets..outcome.tally.wire_packets + 50).contains(&frames), "{outcome:?}");
        assert!(waits(host.thread()) > before);
    }
}

#[test]
fn receiver_that_ends_before_the_stream_is_reported() {
    let Some(host) = host() else { return };
    let error = host.start(&mut Command::new("true"), None).unwrap_err();
    assert!(matches!(error, Error::Receiver(_)), "{error:?}");
    assert_eq!(error.to_string(), "the receiver fails: its process has ended early");
}
