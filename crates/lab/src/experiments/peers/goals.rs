//! What the speed of Wharf has to be at least: the one table of it.

use measure::record::{Bound, Goal, Levels};

use super::contenders::{SYSTEM_CALLS, UNCACHED, ceiling_name};
use super::loads::{self, LoadFiles};
use super::{LOAD, MEMORY, SERVER, SERVER_MEMORY, STORAGE, VERSION};
use crate::bench_load::{OPERATIONS, SERVER_COST, SERVER_COST_OF_BYTES};
use crate::ceiling::Way;
use crate::experiments::{GANESHA, Scale, WHARF};

/// Rates that are compared with NFS-Ganesha's: the version, the load, and the least ratio.
const RATES: [(&str, &str, f64); 16] = [
    ("3", "GETATTR, 4×16", 12.0),
    ("3", "ACCESS, 4×16", 12.0),
    ("3", "LOOKUP, 4×16", 7.0),
    ("3", SMALL_READ, 8.0),
    ("3", "READ 4 KiB random, 4×16", 8.0),
    ("3", "READ 4 KiB random, 1×1", 1.4),
    ("3", LARGE_READ, 3.0),
    ("3", "READ 1 MiB sequential, 4×4", 1.5),
    ("3", "WRITE 4 KiB UNSTABLE, 4×16", 6.0),
    ("3", "WRITE 128 KiB UNSTABLE, 4×16", 2.5),
    ("3", "WRITE 1 MiB UNSTABLE, 4×4", 1.7),
    ("3", "CREATE and REMOVE, 4×16", 3.4),
    ("3", "READ 256 B of own files, 256×1", 2.2),
    ("3", "READ 8 KiB of own files, 256×1", 2.2),
    ("3", BUSY_READ, 2.0),
    ("4.1", "READ 4 KiB random, 4×16", 6.0),
];

const SMALL_READ: &str = "READ 4 KiB random, 1×64";
const LARGE_READ: &str = "READ 128 KiB sequential, 4×16";
const LISTING: &str = "READDIRPLUS of 10000 names, 4×1";
const BUSY_READ: &str = "READ 128 KiB of own files, 256×1";

/// The least share of a ceiling's rate.
const CEILING_SHARE: f64 = 0.7;
/// The least share of the rate of the system calls that a listing needs.
const LISTING_SHARE: f64 = 0.85;
/// The most processor time of a small READ, and of a byte of large ones, as shares of NFS-Ganesha's.
const SMALL_READ_COST: f64 = 0.13;
const LARGE_READ_COST: f64 = 0.4;
/// The most memory with 256 busy connections, in MiB.
const BUSY_MEMORY_MIB: f64 = 64.0;
/// What keeping open files has to gain at least.
const OPEN_FILES_GAIN: f64 = 1.15;

/// All goals. Those whose load or server does not take part are not measured.
pub(super) fn all() -> Vec<Goal> {
    let rates =
        RATES.map(|(version, load, least)| goal((version, load), OPERATIONS, Some(GANESHA), Bound::AtLeast(least)));
    let costs = [
        goal(("3", SMALL_READ), SERVER_COST, Some(GANESHA), Bound::AtMost(SMALL_READ_COST)),
        goal(("3", LARGE_READ), SERVER_COST_OF_BYTES, Some(GANESHA), Bound::AtMost(LARGE_READ_COST)),
        goal(("3", BUSY_READ), SERVER_MEMORY, None, Bound::AtMost(BUSY_MEMORY_MIB)),
        goal(("3", LISTING), OPERATIONS, Some(SYSTEM_CALLS), Bound::AtLeast(LISTING_SHARE)),
    ];
    rates.into_iter().chain(ceilings()).chain(costs).chain(open_files()).collect()
}

fn goal((version, load): (&str, &str), figure: &str, baseline: Option<&str>, bound: Bound) -> Goal {
    let levels = [(STORAGE, MEMORY), (VERSION, version), (LOAD, load), (SERVER, WHARF)];
    let levels: Levels = levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into();
    Goal { levels, figure: figure.to_owned(), baseline: baseline.map(Into::into), bound }
}

/// A server reads its data from a file. The responders that do so too are what can be reached; the one that does not is
/// beyond it.
fn ceilings() -> impl Iterator<Item = Goal> {
    let of = |load| {
        Way::ALL.map(|way| goal(("3", load), OPERATIONS, Some(&ceiling_name(way)), Bound::AtLeast(CEILING_SHARE)))
    };
    [SMALL_READ, LARGE_READ].into_iter().flat_map(of)
}

/// Every size of the second source, which has no 1 KiB, with 4 to 256 connections.
fn open_files() -> impl Iterator<Item = Goal> {
    let is_in_source =
        |load: &loads::Load| load.version == "3" && load.files == LoadFiles::Own && load.block_bytes != 1 << 10;
    let gain = |load: loads::Load| goal(("3", &load.name), OPERATIONS, Some(UNCACHED), Bound::AtLeast(OPEN_FILES_GAIN));
    loads::of(Scale::Full).into_iter().filter(is_in_source).map(gain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_goal_is_of_a_load_that_there_is() {
        let loads = loads::of(Scale::Full);
        for goal in all() {
            let is_it = |load: &loads::Load| {
                [load.storage, load.version, &load.name] == [STORAGE, VERSION, LOAD].map(|factor| &goal.levels[factor])
            };
            assert!(loads.iter().any(is_it), "{goal:?}");
        }
        assert_eq!((all().len(), open_files().count()), (16 + 6 + 4 + 28, 7 * 4));
    }
}
