//! The options and their effects.

use std::time::Duration;

use client::Transport;

use super::value::Value;
use super::{OptionError, Settings};

/// The effect of an option without a value.
pub(super) type Flag = fn(&mut Settings);

pub(super) const FLAGS: &[(&str, Flag)] = &[
    ("ro", |all| all.mount.is_read_only = true),
    ("rw", |all| all.mount.is_read_only = false),
    ("exec", |all| all.mount.allows_programs = true),
    ("noexec", |all| all.mount.allows_programs = false),
    ("dev", |all| all.mount.allows_devices = true),
    ("nodev", |all| all.mount.allows_devices = false),
    ("suid", |all| all.mount.allows_set_ids = true),
    ("nosuid", |all| all.mount.allows_set_ids = false),
    ("sync", |all| all.mount.is_synchronous = true),
    ("async", |all| all.mount.is_synchronous = false),
    ("allow_other", |all| all.mount.allows_others = true),
    ("noallow_other", |all| all.mount.allows_others = false),
    ("writeback", |all| all.mount.is_writeback = true),
    ("direct", |all| {
        all.mount.is_direct = true;
        all.client.caching.is_direct = true;
    }),
    ("direct_io", |all| all.mount.is_direct = true),
    ("user", Settings::distrust_programs),
    ("users", Settings::distrust_programs),
    ("owner", Settings::distrust_files),
    ("group", Settings::distrust_files),
    ("lock", |all| all.set_locks(true, true)),
    ("nolock", |all| all.set_locks(false, false)),
    ("rdirplus", |all| all.mount.lists_files = true),
    ("nordirplus", |all| all.mount.lists_files = false),
    ("readplus", |all| all.client.uses_read_plus = true),
    ("noreadplus", |all| all.client.uses_read_plus = false),
    ("delegations", |all| all.set_delegations(true)),
    ("nodelegations", |all| all.set_delegations(false)),
    ("hard", |all| all.client.is_hard = true),
    ("soft", |all| all.client.is_hard = false),
    ("softerr", |all| all.client.is_hard = false),
    ("tcp", |all| all.set_transport(Transport::Tcp, false)),
    ("udp", |all| all.set_transport(Transport::Udp, false)),
    ("resvport", |all| all.client.use_privileged_port = true),
    ("noresvport", |all| all.client.use_privileged_port = false),
    ("cto", |all| all.client.caching.close_to_open = true),
    ("nocto", |all| all.client.caching.close_to_open = false),
    ("ac", |all| all.keeps_attributes = true),
    ("noac", |all| all.keeps_attributes = false),
    ("bg", |all| all.is_background = true),
    ("fg", |all| all.is_background = false),
];

/// The effect of an option with a value.
pub(super) type Assignment = fn(&mut Settings, &Value<'_>) -> Result<(), OptionError>;

pub(super) const ASSIGNMENTS: &[(&str, Assignment)] = &[
    ("vers", |all, value| all.set_version(value)),
    ("nfsvers", |all, value| all.set_version(value)),
    ("minorversion", |all, value| all.set_minor_version(value)),
    ("proto", |all, value| value.transport().map(|transport| all.set_transport(transport, value.is_of_ipv6()))),
    ("port", |all, value| value.nfs_port().map(|port| all.client.nfs_port = Some(port))),
    ("mountport", |all, value| value.port().map(|port| all.client.mount_port = port)),
    ("mountproto", |all, value| value.transport().map(|transport| all.client.mount_transport = Some(transport))),
    ("lockport", |all, value| value.port().map(|port| all.client.lock_port = port)),
    ("clientaddr", |all, value| value.address().map(|address| all.called_at.0 = Some(address))),
    ("callbackport", |all, value| value.own_port().map(|port| all.called_at.1 = Some(port))),
    ("nconnect", |all, value| value.connections().map(|count| all.client.connections = count)),
    ("sec", |_, value| value.security()),
    ("rsize", |all, value| value.transfer().map(|bytes| all.client.read_bytes = Some(bytes))),
    ("wsize", |all, value| value.transfer().map(|bytes| all.client.write_bytes = Some(bytes))),
    ("timeo", |all, value| value.tenths().map(|time| all.client.timeout = Some(time))),
    ("retrans", |all, value| value.count().map(|count| all.client.retransmissions = Some(count))),
    ("retry", |all, value| value.count().map(|minutes| all.retry = Some(Duration::from_secs(60) * minutes))),
    ("acregmin", |all, value| value.seconds().map(|time| all.client.caching.file_min = time)),
    ("acregmax", |all, value| value.seconds().map(|time| all.client.caching.file_max = time)),
    ("acdirmin", |all, value| value.seconds().map(|time| all.client.caching.dir_min = time)),
    ("acdirmax", |all, value| value.seconds().map(|time| all.client.caching.dir_max = time)),
    ("actimeo", |all, value| value.seconds().map(|time| all.set_all_times(time))),
    ("lookupcache", |all, value| value.names().map(|names| all.client.caching.names = names)),
    ("local_lock", |all, value| value.servers_locks().map(|(posix, flock)| all.set_locks(posix, flock))),
    ("rdirplus", |all, value| value.plus().map(|lists| all.mount.lists_files = lists)),
    ("write", |all, value| value.waits().map(|waits| all.mount.is_synchronous |= waits)),
    ("xprtsec", |_, value| value.transport_security()),
];

/// Options without effect: the server keeps access times, the client behaves so anyway, or they are for other programs
/// or tune Linux' own client.
pub(super) const WITHOUT_EFFECT: &[&str] = &[
    "defaults",
    "atime",
    "noatime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "lazytime",
    "nolazytime",
    "diratime",
    "nodiratime",
    "iversion",
    "noiversion",
    "dirsync",
    "silent",
    "loud",
    "mand",
    "nomand",
    "intr",
    "nointr",
    "softreval",
    "nosoftreval",
    "sharecache",
    "nosharecache",
    "fsc",
    "nofsc",
    "acl",
    "noacl",
    "migration",
    "nomigration",
    "max_connect",
    "trunkdiscovery",
    "notrunkdiscovery",
    "namlen",
    "mountvers",
    "_netdev",
    "nofail",
    "auto",
    "noauto",
    "nouser",
    "nousers",
    "noowner",
    "nogroup",
    "addr",
    "mountaddr",
    "comment",
    "default_permissions",
    "sloppy",
];

/// The prefixes of options for other programs (mount(8), "x-").
pub(super) const OTHERS: [&str; 2] = ["x-", "X-"];

/// Options that this mount cannot support, with the reasons.
pub(super) const REFUSED: &[(&str, &str)] = &[
    ("rdma", "Wharf supports TCP and UDP only"),
    ("mounthost", "the MOUNT service must run at the NFS server; mountport= sets its port"),
    ("remount", "unmount and mount again with the new options"),
    ("bind", "use mount --bind"),
    ("context", SELINUX),
    ("fscontext", SELINUX),
    ("defcontext", SELINUX),
    ("rootcontext", SELINUX),
    ("nosymfollow", "a mount through FUSE follows symbolic links"),
];

const SELINUX: &str = "Wharf does not transfer SELinux labels";
