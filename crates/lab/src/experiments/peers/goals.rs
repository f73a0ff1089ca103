//! What the speed of Wharf has to be at least: the one table of it.

use measure::record::Bound::{self, AtLeast, AtMost};
use measure::record::{Baseline, Goal, Levels};

use super::contenders::{UNCACHED, UNPRIVILEGED, ceiling_name};
use super::factors::{DISK, LOAD, MEMORY, SERVER, STORAGE, VERSION};
use super::loads::{self, LoadFiles};
use crate::bench_load::{MEMORY as SERVER_MEMORY, OPERATIONS, P99, SERVER_COST, SERVER_COST_OF_BYTES};
use crate::ceiling::Way;
use crate::experiments::contenders::{GANESHA, WHARF};
use crate::experiments::kind::Scale;

/// A figure of a load, and what it has to be.
struct Wanted {
    storage: &'static str,
    version: &'static str,
    load: &'static str,
    server: &'static str,
    figure: &'static str,
    than: Than,
    bound: Bound,
}

/// What the figure is divided by.
#[derive(Clone, Copy)]
enum Than {
    Server(&'static str),
    Ceiling(Way),
    Version(&'static str),
    Load(&'static str),
    /// Nothing: the bound has the figure's unit.
    One,
}

/// Wharf's rate by version 3 in memory, beside NFS-Ganesha's.
const RATE: Wanted = Wanted {
    storage: MEMORY,
    version: "3",
    load: "",
    server: WHARF,
    figure: OPERATIONS,
    than: Than::Server(GANESHA),
    bound: AtLeast(1.0),
};

const ON_DISK: Wanted = Wanted { storage: DISK, ..RATE };
const OF_VERSION_4_1: Wanted = Wanted { version: "4.1", than: Than::Version("3"), ..RATE };
const UNPRIVILEGED_RATE: Wanted =
    Wanted { server: UNPRIVILEGED, than: Than::Server(WHARF), bound: AtLeast(0.9), ..RATE };

/// The name that `--server` gives to Chimera.
const CHIMERA: &str = "chimera";

const GETATTR: &str = "GETATTR, 4×16";
const LOOKUP: &str = "LOOKUP, 4×16";
const READ_ONE: &str = "READ 4 KiB random, 1×1";
const READ_DEEP: &str = "READ 4 KiB random, 1×64";
const READ_WIDE: &str = "READ 4 KiB random, 4×16";
const READ_MEDIUM: &str = "READ 128 KiB sequential, 4×16";
const READ_LARGE: &str = "READ 1 MiB sequential, 4×4";
const READ_COLD: &str = "READ 128 KiB sequential, cold, 4×4";
const READ_OWN: &str = "READ 128 KiB of own files, 256×1";
const READ_BY_ONE_OPEN: &str = "READ 4 KiB by 1 open, 1×64";
const WRITE: &str = "WRITE 128 KiB UNSTABLE, 4×16";
const CREATE: &str = "CREATE and REMOVE, 4×16";
const LISTING: &str = "READDIRPLUS of 10000 names, 4×1";
const SENDFILE: Than = Than::Ceiling(Way::Sendfile);
const TO_CHIMERA: Than = Than::Server(CHIMERA);
const FEW_CONNECTIONS: Than = Than::Load("GETATTR, 16×1");
const ONE_OPEN: Than = Than::Load(READ_BY_ONE_OPEN);

/// Where an absolute rate was wanted, it is divided by what a peer or another load had beside it.
const WANTED: [Wanted; 51] = [
    // Large reads.
    Wanted { load: READ_LARGE, than: SENDFILE, bound: AtLeast(0.8), ..ON_DISK },
    Wanted { load: READ_LARGE, bound: AtLeast(2.0), ..ON_DISK },
    Wanted { load: READ_MEDIUM, than: SENDFILE, bound: AtLeast(0.8), ..ON_DISK },
    Wanted { load: READ_MEDIUM, bound: AtLeast(2.0), ..ON_DISK },
    Wanted { load: READ_COLD, ..ON_DISK },
    Wanted { load: READ_COLD, figure: P99, bound: AtMost(1.0), ..ON_DISK },
    Wanted { load: READ_LARGE, bound: AtLeast(1.5), ..RATE },
    Wanted { load: READ_MEDIUM, bound: AtLeast(3.0), ..RATE },
    Wanted { load: READ_MEDIUM, figure: SERVER_COST_OF_BYTES, bound: AtMost(0.4), ..RATE },
    Wanted { load: "READ 128 KiB sequential, two loops, 4×16", ..RATE },
    // A server reads its data from a file. The responders that do so too are what can be reached; the one that does not
    // is beyond it.
    Wanted { load: READ_MEDIUM, than: Than::Ceiling(Way::Memory), bound: AtLeast(0.7), ..RATE },
    Wanted { load: READ_MEDIUM, than: Than::Ceiling(Way::Copy), bound: AtLeast(0.7), ..RATE },
    Wanted { load: READ_MEDIUM, than: SENDFILE, bound: AtLeast(0.7), ..RATE },
    Wanted { load: READ_DEEP, than: Than::Ceiling(Way::Memory), bound: AtLeast(0.7), ..RATE },
    Wanted { load: READ_DEEP, than: Than::Ceiling(Way::Copy), bound: AtLeast(0.7), ..RATE },
    Wanted { load: READ_DEEP, than: SENDFILE, bound: AtLeast(0.7), ..RATE },
    // Small reads, of many files too.
    Wanted { load: READ_ONE, bound: AtLeast(1.4), ..RATE },
    Wanted { load: READ_DEEP, bound: AtLeast(8.0), ..RATE },
    Wanted { load: READ_DEEP, figure: SERVER_COST, bound: AtMost(0.13), ..RATE },
    Wanted { load: READ_WIDE, bound: AtLeast(8.0), ..RATE },
    Wanted { load: "READ 4 KiB of 1000 files, 4×16", bound: AtLeast(5.0), ..RATE },
    Wanted { load: "READ 4 KiB of 10000 files, 4×16", bound: AtLeast(3.9), ..RATE },
    Wanted { load: "READ 4 KiB of 200000 files, 4×16", bound: AtLeast(4.3), ..RATE },
    Wanted { load: "READ 256 B of own files, 256×1", bound: AtLeast(2.2), ..RATE },
    Wanted { load: "READ 8 KiB of own files, 256×1", bound: AtLeast(2.2), ..RATE },
    Wanted { load: READ_OWN, bound: AtLeast(2.0), ..RATE },
    Wanted { load: READ_OWN, figure: SERVER_MEMORY, than: Than::One, bound: AtMost(64.0), ..RATE },
    // Names and attributes.
    Wanted { load: LISTING, ..RATE },
    Wanted { load: LISTING, ..ON_DISK },
    Wanted { load: LOOKUP, than: TO_CHIMERA, bound: AtLeast(4.1), ..RATE },
    Wanted { load: LOOKUP, than: Than::Load(GETATTR), bound: AtLeast(0.72), ..RATE },
    Wanted { load: GETATTR, bound: AtLeast(12.0), ..RATE },
    Wanted { load: "ACCESS, 4×16", bound: AtLeast(12.0), ..RATE },
    Wanted { load: "GETATTR, 256×1", bound: AtLeast(2.8), ..RATE },
    Wanted { load: "GETATTR, 256×1", than: FEW_CONNECTIONS, bound: AtLeast(0.61), ..RATE },
    Wanted { load: "GETATTR, 2000×1", than: FEW_CONNECTIONS, bound: AtLeast(0.55), ..RATE },
    Wanted { load: CREATE, than: TO_CHIMERA, bound: AtLeast(1.8), ..RATE },
    Wanted { load: LOOKUP, ..UNPRIVILEGED_RATE },
    Wanted { load: CREATE, ..UNPRIVILEGED_RATE },
    Wanted { load: LISTING, ..UNPRIVILEGED_RATE },
    // Writes.
    Wanted { load: WRITE, bound: AtLeast(1.5), ..RATE },
    Wanted { load: WRITE, than: TO_CHIMERA, bound: AtLeast(1.5), ..RATE },
    Wanted { load: "WRITE 4 KiB UNSTABLE, 4×16", bound: AtLeast(6.0), ..RATE },
    Wanted { load: "WRITE 1 MiB UNSTABLE, 4×4", bound: AtLeast(1.7), ..RATE },
    // Version 4.1.
    Wanted { load: "READ 4 KiB by 1000 opens, 1×64", than: ONE_OPEN, bound: AtLeast(0.93), ..OF_VERSION_4_1 },
    Wanted { load: "READ 4 KiB by 50000 opens, 1×64", than: ONE_OPEN, bound: AtLeast(0.93), ..OF_VERSION_4_1 },
    Wanted {
        load: "LOCK and LOCKU of own files, 1×64",
        than: Than::Load("OPEN and CLOSE, 1×64"),
        bound: AtLeast(1.6),
        ..OF_VERSION_4_1
    },
    Wanted { load: GETATTR, bound: AtLeast(0.85), ..OF_VERSION_4_1 },
    Wanted { load: READ_WIDE, bound: AtLeast(0.95), ..OF_VERSION_4_1 },
    Wanted { load: READ_DEEP, bound: AtLeast(0.95), ..OF_VERSION_4_1 },
    Wanted { load: READ_MEDIUM, bound: AtLeast(0.95), ..OF_VERSION_4_1 },
];

/// What keeping open files has to gain at least.
const OPEN_FILES_GAIN: f64 = 1.15;

/// All goals. Those whose load or server does not take part are not measured.
pub(super) fn all() -> Vec<Goal> {
    WANTED.iter().map(goal).chain(open_files()).collect()
}

fn goal(wanted: &Wanted) -> Goal {
    let Wanted { storage, version, load, server, figure, than, bound } = *wanted;
    let levels = |levels: &[(&str, &str)]| -> Levels {
        levels.iter().map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned())).collect()
    };
    let baseline = match than {
        Than::Server(name) => Some(name.into()),
        Than::Ceiling(way) => Some(ceiling_name(way).as_str().into()),
        Than::Version(other) => Some(Baseline::Levels(levels(&[(VERSION, other)]))),
        Than::Load(other) => Some(Baseline::Levels(levels(&[(LOAD, other)]))),
        Than::One => None,
    };
    let levels = levels(&[(STORAGE, storage), (VERSION, version), (LOAD, load), (SERVER, server)]);
    Goal { levels, figure: figure.to_owned(), baseline, bound }
}

/// Every size of the second source, which has no 1 KiB, with 4 to 256 connections.
fn open_files() -> impl Iterator<Item = Goal> {
    let is_in_source =
        |load: &loads::Load| load.version == "3" && load.files == LoadFiles::Own && load.block_bytes != 1 << 10;
    let gain = |load: loads::Load| {
        let mut goal = goal(&Wanted { than: Than::Server(UNCACHED), bound: AtLeast(OPEN_FILES_GAIN), ..RATE });
        goal.levels.insert(LOAD.to_owned(), load.name);
        goal
    };
    loads::of(Scale::Full).into_iter().filter(is_in_source).map(gain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_goal_and_what_it_is_divided_by_are_of_loads_that_there_are() {
        let loads = loads::of(Scale::Full);
        let is_there = |levels: &Levels| {
            loads.iter().any(|load| {
                [load.storage, load.version, &load.name] == [STORAGE, VERSION, LOAD].map(|factor| &levels[factor])
            })
        };
        for goal in all() {
            assert!(is_there(&goal.levels), "{goal:?}");
            if let Some(Baseline::Levels(others)) = &goal.baseline {
                let mut levels = goal.levels.clone();
                levels.extend(others.clone());
                assert!(levels != goal.levels && is_there(&levels), "{goal:?}");
            }
        }
        assert_eq!(open_files().count(), 7 * 4);
    }
}
