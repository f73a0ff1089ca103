//! What the speed of Wharf has to be at least: the one table of it, and whether a run met it.

use measure::Estimate;

use super::loads::{self, OWN_FILE_BYTES, OWN_FILE_CONNECTIONS, Operation};
use super::names::{CEILING_COPY, CEILING_MEMORY, CEILING_SENDFILE, GANESHA, SYSTEM_CALLS, WHARF_UNCACHED};
use super::sample::Sample;

/// What a figure of Wharf has to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The name of the load.
    pub load: String,
    pub figure: Figure,
    pub against: Against,
    pub bound: Bound,
    /// What the fastest other user-space server reached, where that is known.
    pub best_seen: &'static str,
}

/// Which figure of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    Rate,
    EntryRate,
    CpuPerOperation,
    CpuPerGigabyte,
    PeakMemory,
}

/// What Wharf's figure is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// Another server's.
    Server(&'static str),
    /// That of the one of these whose median is the highest.
    FastestOf(&'static [&'static str]),
    /// Nothing: the figure counts itself, in its unit.
    Itself,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// What may be said of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is on the right side.
    Met,
    /// None of it is.
    Missed,
    /// The interval holds the mark.
    Undecided,
}

impl Against {
    pub fn name(self) -> &'static str {
        match self {
            Against::Server(server) => server,
            Against::FastestOf(_) => "the ceiling that reads the file",
            Against::Itself => "",
        }
    }
}

impl Figure {
    pub fn of(self, sample: &Sample) -> f64 {
        match self {
            Figure::Rate => sample.operations_per_second,
            Figure::EntryRate => sample.entries_per_second,
            Figure::CpuPerOperation => sample.server_us_per_operation,
            Figure::CpuPerGigabyte => sample.server_seconds_per_gigabyte(),
            Figure::PeakMemory => sample.server_peak_mib,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Figure::Rate => "ops/s",
            Figure::EntryRate => "entries/s",
            Figure::CpuPerOperation => "server µs/op",
            Figure::CpuPerGigabyte => "server s/GB",
            Figure::PeakMemory => "peak MiB",
        }
    }
}

impl Bound {
    /// Met or missed is said only of an interval that is clear of the mark.
    pub fn judge(self, estimate: Estimate) -> Verdict {
        let (low, high) = (estimate.interval.low, estimate.interval.high);
        let (is_met, is_missed) = match self {
            Bound::AtLeast(mark) => (low >= mark, high < mark),
            Bound::AtMost(mark) => (high <= mark, low > mark),
        };
        match (is_met, is_missed) {
            (true, _) => Verdict::Met,
            (_, true) => Verdict::Missed,
            _ => Verdict::Undecided,
        }
    }

    pub fn show(self) -> String {
        match self {
            Bound::AtLeast(mark) => format!("≥ {mark}"),
            Bound::AtMost(mark) => format!("≤ {mark}"),
        }
    }
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Missed => "missed",
            Verdict::Undecided => "undecided",
        }
    }
}

/// Rates that are held against NFS-Ganesha's: the load, the mark, and the best that another server reached.
const RATES: [(&str, f64, &str); 16] = [
    ("NFSv3: GETATTR, 4×16", 12.0, "23"),
    ("NFSv3: ACCESS, 4×16", 12.0, "23"),
    ("NFSv3: LOOKUP, 4×16", 7.0, "20"),
    ("NFSv3: READ 4 KiB random, 1×64", 8.0, "4.9"),
    ("NFSv3: READ 4 KiB random, 4×16", 8.0, "4.7"),
    ("NFSv3: READ 4 KiB random, 1×1", 1.4, "1.3"),
    ("NFSv3: READ 128 KiB sequential, 4×16", 3.0, "1.7"),
    ("NFSv3: READ 1 MiB sequential, 4×4", 1.5, "1.0"),
    ("NFSv3: WRITE 4 KiB UNSTABLE, 4×16", 6.0, "4.0"),
    ("NFSv3: WRITE 128 KiB UNSTABLE, 4×16", 2.5, "2.3"),
    ("NFSv3: WRITE 1 MiB UNSTABLE, 4×4", 1.7, "1.6"),
    ("NFSv3: CREATE and REMOVE, 4×16", 3.4, "2.2"),
    ("NFSv3: READ 256 B of own files, 256×1", 2.2, "1.3"),
    ("NFSv3: READ 8 KiB of own files, 256×1", 2.2, "1.45"),
    ("NFSv3: READ 128 KiB of own files, 256×1", 2.0, "1.3"),
    ("NFSv4.1: READ 4 KiB random, 4×16", 6.0, ""),
];

/// The least share of the ceiling, for the two reads.
const CEILING_SHARE: f64 = 0.7;
const CEILING_LOADS: [&str; 2] = ["NFSv3: READ 4 KiB random, 1×64", "NFSv3: READ 128 KiB sequential, 4×16"];
const LISTING: &str = "NFSv3: READDIRPLUS of 10 000 names, 4×1";
/// What reads the file, as a server has to.
const READING_CEILINGS: &[&str] = &[CEILING_COPY, CEILING_SENDFILE];
/// The least share of the rate of the system calls that a listing needs.
const LISTING_SHARE: f64 = 0.85;

