//! The options of a mount in the notation of nfs(5).

use std::time::Duration;

use client::{Caching, Mount, NameCaching, Options, Transport, Version};

/// The options and negotiated values of a mount, separated by commas.
pub fn text(mount: &Mount) -> String {
    let (options, sizes) = (mount.options(), mount.sizes());
    let mut words = vec![
        format!("vers={}", mount.version()),
        format!("proto={}", if options.transport == Transport::Tcp { "tcp" } else { "udp" }),
        format!("nconnect={}", mount.connections().len()),
        if options.is_hard { "hard" } else { "soft" }.to_owned(),
        format!("rsize={}", sizes.read),
        format!("wsize={}", sizes.write),
        format!("readdirsize={}", sizes.readdir),
    ];
    words.extend(patience(options));
    words.extend(caching(&options.caching));
    if mount.version() == Version::V4_2 && !options.uses_read_plus {
        words.push("noreadplus".to_owned());
    }
    words.extend(delegations(mount.version(), options));
    words.join(",")
}

/// Delegation options that differ from the default.
fn delegations(version: Version, options: &Options) -> Option<String> {
    match version {
        Version::V4_1 | Version::V4_2 if !options.uses_delegations => Some("nodelegations".to_owned()),
        Version::V4_0 if options.uses_delegations => {
            let address = options.callback_address?;
            Some(format!("clientaddr={},callbackport={}", address.ip(), address.port()))
        }
        _ => None,
    }
}

/// The time-out is in tenths of a second.
fn patience(options: &Options) -> impl Iterator<Item = String> {
    let timeout = options.timeout.map(|timeout| format!("timeo={}", timeout.as_millis() / 100));
    let retransmissions = options.retransmissions.map(|count| format!("retrans={count}"));
    timeout.into_iter().chain(retransmissions)
}

fn caching(caching: &Caching) -> Vec<String> {
    let seconds = |name: &str, time: Duration| format!("{name}={}", time.as_secs());
    let mut words = vec![
        seconds("acregmin", caching.file_min),
        seconds("acregmax", caching.file_max),
        seconds("acdirmin", caching.dir_min),
        seconds("acdirmax", caching.dir_max),
        if caching.close_to_open { "cto" } else { "nocto" }.to_owned(),
    ];
    words.extend(match caching.names {
        NameCaching::All => None,
        NameCaching::Positive => Some("lookupcache=pos".to_owned()),
        NameCaching::Off => Some("lookupcache=none".to_owned()),
    });
    words.extend(caching.is_direct.then(|| "direct".to_owned()));
    words
}
