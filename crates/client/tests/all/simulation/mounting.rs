//! How the clients of a simulation mount, and what goes wrong for them.

use std::sync::Arc;
use std::time::Duration;

use client::{Mount, Options, Url, Version};

use crate::simulation::world::{GRACE, Troubles, World};

/// What goes wrong in the versions whose replay caches forget, and in those that have sessions.
pub fn troubles(version: Version) -> Troubles {
    let longest_absence = if has_sessions(version) { 90 } else { 15 };
    let steady_until = if version == Version::V4_0 { GRACE } else { Duration::ZERO };
    let usual =
        Troubles { cut: 15, swallowed: 5, doubled: 10, late: 10, restart: 4, partition: 3, ..Troubles::default() };
    Troubles { steady_until, longest_absence, ..usual }
}

fn has_sessions(version: Version) -> bool {
    matches!(version, Version::V4_1 | Version::V4_2)
}

/// Options of a hard mount over the world's streams, with small transfers.
pub fn options(version: Version, seed: u64, world: &Arc<World>) -> Options {
    Options {
        version,
        tunnel: Some(world.tunnel(0)),
        is_hard: true,
        timeout: Some(Duration::from_secs(5)),
        connections: 1 + (seed % 2) as usize,
        write_bytes: Some(4096),
        read_bytes: Some(4096),
        use_privileged_port: false,
        connect_timeout: Duration::from_secs(3600),
        ..Options::default()
    }
}

/// Mounts, as often as it takes: connecting itself may meet a server that is not there.
pub async fn mount(url: &Url, options: &Options) -> Mount {
    loop {
        match Mount::connect(url, options).await {
            Ok(mount) => return mount,
            Err(error) => println!("{error}"),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
