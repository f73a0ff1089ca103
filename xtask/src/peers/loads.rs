//! What is asked of the servers.

use std::fmt::{self, Display};

/// One load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The version of NFS.
    pub version: &'static str,
    pub operation: Operation,
    /// The bytes of a READ or WRITE, and the most of a READDIRPLUS; 0 for what has no size.
    pub block_bytes: u32,
    pub connections: u32,
    /// How many calls are outstanding on each connection.
    pub depth: u32,
}

/// What one operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    GetAttr,
    Access,
    Lookup,
    /// Of one file for all connections, a part each.
    ReadSequential,
    ReadRandom,
    /// Each connection reads a file of its own from its beginning to its end, again and again.
    ReadOwnFile,
    /// With a COMMIT whenever the file has been written once.
    WriteUnstable,
    WriteFileSync,
    CreateRemove,
    /// Of 10 000 names.
    ReadDirPlus,
    OpenClose,
    LockUnlock,
    ReadPlus(Contents),
}

/// What a file is made of that READ_PLUS reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    Data,
    Hole,
    Mixed,
}

/// The sizes of the second document, and 1 KiB.
pub const OWN_FILE_BYTES: [u32; 8] = [256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10];
/// How many connections read files of their own.
pub const OWN_FILE_CONNECTIONS: [u32; 4] = [4, 16, 64, 256];
/// How many bytes a READDIRPLUS may be answered with.
const DIRECTORY_BYTES: u32 = 64 << 10;

/// Connections and outstanding calls on each.
type Shape = (u32, u32);

const FOUR_BY_SIXTEEN: Shape = (4, 16);
const FOUR_BY_FOUR: Shape = (4, 4);

/// All loads, on files that are in memory.
pub fn all() -> Vec<Load> {
    let versions = ["3", "4.1"].into_iter().flat_map(of_both_versions);
    versions.chain(of_version_3()).chain(of_version_4()).collect()
}

fn of_both_versions(version: &'static str) -> Vec<Load> {
    use Operation as O;
    let load = |operation, block_bytes, (connections, depth): Shape| Load {
        version,
        operation,
        block_bytes,
        connections,
        depth,
    };
    let mut loads = vec![];
    for operation in [O::GetAttr, O::Access, O::Lookup] {
        loads.push(load(operation, 0, FOUR_BY_SIXTEEN));
    }
    for shape in [1, 4].into_iter().flat_map(|connections| [1, 16, 64].map(|depth| (connections, depth))) {
        loads.push(load(O::ReadRandom, 4 << 10, shape));
    }
    loads.push(load(O::ReadSequential, 128 << 10, FOUR_BY_SIXTEEN));
    loads.push(load(O::ReadSequential, 1 << 20, FOUR_BY_FOUR));
    loads.push(load(O::WriteUnstable, 4 << 10, FOUR_BY_SIXTEEN));
    loads.push(load(O::WriteUnstable, 128 << 10, FOUR_BY_SIXTEEN));
    loads.push(load(O::WriteUnstable, 1 << 20, FOUR_BY_FOUR));
    loads.push(load(O::WriteFileSync, 4 << 10, FOUR_BY_SIXTEEN));
    for connections in OWN_FILE_CONNECTIONS {
        loads.extend(OWN_FILE_BYTES.map(|bytes| load(O::ReadOwnFile, bytes, (connections, 1))));
    }
    loads
}

fn of_version_3() -> [Load; 2] {
    let create = Load { version: "3", operation: Operation::CreateRemove, block_bytes: 0, connections: 4, depth: 16 };
    // The next call needs the cookie of the one before, so a connection has one at a time.
    let list = Load { operation: Operation::ReadDirPlus, block_bytes: DIRECTORY_BYTES, depth: 1, ..create };
    [create, list]
}

fn of_version_4() -> Vec<Load> {
    let open = Load { version: "4.1", operation: Operation::OpenClose, block_bytes: 0, connections: 1, depth: 64 };
    let lock = Load { operation: Operation::LockUnlock, block_bytes: 4 << 10, ..open };
    let read =
        Load { version: "4.2", operation: Operation::ReadSequential, block_bytes: 128 << 10, connections: 1, depth: 8 };
    let plus = [Contents::Data, Contents::Hole, Contents::Mixed]
        .map(|contents| Load { operation: Operation::ReadPlus(contents), ..read.clone() });
    [open, lock, read].into_iter().chain(plus).collect()
}

