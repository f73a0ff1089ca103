//! Circles of files that stay, each with its reason.

/// Circles that are allowed.
pub struct Allowed {
    /// The crate.
    pub package: &'static str,
    /// Where their files are: files, or folders with all that is in them, relative to `src`. `""` is the whole crate.
    pub files: &'static [&'static str],
    /// Why they stay.
    pub reason: &'static str,
}

/// A module in a folder: its parts use the type or the errors of `mod.rs`, which uses the parts.
const PARTS: &str = "a module and its parts";
/// A table of things, whose entries use the table's owner. A trait between them would have one implementation.
const OWNER: &str = "an owner that keeps a table of things, which work through their owner";
/// Two types whose methods or errors name each other.
const PAIR: &str = "types that name each other";

const fn parts(package: &'static str, files: &'static [&'static str]) -> Allowed {
    Allowed { package, files, reason: PARTS }
}

/// All of them.
pub const ALLOWED: &[Allowed] = &[
    parts("cli", &["mount/options"]),
    parts("cli", &["progress"]),
    parts("cli", &["cp"]),
    parts("cli", &["experiments"]),
    parts("cli", &["mount/foreground.rs", "mount/mod.rs"]),
    parts("cli", &["tcp/model"]),
    parts("cli", &["tcp/stream"]),
    // A client reclaims its open files after a restart of the server; an open file sends its calls through the client.
    Allowed { package: "client-files", files: &["v4/client.rs", "v4/open_file.rs", "v4/opens.rs"], reason: OWNER },
    // A mount keeps the lock owners of NLM, which reach the server through the mount.
    Allowed { package: "client-files", files: &["mount/mod.rs", "nlm/owner.rs", "nlm/table.rs"], reason: OWNER },
    // What all share of a file system has the table of open files, which close themselves by it.
    Allowed { package: "fs-remote", files: &["opens.rs", "remote_file.rs", "shared.rs"], reason: OWNER },
    Allowed {
        package: "fs-host",
        files: &["flush/batch.rs", "flush/request.rs"],
        reason: "a batch has the requests whose files it flushes, and gives a request that is to help a share of itself",
    },
    Allowed {
        package: "fs-mem",
        files: &["acls.rs", "directory.rs", "node.rs", "set.rs", "table.rs", "volume.rs", "xattrs.rs"],
        reason: "a volume is a table of nodes, and what a node holds counts against its volume's memory",
    },
    Allowed { package: "measure", files: &["comparison.rs", "family.rs"], reason: PAIR },
    parts("measure", &["analysis"]),
    Allowed {
        package: "mount",
        files: &["dispatch.rs", "lock_waits.rs", "ops", "reply.rs", "session.rs"],
        reason: "the dispatcher names each operation, and each operation takes the call that the dispatcher made",
    },
    Allowed {
        package: "net",
        files: &[
            "epoll/accept.rs",
            "epoll/datagrams.rs",
            "epoll/ending.rs",
            "epoll/mod.rs",
            "epoll/starving.rs",
            "epoll/turn.rs",
        ],
        reason: "a loop has a field for each of its concerns, and what it does about one are methods of the loop",
    },
    parts("report", &["lab"]),
    parts("segments", &["sender"]),
    parts("segments", &["trace"]),
    parts("segments", &["user"]),
    parts("stable", &["log"]),
    Allowed { package: "stable", files: &["layer", "replay", "write_log"], reason: OWNER },
    Allowed {
        package: "state",
        files: &[
            "core.rs",
            "file.rs",
            "grace.rs",
            "host_leases.rs",
            "host_locks.rs",
            "nlm.rs",
            "nlm_share.rs",
            "open.rs",
            "owner.rs",
            "recall.rs",
            "seqid.rs",
            "share_conflict.rs",
            "state.rs",
            "waiter.rs",
        ],
        reason: "one lock guards the tables of all kinds of state, and what a request does to its table are methods of \
                 the state behind that lock, since it may take away state of other kinds",
    },
    parts("xtask", &["test"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_circle_has_a_reason() {
        assert!(ALLOWED.iter().all(|allowed| allowed.reason.len() > 10));
    }
}
