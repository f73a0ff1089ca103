//! The client and the server together, over streams on which everything goes wrong, in a time of their own. Everything
//! follows from a seed. After the troubles the server's files are what a model of the applications says.
//!
//! `WHARF_SEED` names the only seed to run, and `WHARF_SEEDS` how many are run; what fails says its seed.

#![allow(clippy::unwrap_used, reason = "what fails here is a failed test")]

mod actor;
#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "../remote/random.rs"]
mod random;
mod store;
mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use client::{Mount, Options, Version};
use fs_fault::FaultFs;
use fs_mem::MemFs;
use vfs::{Context, FileSystem, Name, OpenMode, Place};

use actor::Actor;
use world::{GRACE, Troubles, World};

const SEEDS: u64 = 3;
const ACTORS: u64 = 2;
const OPERATIONS: u32 = 120;
/// Longer than any run takes that ends.
const MAX_TIME: Duration = Duration::from_secs(24 * 3600);

/// What goes wrong in the versions whose replay caches forget, and in those that have sessions.
fn troubles(version: Version) -> Troubles {
    let longest_absence = if has_sessions(version) { 90 } else { 15 };
    let steady_until = if version == Version::V4_0 { GRACE } else { Duration::ZERO };
    Troubles { steady_until, cut: 15, swallowed: 5, doubled: 10, late: 10, restart: 4, partition: 3, longest_absence }
}

fn has_sessions(version: Version) -> bool {
    matches!(version, Version::V4_1 | Version::V4_2)
}

async fn simulate(version: Version, seed: u64) {
    let world = World::new(seed, troubles(version));
    let ticking = tokio::spawn(std::sync::Arc::clone(&world).tick());
    let options = Options {
        version,
        tunnel: Some(world.tunnel()),
        is_hard: true,
        timeout: Some(Duration::from_secs(5)),
        connections: 1 + (seed % 2) as usize,
        write_bytes: Some(4096),
        read_bytes: Some(4096),
        use_privileged_port: false,
        connect_timeout: Duration::from_secs(3600),
        ..Options::default()
    };
    let url = "nfs://192.0.2.1:2049/files".parse().unwrap();
    let mount = loop {
        // Connecting itself may meet a server that is not there.
        match Mount::connect(&url, &options).await {
            Ok(mount) => break mount,
            Err(error) => println!("{error}"),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    let mut running = Vec::new();
    for number in 0..ACTORS {
        let mut actor = Actor::new(&world, &mount, number, seed).await;
        running.push(tokio::spawn(async move {
            actor.run(OPERATIONS).await;
            actor
        }));
    }
    let mut actors = Vec::new();
    for task in running {
        actors.push(task.await.unwrap());
    }
    world.calm();
    for (number, actor) in actors.into_iter().enumerate() {
        let expected = actor.finish().await;
        assert!(expected == found(&world.files, &format!("actor-{number}")), "the files of actor {number}");
    }
    println!("{version}: {} starts, {} writes lost", world.boot(), world.lost_writes());
    ticking.abort();
}

/// The files of a directory of the server, as they are there.
fn found(files: &FaultFs<MemFs>, dir: &str) -> BTreeMap<&'static str, Vec<u8>> {
    let look = |dir, name: &str| {
        let name = Name::new(name.as_bytes()).unwrap();
        files.lookup(&Context::ROOT, Place { dir, name }).ok()
    };
    let dir = look(files.root(), dir).unwrap().handle;
    let read = |name: &&'static str| {
        let entry = look(dir, name)?;
        let mut bytes = vec![0; entry.attributes.size_bytes as usize];
        let file = files.open(&Context::ROOT, &entry.handle, OpenMode::Read).unwrap();
        assert_eq!(file.read_at(&Context::ROOT, 0, &mut bytes).unwrap(), bytes.len());
        Some((*name, bytes))
    };
    ["one", "two", "three"].iter().filter_map(read).collect()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

fn run(version: Version) {
    let only = number("WHARF_SEED");
    let seeds = only.map_or(0..number("WHARF_SEEDS").unwrap_or(SEEDS), |seed| seed..seed + 1);
    for seed in seeds {
        println!("WHARF_SEED={seed}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let done = runtime.block_on(async { tokio::time::timeout(MAX_TIME, simulate(version, seed)).await });
        assert!(done.is_ok(), "the run has no end");
    }
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
