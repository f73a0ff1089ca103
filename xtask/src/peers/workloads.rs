//! What is asked of the servers.

/// One load.
pub struct Workload {
    pub name: &'static str,
    /// What `wharf bench` calls it.
    pub operation: &'static str,
    /// The version of NFS.
    pub version: &'static str,
    pub block_bytes: u32,
    pub connections: u32,
    pub depth: u32,
    /// Who else does it.
    pub others: Others,
    /// The load whose rate on the same server this one's is held against.
    pub baseline: Option<&'static str>,
}

/// Which others do a load beside Wharf and its own generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// The other server, and the other generator.
    ServerAndGenerator,
    /// The other server.
    Server,
    /// Nobody.
    Nobody,
}

const RANDOM_V3: &str = "random reads of 4 KiB, 1 connection, depth 64";
const SEQUENTIAL_V3: &str = "sequential reads of 1 MiB, 1 connection, depth 8";

const READS: Workload = Workload {
    name: RANDOM_V3,
    operation: "randread",
    version: "3",
    block_bytes: 4096,
    connections: 1,
    depth: 64,
    others: Others::ServerAndGenerator,
    baseline: None,
};
const LARGE: Workload = Workload { name: SEQUENTIAL_V3, operation: "read", block_bytes: 1 << 20, depth: 8, ..READS };
const PAIRS: Workload = Workload { operation: "open", version: "4.1", others: Others::Server, ..READS };
/// The other server's READ_PLUS is answered in a way that no client understands.
const PLUS: Workload = Workload {
    operation: "readplus-data",
    version: "4.2",
    block_bytes: 128 << 10,
    depth: 8,
    others: Others::Nobody,
    ..READS
};

/// All loads, on files that are in memory.
pub const WORKLOADS: [Workload; 12] = [
    READS,
    Workload {
        name: "NFSv4.1: random reads of 4 KiB, 1 connection, depth 64",
        version: "4.1",
        baseline: Some(RANDOM_V3),
        ..READS
    },
    LARGE,
    Workload {
        name: "NFSv4.1: sequential reads of 1 MiB, 1 connection, depth 8",
        version: "4.1",
        baseline: Some(SEQUENTIAL_V3),
        ..LARGE
    },
    Workload { name: "random reads of 4 KiB, 64 connections, depth 1", connections: 64, depth: 1, ..READS },
    Workload { name: "sequential reads of 1 MiB, 64 connections, depth 1", connections: 64, depth: 1, ..LARGE },
    Workload { name: "NFSv4.1: OPEN and CLOSE, 1 connection, depth 64", ..PAIRS },
    Workload { name: "NFSv4.1: LOCK and LOCKU, 1 connection, depth 64", operation: "lock", ..PAIRS },
    Workload { name: "NFSv4.2: READ of 128 KiB of data, depth 8", operation: "read", ..PLUS },
    Workload {
        name: "NFSv4.2: READ_PLUS of 128 KiB of data, depth 8",
        baseline: Some("NFSv4.2: READ of 128 KiB of data, depth 8"),
        ..PLUS
    },
    Workload { name: "NFSv4.2: READ_PLUS of 128 KiB of a hole, depth 8", operation: "readplus-hole", ..PLUS },
    Workload {
        name: "NFSv4.2: READ_PLUS of 128 KiB of data and hole by turns of 64 KiB, depth 8",
        operation: "readplus-mixed",
        ..PLUS
    },
];

impl Workload {
    /// Whether the file must be made of holes, which the load does itself in a directory.
    pub fn makes_its_file(&self) -> bool {
        self.operation.contains("hole") || self.operation.contains("mixed")
    }

    /// Whether blocks are taken at random; otherwise one after the other.
    pub fn is_random(&self) -> bool {
        self.operation.starts_with("rand")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_load_is_held_against_is_a_load_itself_and_no_name_comes_twice() {
        let names: std::collections::BTreeSet<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
        assert_eq!(names.len(), WORKLOADS.len());
        assert!(WORKLOADS.iter().filter_map(|workload| workload.baseline).all(|name| names.contains(name)));
    }
}
