//! Clients and a server together: several count in one file under locks, over streams on which everything goes wrong,
//! while the server restarts and lets locks be reclaimed. Nobody is told that he has a lock while somebody else was
//! told so and has not given it up; where a client is away for longer than its lease, it is told that its locks are
//! lost, and does not write under them. At the end the server has no locks.
//!
//! `WHARF_SEED` names the only seed to run, and `WHARF_SEEDS` how many are run; what fails says its seed.

mod beliefs;
mod clerk;

use std::sync::Arc;

use client::{LockKind, Options, Version};

use beliefs::Beliefs;
use clerk::{COUNTERS, Clerk};

use crate::simulation::mounting;
use crate::simulation::seeds;
use crate::simulation::world::{GRACE, Troubles, World};

const SEEDS: u64 = 2;
const SEEDS_OF_LONG_ABSENCES: u64 = 2;
const MOUNTS: u64 = 3;
/// Two of them share a mount.
const CLERKS: u64 = 4;
const TURNS: u32 = 80;

/// Whether clients are away for so long that they lose their locks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absences {
    Short,
    LongerThanLeases,
}

async fn simulate(version: Version, absences: Absences, seed: u64) {
    let usual = Troubles { longest_absence: 15, ..mounting::troubles(version) };
    // The lock manager waits for all of its grace period, too.
    let usual = if version <= Version::V3 { Troubles { steady_until: GRACE, ..usual } } else { usual };
    let troubles = match absences {
        Absences::Short => Troubles { isolation: 5, longest_isolation: 15, ..usual },
        Absences::LongerThanLeases => Troubles { isolation: 5, longest_isolation: 400, ..usual },
    };
    let world = World::new(seed, troubles);
    let ticking = tokio::spawn(Arc::clone(&world).tick());
    let url = "nfs://192.0.2.1:2049/files".parse().unwrap();
    let (mut mounts, beliefs) = (Vec::new(), Arc::new(Beliefs::default()));
    for client in 0..MOUNTS {
        let options = Options { tunnel: Some(world.tunnel(client)), ..mounting::options(version, seed, &world) };
        mounts.push(mounting::mount(&url, &options).await);
    }
    let mut running = Vec::new();
    for number in 0..CLERKS {
        let mount = &mounts[(number % MOUNTS) as usize];
        let mut clerk = Clerk::new(mount, (number, seed), &beliefs, absences == Absences::LongerThanLeases);
        running.push(tokio::spawn(async move {
            clerk.run(TURNS).await;
            clerk
        }));
    }
    let (mut uncertain, mut losses) = (0, 0);
    for task in running {
        let clerk = task.await.unwrap();
        (uncertain, losses) = (uncertain + clerk.uncertain, losses + clerk.losses);
    }
    world.calm();
    let file = clerk::open(&mounts[0]).await;
    // Whoever may have everything alone finds no lock of anybody's.
    file.try_lock(LockKind::Exclusive, 0, u64::MAX).await.unwrap();
    for counter in 0..COUNTERS {
        let mut bytes = [0; 8];
        file.read_into(8 * counter, &mut bytes).await.unwrap();
        let (found, (highest, count)) = (u64::from_be_bytes(bytes), beliefs.counted(counter));
        assert!(
            found >= highest && found <= count + uncertain,
            "{found} in {counter}: {highest}, {count}, {uncertain}"
        );
    }
    file.close().await.unwrap();
    println!("{version}: {} starts, {losses} losses, {uncertain} uncertain", world.boot());
    ticking.abort();
}

fn run(version: Version, absences: Absences) {
    let usual = if absences == Absences::Short { SEEDS } else { SEEDS_OF_LONG_ABSENCES };
    seeds::run_each(usual, async |seed| simulate(version, absences, seed).await);
}

#[test]
fn locks_keep_others_away_over_nfsv2() {
    run(Version::V2, Absences::Short);
}

#[test]
fn locks_keep_others_away_over_nfsv3() {
    run(Version::V3, Absences::Short);
}

#[test]
fn locks_keep_others_away_over_nfsv4_0() {
    run(Version::V4_0, Absences::Short);
}

#[test]
fn locks_keep_others_away_over_nfsv4_1() {
    run(Version::V4_1, Absences::Short);
}

#[test]
fn locks_keep_others_away_over_nfsv4_2() {
    run(Version::V4_2, Absences::Short);
}

#[test]
fn nothing_is_written_under_locks_that_were_lost_over_nfsv4_0() {
    run(Version::V4_0, Absences::LongerThanLeases);
}

#[test]
fn nothing_is_written_under_locks_that_were_lost_over_nfsv4_1() {
    run(Version::V4_1, Absences::LongerThanLeases);
}

#[test]
fn nothing_is_written_under_locks_that_were_lost_over_nfsv4_2() {
    run(Version::V4_2, Absences::LongerThanLeases);
}
