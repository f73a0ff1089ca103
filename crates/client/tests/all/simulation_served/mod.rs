//! A server that serves another server's export on, over the client as a file system: applications work on it while
//! everything goes wrong between both servers. After the faults the files of the first server are what a model of the
//! applications says.
//!
//! `WHARF_SEED` names the only seed to run, and `WHARF_SEEDS` how many are run; what fails says its seed.

mod middle;
mod pace;

use std::sync::Arc;
use std::time::Duration;

use client::{Mount, Options, RemoteFs, Version};

use middle::Middle;

use crate::simulation::files;
use crate::simulation::mounting;
use crate::simulation::seeds;
use crate::simulation::world::World;

const SEEDS: u64 = 1;
/// Nothing is lost between applications and the server in the middle. Its threads may take long while the time goes on,
/// and a WRITE that is sent again for that may be done after later calls: the replay cache has none.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// Both servers speak `version`; the applications speak NFSv3.
async fn simulate(version: Version, seed: u64) {
    let world = World::new(seed, mounting::troubles(version));
    let ticking = tokio::spawn(Arc::clone(&world).tick());
    let (pacing, url) = (pace::begin(), "nfs://192.0.2.1:2049/files".parse().unwrap());
    let origin = mounting::mount(&url, &mounting::options(version, seed, &world)).await;
    let middle = Middle::start(RemoteFs::new(origin, tokio::runtime::Handle::current()));
    let usual = mounting::options(Version::V3, seed, &world);
    let options = Options { tunnel: Some(middle.tunnel()), timeout: Some(NEVER), ..usual };
    let mount = Mount::connect(&url, &options).await.unwrap();
    files::work(&world, &mount, seed).await;
    mount.unmount().await.unwrap();
    drop((middle, pacing));
    ticking.abort();
}

fn run(version: Version) {
    seeds::run_each(SEEDS, async |seed| simulate(version, seed).await);
}

#[test]
fn files_are_what_applications_wrote_to_a_server_of_a_server_of_nfsv2() {
    run(Version::V2);
}

#[test]
fn files_are_what_applications_wrote_to_a_server_of_a_server_of_nfsv3() {
    run(Version::V3);
}

#[test]
fn files_are_what_applications_wrote_to_a_server_of_a_server_of_nfsv4_0() {
    run(Version::V4_0);
}

#[test]
fn files_are_what_applications_wrote_to_a_server_of_a_server_of_nfsv4_1() {
    run(Version::V4_1);
}

#[test]
fn files_are_what_applications_wrote_to_a_server_of_a_server_of_nfsv4_2() {
    run(Version::V4_2);
}
