//! The client and the server together, over streams on which everything goes wrong, in a time of their own. Everything
//! follows from a seed. After the faults the server's files are what a model of the applications says.
//!
//! `WHARF_SEED` names the only seed to run, and `WHARF_SEEDS` how many are run; what fails says its seed.

pub mod actor;
pub mod files;
pub mod mounting;
pub mod seeds;
pub mod store;
pub mod world;

use std::sync::Arc;

use client::Version;

use world::World;

const SEEDS: u64 = 3;

async fn simulate(version: Version, seed: u64) {
    let world = World::new(seed, mounting::troubles(version));
    let ticking = tokio::spawn(Arc::clone(&world).tick());
    let options = mounting::options(version, seed, &world);
    let mount = mounting::mount(&"nfs://192.0.2.1:2049/files".parse().unwrap(), &options).await;
    files::work(&world, &mount, seed).await;
    ticking.abort();
}

fn run(version: Version) {
    seeds::run_each(SEEDS, async |seed| simulate(version, seed).await);
}

#[test]
fn files_are_what_applications_wrote_over_nfsv2() {
    run(Version::V2);
}

#[test]
fn files_are_what_applications_wrote_over_nfsv3() {
    run(Version::V3);
}

#[test]
fn files_are_what_applications_wrote_over_nfsv4_0() {
    run(Version::V4_0);
}

#[test]
fn files_are_what_applications_wrote_over_nfsv4_1() {
    run(Version::V4_1);
}

#[test]
fn files_are_what_applications_wrote_over_nfsv4_2() {
    run(Version::V4_2);
}
