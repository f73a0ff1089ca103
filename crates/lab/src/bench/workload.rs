use std::fmt;
use std::str::FromStr;

use client::Version;

/// In which order the blocks of a file are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// One after the other; after the last block comes the first. Connections start at equal distances from each other.
    Sequential,
    /// In a random order, each block once before one is repeated; then in another order.
    Random,
}

/// What one operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A READ or a WRITE of a block.
    Transfer,
    /// A READ_PLUS of a block, in a file that is made of this. Only NFSv4.2 has it.
    ReadPlus(Contents),
    /// The file is opened and closed again: two calls of NFSv4, counted as one operation.
    OpenClose,
    /// A block is locked and unlocked again, each outstanding operation in an open file of its own: two calls of NFSv4,
    /// counted as one operation.
    LockUnlock,
    /// The file's attributes are asked for.
    GetAttr,
    /// All rights to the file are asked for.
    Access,
    /// The file is looked up by its name.
    Lookup,
    /// A file is made and removed again, in the directory of the file: two calls, counted as one operation. Each
    /// outstanding operation has names of its own.
    CreateRemove,
    /// A new file is made, a block is written to it and is on stable storage, and the file is closed: two calls of
    /// NFSv2 and NFSv3, three of NFSv4, counted as one operation. All files are removed after the measurement.
    NewFile,
    /// The directory of the file is listed with attributes and handles, from its beginning to its end: as many calls as
    /// that takes, counted as one operation.
    List,
    /// Each is a step like those of a build of software, in trees of small files that are made before and removed after
    /// the measurement.
    Build,
    /// One of these steps.
    BuildStep(BuildStep),
    /// Each is another one, at random: LOOKUP, READ, WRITE, GETATTR, READDIRPLUS, ACCESS, and CREATE with REMOVE.
    Mix,
}

/// A step of a build, with a file of a tree: several calls, counted as one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BuildStep {
    /// It is looked up.
    Stat,
    /// It is looked up, and rights to it are asked for.
    Access,
    /// It is looked up, and its mode is set.
    Chmod,
    /// It is looked up and read.
    Read,
    /// A new file is written to stable storage and renamed to it.
    Write,
    /// A file is made beside it and removed.
    CreateRemove,
    /// Its directory is listed with attributes.
    List,
    /// A directory is made and removed.
    MakeDir,
}

impl Workload {
    /// Whether it can use many files: each operation another one, or each outstanding LOCK.
    pub(super) fn can_be_spread(&self) -> bool {
        match self.operation {
            Operation::Transfer => !self.writes(),
            Operation::GetAttr | Operation::Access | Operation::Lookup | Operation::LockUnlock => true,
            _ => false,
        }
    }
}

impl Operation {
    /// The oldest version that has it.
    pub fn since(self) -> Version {
        match self {
            Operation::OpenClose => Version::V4_0,
            Operation::ReadPlus(_) => Version::V4_2,
            _ => Version::V2,
        }
    }

    /// Whether it reads or writes the file's bytes; otherwise `block_bytes` means nothing, but for locks and new files.
    pub fn moves_bytes(self) -> bool {
        let is_step = |step| self == Operation::BuildStep(step);
        matches!(self, Operation::Transfer | Operation::ReadPlus(_))
            || [BuildStep::Read, BuildStep::Write].into_iter().any(is_step)
    }

    /// Whether it is made of calls that system calls cannot ask for.
    pub(super) fn needs_calls(self) -> bool {
        matches!(self, Operation::ReadPlus(_) | Operation::LockUnlock)
    }

    /// Whether the file can be empty.
    pub(super) fn needs_no_bytes(self) -> bool {
        !self.moves_bytes() && !matches!(self, Operation::OpenClose | Operation::LockUnlock | Operation::Mix)
    }
}

/// What a file is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Contents {
    /// Bytes that were written.
    Data,
    /// One hole.
    Hole,
    /// Pieces of [`Contents::PIECE_BYTES`] that were written, and holes as long, in turn.
    Mixed,
}

impl Contents {
    /// How long a piece of a mixed file is, in bytes.
    pub const PIECE_BYTES: u32 = 64 * 1024;
}

/// What operations there are, as text: fio's `read`, `write`, `rw`, `randread`, `randwrite`, `randrw`; `open`, `lock`,
/// `getattr`, `access`, `lookup`, `createremove`, `newfile`, `readdirplus`, `mix` and `build`; `readplus-data`,
/// `readplus-hole` and `readplus-mixed`, with `rand` in front for blocks in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Workload {
    /// What one operation is.
    pub operation: Operation,
    /// The order of blocks.
    pub order: Order,
    /// How many of a hundred transfers read, 0 to 100; the others write.
    pub read_percent: u8,
}

