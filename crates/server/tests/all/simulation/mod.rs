//! Clients of both versions over a wire that loses, doubles, delays and reorders datagrams, against a model of the
//! tree.
//!
//! Everything follows from a seed: the calls, what the wire does to them, and which of them the storage defers. Each
//! call that must not happen twice must come out as in the model exactly once, however often it is sent; every further
//! time it must get the very bytes of the first reply. At the end the tree must be the model's.
//!
//! `WHARF_SEEDS=5000` runs more seeds than usual, and `WHARF_SEED=7` the one of a failure.

mod client;
mod model;
mod operation;
mod run;
mod wire;

use run::Simulation;

/// How many seeds a usual run tries.
const SEEDS: u64 = 300;

fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

#[test]
fn every_call_happens_once_on_a_wire_that_loses_doubles_delays_and_reorders() {
    let seeds = match number_in("WHARF_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number_in("WHARF_SEEDS").unwrap_or(SEEDS),
    };
    let (mut replayed, mut deferred, mut dropped) = (0, 0, 0);
    let is_full_run = seeds.end - seeds.start >= SEEDS;
    for seed in seeds {
        let counts = std::panic::catch_unwind(|| Simulation::new(seed).run()).unwrap_or_else(|cause| {
            eprintln!("the simulation failed; WHARF_SEED={seed} runs it again");
            std::panic::resume_unwind(cause)
        });
        replayed += counts.replayed;
        deferred += counts.deferred;
        dropped += counts.lost;
    }
    assert!(!is_full_run || (replayed > 0 && deferred > 0 && dropped > 0), "the wire was too kind to show anything");
}