impl Load {
    /// The load on the same server that this one's rate is held against: the same one of NFSv3, or for READ_PLUS of data
    /// the READ.
    pub fn baseline(&self) -> Option<Load> {
        let baseline = match (self.version, self.operation) {
            ("4.1", _) => Load { version: "3", ..self.clone() },
            ("4.2", Operation::ReadPlus(Contents::Data)) => {
                Load { operation: Operation::ReadSequential, ..self.clone() }
            }
            _ => return None,
        };
        all().contains(&baseline).then_some(baseline)
    }

    /// Whether a responder can be measured with it that parses nothing: reads of one size, 64 at once.
    pub fn has_ceiling(&self) -> bool {
        let is_read = matches!(self.operation, Operation::ReadRandom | Operation::ReadSequential);
        self.version == "3" && is_read && self.connections * self.depth == 64
    }

    /// Whether only Wharf does it: NFS-Ganesha's READ_PLUS is answered in a way that no client understands.
    pub fn is_wharfs_alone(&self) -> bool {
        self.version == "4.2"
    }
}

impl Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NFSv{}: {}", self.version, self.operation.name())?;
        if !matches!(self.block_bytes, 0 | DIRECTORY_BYTES) || self.operation == Operation::ReadOwnFile {
            write!(f, " {}", Bytes(self.block_bytes))?;
        }
        write!(f, "{}, {}×{}", self.operation.manner(), self.connections, self.depth)
    }
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::GetAttr => "GETATTR",
            Operation::Access => "ACCESS",
            Operation::Lookup => "LOOKUP",
            Operation::ReadSequential | Operation::ReadRandom | Operation::ReadOwnFile => "READ",
            Operation::WriteUnstable | Operation::WriteFileSync => "WRITE",
            Operation::CreateRemove => "CREATE and REMOVE",
            Operation::ReadDirPlus => "READDIRPLUS",
            Operation::OpenClose => "OPEN and CLOSE",
            Operation::LockUnlock => "LOCK and LOCKU",
            Operation::ReadPlus(_) => "READ_PLUS",
        }
    }

    /// What comes behind the size.
    fn manner(self) -> &'static str {
        match self {
            Operation::ReadSequential => " sequential",
            Operation::ReadRandom => " random",
            Operation::ReadOwnFile => " of own files",
            Operation::WriteUnstable => " UNSTABLE",
            Operation::WriteFileSync => " FILE_SYNC",
            Operation::ReadDirPlus => " of 10 000 names",
            Operation::ReadPlus(Contents::Data) => " of data",
            Operation::ReadPlus(Contents::Hole) => " of a hole",
            Operation::ReadPlus(Contents::Mixed) => " of data and hole by turns of 64 KiB",
            _ => "",
        }
    }
}

struct Bytes(u32);

impl Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 20 => write!(f, "{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 => write!(f, "{} KiB", bytes >> 10),
            bytes => write!(f, "{bytes} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_load_has_a_name_of_its_own() {
        let loads = all();
        let names: BTreeSet<String> = loads.iter().map(Load::to_string).collect();
        assert_eq!(names.len(), loads.len());
        assert!(names.contains("NFSv4.1: READ 4 KiB random, 1×64"), "{names:?}");
        assert!(names.contains("NFSv3: READDIRPLUS of 10 000 names, 4×1"), "{names:?}");
        assert!(names.contains("NFSv3: READ 64 KiB of own files, 16×1"), "{names:?}");
    }

    #[test]
    fn newer_version_is_held_against_the_older_one() {
        let load = |name: &str| all().into_iter().find(|load| load.to_string() == name).unwrap();
        let baseline = load("NFSv4.1: READ 4 KiB random, 4×16").baseline().unwrap();
        assert_eq!(baseline.to_string(), "NFSv3: READ 4 KiB random, 4×16");
        assert_eq!(load("NFSv4.1: OPEN and CLOSE, 1×64").baseline(), None);
        let plus = load("NFSv4.2: READ_PLUS 128 KiB of data, 1×8").baseline().unwrap();
        assert_eq!(plus.to_string(), "NFSv4.2: READ 128 KiB sequential, 1×8");
    }
}
