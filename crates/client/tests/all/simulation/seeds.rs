//! Runs of a simulation, one for each seed, in a time of their own.

use std::time::Duration;

/// Longer than any run takes that ends.
const MAX_TIME: Duration = Duration::from_secs(24 * 3600);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Runs `simulate` with the seeds from 0 up to `usual`, or with those that `WHARF_SEED` or `WHARF_SEEDS` name.
pub fn run_each(usual: u64, simulate: impl AsyncFn(u64)) {
    let only = number("WHARF_SEED");
    let seeds = only.map_or(0..number("WHARF_SEEDS").unwrap_or(usual), |seed| seed..seed + 1);
    for seed in seeds {
        println!("WHARF_SEED={seed}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let done = runtime.block_on(async { tokio::time::timeout(MAX_TIME, simulate(seed)).await });
        assert!(done.is_ok(), "the run has no end");
    }
}