/// A text is no workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no workload: there are {names}", names = NAMES.join(", "))]
pub struct WorkloadError(pub String);

const NAMES: [&str; 22] = [
    "read",
    "write",
    "rw",
    "randread",
    "randwrite",
    "randrw",
    "open",
    "lock",
    "getattr",
    "access",
    "lookup",
    "createremove",
    "newfile",
    "readdirplus",
    "mix",
    "build",
    "readplus-data",
    "readplus-hole",
    "readplus-mixed",
    "randreadplus-data",
    "randreadplus-hole",
    "randreadplus-mixed",
];

impl Workload {
    /// Many operations, like LADDIS and SPECsfs.
    pub const MIX: Workload = Workload { operation: Operation::Mix, order: Order::Random, read_percent: 100 };

    /// Steps like those of a build of software.
    pub const BUILD: Workload = Workload { operation: Operation::Build, order: Order::Random, read_percent: 100 };

    /// Reads of blocks in this order.
    pub fn reading(order: Order) -> Workload {
        Workload { operation: Operation::Transfer, order, read_percent: 100 }
    }

    /// Whether any operation writes.
    pub fn writes(self) -> bool {
        self.operation == Operation::Mix || self.operation == Operation::Transfer && self.read_percent < 100
    }

    /// Whether any operation reads.
    pub fn reads(self) -> bool {
        self.operation == Operation::Transfer && self.read_percent > 0
    }

    /// What the file must be made of.
    pub(super) fn contents(self) -> Contents {
        match self.operation {
            Operation::ReadPlus(contents) => contents,
            _ => Contents::Data,
        }
    }
}

impl FromStr for Workload {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Workload, WorkloadError> {
        let (order, kind) = match text.strip_prefix("rand") {
            Some(kind) => (Order::Random, kind),
            None => (Order::Sequential, text),
        };
        let (operation, read_percent) = match kind {
            "read" => (Operation::Transfer, 100),
            "write" => (Operation::Transfer, 0),
            "rw" => (Operation::Transfer, 50),
            "mix" if order == Order::Sequential => {
                return Ok(Workload::MIX);
            }
            "build" if order == Order::Sequential => {
                return Ok(Workload::BUILD);
            }
            "readplus-data" => (Operation::ReadPlus(Contents::Data), 100),
            "readplus-hole" => (Operation::ReadPlus(Contents::Hole), 100),
            "readplus-mixed" => (Operation::ReadPlus(Contents::Mixed), 100),
            name if order == Order::Sequential
                && let Some(operation) = metadata_operation(name) =>
            {
                (operation, 100)
            }
            _ => return Err(WorkloadError(text.to_owned())),
        };
        Ok(Workload { operation, order, read_percent })
    }
}

/// What has no order, since it uses no blocks or any.
fn metadata_operation(name: &str) -> Option<Operation> {
    Some(match name {
        "open" => Operation::OpenClose,
        "lock" => Operation::LockUnlock,
        "getattr" => Operation::GetAttr,
        "access" => Operation::Access,
        "lookup" => Operation::Lookup,
        "createremove" => Operation::CreateRemove,
        "newfile" => Operation::NewFile,
        "readdirplus" => Operation::List,
        _ => return None,
    })
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.order == Order::Random && ![Operation::Mix, Operation::Build].contains(&self.operation) {
            f.write_str("rand")?;
        }
        f.write_str(match (self.operation, self.read_percent) {
            (Operation::Transfer, 0) => "write",
            (Operation::Transfer, 100) => "read",
            (Operation::Transfer, _) => "rw",
            (Operation::ReadPlus(Contents::Data), _) => "readplus-data",
            (Operation::ReadPlus(Contents::Hole), _) => "readplus-hole",
            (Operation::ReadPlus(Contents::Mixed), _) => "readplus-mixed",
            (Operation::OpenClose, _) => "open",
            (Operation::LockUnlock, _) => "lock",
            (Operation::GetAttr, _) => "getattr",
            (Operation::Access, _) => "access",
            (Operation::Lookup, _) => "lookup",
            (Operation::CreateRemove, _) => "createremove",
            (Operation::NewFile, _) => "newfile",
            (Operation::List, _) => "readdirplus",
            (Operation::Mix, _) => "mix",
            (Operation::Build | Operation::BuildStep(_), _) => "build",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_both_ways() {
        for name in NAMES {
            assert_eq!(name.parse::<Workload>().unwrap().to_string(), name);
        }
        for name in ["trim", "randopen", "randlock", "randgetattr"] {
            let error = name.parse::<Workload>().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("randrw"), "{error}");
        }
    }
}
