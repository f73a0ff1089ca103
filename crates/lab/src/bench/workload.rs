use std::fmt;
use std::str::FromStr;

/// In which order the blocks of a file are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// One after the other; after the last block comes the first. Connections start at equal distances from each other.
    Sequential,
    /// Any block each time; some come twice before others come once.
    Random,
}

/// What operations there are, with fio's names as text: `read`, `write`, `rw`, `randread`, `randwrite`, `randrw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Workload {
    /// The order of blocks.
    pub order: Order,
    /// How many of a hundred operations read, 0 to 100; the others write.
    pub read_percent: u8,
}

/// A text is no workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no workload: there are {names}", names = NAMES.join(", "))]
pub struct WorkloadError(pub String);

const NAMES: [&str; 6] = ["read", "write", "rw", "randread", "randwrite", "randrw"];

impl Workload {
    /// Whether any operation writes.
    pub fn writes(self) -> bool {
        self.read_percent < 100
    }

    /// Whether any operation reads.
    pub fn reads(self) -> bool {
        self.read_percent > 0
    }
}

impl FromStr for Workload {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Workload, WorkloadError> {
        let (order, kind) = match text.strip_prefix("rand") {
            Some(kind) => (Order::Random, kind),
            None => (Order::Sequential, text),
        };
        let read_percent = match kind {
            "read" => 100,
            "write" => 0,
            "rw" => 50,
            _ => return Err(WorkloadError(text.to_owned())),
        };
        Ok(Workload { order, read_percent })
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.order == Order::Random {
            f.write_str("rand")?;
        }
        f.write_str(match self.read_percent {
            0 => "write",
            100 => "read",
            _ => "rw",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fios_both_ways() {
        for name in NAMES {
            assert_eq!(name.parse::<Workload>().unwrap().to_string(), name);
        }
        let error = "trim".parse::<Workload>().unwrap_err().to_string();
        assert!(error.contains("'trim'") && error.contains("randrw"), "{error}");
    }
}
