//! The client as a whole, on replies that an input alters: every call ends, whatever a server says.
//!
//! The server is the real one, driven by hand, over streams in memory; time passes when nobody has anything to do, so
//! that a call that waits for ever is found at once.

mod alteration;
mod place;
mod script;
mod site;

use std::time::Duration;

use client::{Mount, Options, Version};

use alteration::Alterations;
pub use place::{Around, Damage, damage_replies};
use site::Site;

/// Longer than all calls of the script may wait together, each as often as it may be tried again.
const MAX_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// A client of NFSv2, and alterations of the replies.
pub fn client_v2(input: &[u8]) -> bool {
    talk(Version::V2, input)
}

/// A client of NFSv3, and alterations of the replies.
pub fn client_v3(input: &[u8]) -> bool {
    talk(Version::V3, input)
}

/// A client of NFSv4 in the minor version that the first byte chooses, and alterations of the replies.
pub fn client_v4(input: &[u8]) -> bool {
    let Some((minor, rest)) = input.split_first() else { return false };
    talk([Version::V4_0, Version::V4_1, Version::V4_2][usize::from(*minor) % 3], rest)
}

/// Mounts and does everything once; whether mounting succeeded.
fn talk(version: Version, input: &[u8]) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let Ok(runtime) = runtime else { return false };
    let mut alterations = Alterations::new(input);
    let site = Site::new(move |reply| alterations.next(reply));
    let options = Options {
        version,
        tunnel: Some(site.tunnel()),
        timeout: Some(Duration::from_secs(1)),
        retransmissions: Some(1),
        max_dir_entries: 10_000,
        use_privileged_port: false,
        ..Options::default()
    };
    let ended = runtime.block_on(async {
        tokio::time::timeout(MAX_TIME, async {
            let url = "nfs://192.0.2.1:2049/files".parse().expect("a URL");
            let Ok(mount) = Mount::connect(&url, &options).await else { return false };
            script::run(&mount).await;
            // What the server says to it is altered too.
            let _ = mount.unmount().await;
            true
        })
        .await
    });
    ended.expect("a call waits for ever")
}
