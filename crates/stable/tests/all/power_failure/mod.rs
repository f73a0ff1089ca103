//! The machine stops at any moment, and what clients were told is there afterwards.
//!
//! Each seed is a run: random changes by way of the log, a stop after a random number of calls of the file system and
//! the device, what a disk may have kept then, and a replay, which may be stopped too. In a second test several threads
//! write one file. `WHARF_CRASHES=10000` sets how many runs each test has, `WHARF_SEED` the first one.

mod device;
mod disk;
mod power;
mod run;
mod shared;

use run::Seen;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn what_clients_of_one_file_were_told_is_there_after_a_power_failure() {
    let (first, count) = (number("WHARF_SEED", 0), number("WHARF_CRASHES", 400));
    (first..first + count).for_each(shared::run);
}

#[test]
fn what_clients_were_told_is_there_after_a_power_failure() {
    let (first, count) = (number("WHARF_SEED", 0), number("WHARF_CRASHES", 400));
    let mut seen = Seen::default();
    for seed in first..first + count {
        run::run(seed, &mut seen);
    }
    println!("{count} crashes: {seen:?}");
    // The runs reach what they are for.
    let Seen { stops, replays, second_stops, failing_devices, made, names, data_bytes } = seen;
    let counts = [stops, replays, second_stops, failing_devices, made, names, data_bytes];
    assert!(counts.iter().all(|seen| count < 400 || *seen > 20));
}
