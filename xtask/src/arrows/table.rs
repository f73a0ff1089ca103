//! Which crate may depend on which: the house's plan as data.

/// What one crate may depend on.
pub struct Row {
    /// The crate, without the `wharf-` in front.
    pub name: &'static str,
    /// What its program may use.
    pub needs: &'static [&'static str],
    /// What its tests, examples and benchmarks may use besides.
    pub tests: &'static [&'static str],
}

/// One row per crate, from the bottom of the house to its top.
pub const TABLE: &[Row] = &[
    Row { name: "access-rules", needs: &[], tests: &[] },
    Row { name: "buffer", needs: &[], tests: &[] },
    Row { name: "xdr-derive", needs: &[], tests: &[] },
    Row { name: "vfs", needs: &["buffer"], tests: &[] },
    Row { name: "measure", needs: &[], tests: &["testing"] },
    Row { name: "names", needs: &[], tests: &[] },
    Row { name: "own-files", needs: &[], tests: &["testing"] },
    Row { name: "peer", needs: &[], tests: &[] },
    Row { name: "segments", needs: &["measure", "net"], tests: &[] },
    Row { name: "stable", needs: &["buffer", "own-files", "vfs", "xdr"], tests: &["fs-host", "mount", "testing"] },
    Row { name: "xdr", needs: &["buffer", "xdr-derive"], tests: &[] },
    Row { name: "rpc", needs: &["buffer", "xdr"], tests: &[] },
    Row { name: "proto", needs: &["buffer", "xdr"], tests: &[] },
    Row { name: "net", needs: &["buffer", "peer"], tests: &["testing"] },
    Row { name: "fs-host", needs: &["own-files", "vfs"], tests: &["testing"] },
    Row { name: "fs-mem", needs: &["vfs"], tests: &["testing"] },
    Row { name: "fs-fault", needs: &["vfs"], tests: &["fs-mem"] },
    Row { name: "mount", needs: &["vfs"], tests: &["fs-mem"] },
    Row { name: "report", needs: &["measure"], tests: &["testing"] },
    Row { name: "state", needs: &["vfs"], tests: &["testing"] },
    Row {
        name: "server",
        needs: &["access-rules", "buffer", "names", "peer", "proto", "rpc", "state", "vfs", "xdr"],
        tests: &["fs-fault", "fs-host", "fs-mem", "stable", "testing"],
    },
    Row { name: "config", needs: &["access-rules"], tests: &[] },
    Row { name: "client-calls", needs: &["buffer", "names", "peer", "proto", "rpc", "vfs", "xdr"], tests: &["client"] },
    Row {
        name: "client-files",
        needs: &["buffer", "client-calls", "proto", "rpc", "vfs", "xdr"],
        tests: &["client", "daemon", "fs-mem", "server"],
    },
    Row { name: "client-copy", needs: &["client-files", "vfs"], tests: &["client"] },
    Row { name: "fs-remote", needs: &["client-files", "proto", "vfs"], tests: &["client"] },
    Row {
        name: "client",
        needs: &["client-copy", "client-files", "fs-remote", "proto", "vfs"],
        tests: &["buffer", "daemon", "fs-fault", "fs-mem", "rpc", "server", "state", "testing", "xdr"],
    },
    Row {
        name: "daemon",
        needs: &["buffer", "names", "net", "own-files", "proto", "rpc", "server", "state", "vfs", "xdr"],
        tests: &["fs-host", "fs-mem"],
    },
    Row {
        name: "lab",
        needs: &["buffer", "client", "fs-host", "measure", "rpc", "segments", "vfs", "xdr"],
        tests: &["daemon", "fs-mem", "server"],
    },
    Row {
        name: "cli",
        needs: &[
            "client",
            "config",
            "daemon",
            "fs-fault",
            "fs-host",
            "fs-mem",
            "lab",
            "measure",
            "mount",
            "names",
            "net",
            "own-files",
            "report",
            "segments",
            "server",
            "stable",
            "vfs",
        ],
        tests: &["testing"],
    },
    // Helpers of tests: only tests may use it, also those of what it uses.
    Row {
        name: "testing",
        needs: &["buffer", "fs-host", "fs-mem", "measure", "net", "proto", "rpc", "server", "state", "vfs", "xdr"],
        tests: &[],
    },
    Row {
        name: "fuzz-properties",
        needs: &["buffer", "client", "fs-mem", "mount", "proto", "rpc", "server", "vfs", "xdr"],
        tests: &[],
    },
    Row { name: "xtask", needs: &[], tests: &[] },
];