/// What an open file that is kept has to gain at least.
const OPEN_FILES_GAIN: f64 = 1.15;
/// The most memory with 256 busy connections, in MiB.
const BUSY_MEMORY_MIB: f64 = 64.0;

/// All marks.
pub fn all() -> Vec<Mark> {
    let rates = RATES.iter().map(|(load, mark, best_seen)| Mark {
        load: (*load).to_owned(),
        figure: Figure::Rate,
        against: Against::Server(GANESHA),
        bound: Bound::AtLeast(*mark),
        best_seen,
    });
    rates.chain(ceilings()).chain(costs()).chain(open_files()).collect()
}

/// A server reads its data from a file, so the ceiling that does so too is the one that could be reached; the other is
/// the literal one.
fn ceilings() -> Vec<Mark> {
    let mark = |load: &str, figure, against, share| Mark {
        load: load.to_owned(),
        figure,
        against,
        bound: Bound::AtLeast(share),
        best_seen: "",
    };
    let ways = [Against::FastestOf(READING_CEILINGS), Against::Server(CEILING_MEMORY)];
    let reads = CEILING_LOADS.iter().flat_map(|load| ways.map(|way| mark(load, Figure::Rate, way, CEILING_SHARE)));
    let list = Mark {
        best_seen: "0.25 of NFS-Ganesha's",
        ..mark(LISTING, Figure::EntryRate, Against::Server(SYSTEM_CALLS), LISTING_SHARE)
    };
    reads.chain([list]).collect()
}

fn costs() -> [Mark; 3] {
    let per_read = Mark {
        load: "NFSv3: READ 4 KiB random, 1×64".to_owned(),
        figure: Figure::CpuPerOperation,
        against: Against::Server(GANESHA),
        bound: Bound::AtMost(0.13),
        best_seen: "0.21",
    };
    let per_gigabyte = Mark {
        load: "NFSv3: READ 128 KiB sequential, 4×16".to_owned(),
        figure: Figure::CpuPerGigabyte,
        bound: Bound::AtMost(0.4),
        best_seen: "0.58",
        ..per_read.clone()
    };
    let memory = Mark {
        load: "NFSv3: READ 128 KiB of own files, 256×1".to_owned(),
        figure: Figure::PeakMemory,
        against: Against::Itself,
        bound: Bound::AtMost(BUSY_MEMORY_MIB),
        best_seen: "40 MiB",
    };
    [per_read, per_gigabyte, memory]
}

/// Every size of the second document, which has no 1 KiB, with 4 to 256 connections.
fn open_files() -> Vec<Mark> {
    let is_in_document = |bytes: u32| OWN_FILE_BYTES.contains(&bytes) && bytes != 1 << 10;
    let own_files = loads::all().into_iter().filter(|load| {
        load.version == "3"
            && load.operation == Operation::ReadOwnFile
            && is_in_document(load.block_bytes)
            && OWN_FILE_CONNECTIONS.contains(&load.connections)
    });
    let mark = |load: loads::Load| Mark {
        load: load.to_string(),
        figure: Figure::Rate,
        against: Against::Server(WHARF_UNCACHED),
        bound: Bound::AtLeast(OPEN_FILES_GAIN),
        best_seen: "",
    };
    own_files.map(mark).collect()
}

#[cfg(test)]
mod tests {
    use measure::Interval;

    use super::*;

    fn estimate(low: f64, value: f64, high: f64) -> Estimate {
        Estimate { value, interval: Interval { low, high } }
    }

    #[test]
    fn every_mark_is_of_a_load_that_there_is() {
        let loads: Vec<String> = loads::all().iter().map(ToString::to_string).collect();
        for mark in all() {
            assert!(loads.contains(&mark.load), "{}", mark.load);
        }
        assert_eq!(open_files().len(), 7 * 4);
    }

    #[test]
    fn mark_is_met_or_missed_only_by_the_whole_interval() {
        let least = Bound::AtLeast(8.0);
        assert_eq!(least.judge(estimate(8.1, 8.5, 9.0)), Verdict::Met);
        assert_eq!(least.judge(estimate(7.0, 7.5, 7.9)), Verdict::Missed);
        assert_eq!(least.judge(estimate(7.9, 8.5, 9.0)), Verdict::Undecided);
        let most = Bound::AtMost(0.13);
        assert_eq!(most.judge(estimate(0.10, 0.11, 0.13)), Verdict::Met);
        assert_eq!(most.judge(estimate(0.14, 0.15, 0.16)), Verdict::Missed);
        assert_eq!(most.judge(estimate(0.12, 0.13, 0.16)), Verdict::Undecided);
    }
}
