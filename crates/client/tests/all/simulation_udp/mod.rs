//! The client and the server together, over datagrams to which everything happens that can: they are lost, doubled,
//! late, out of order, truncated and garbled, and the server restarts. Everything follows from a seed. Afterwards the
//! server's files are what a model of the applications says, and what must happen once has happened once.
//!
//! `WHARF_SEED` names the only seed to run, and `WHARF_SEEDS` how many are run; what fails says its seed.

pub mod datagrams;

use std::sync::Arc;

use client::{Options, Transport, Version};

use datagrams::Datagrams;

use crate::simulation::files;
use crate::simulation::mounting;
use crate::simulation::seeds;
use crate::simulation::world::{self, World};

const SEEDS: u64 = 5;

async fn simulate(version: Version, seed: u64) {
    let world = World::new(seed, world::Troubles::default());
    let ticking = tokio::spawn(Arc::clone(&world).tick());
    let address = Datagrams::start(&world, datagrams::TROUBLES).await;
    let options = Options { transport: Transport::Udp, timeout: None, ..mounting::options(version, seed, &world) };
    let mount = mounting::mount(&format!("nfs://{address}/files").parse().unwrap(), &options).await;
    files::work(&world, &mount, seed).await;
    ticking.abort();
}

fn run(version: Version) {
    seeds::run_each(SEEDS, async |seed| simulate(version, seed).await);
}

#[test]
fn files_are_what_applications_wrote_over_nfsv2_in_datagrams() {
    run(Version::V2);
}

#[test]
fn files_are_what_applications_wrote_over_nfsv3_in_datagrams() {
    run(Version::V3);
}
