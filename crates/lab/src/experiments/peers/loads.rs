use super::{EMPTY_DIRECTORY, LARGE_DIRECTORY, OWN_FILE, READ_FILE, WRITE_FILE, names};
use crate::experiments::Scale;

/// What is asked of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) version: &'static str,
    /// What tables call it; 4×16 are 4 connections with 16 calls outstanding on each.
    pub(super) name: String,
    /// What `wharf bench` calls it.
    pub(super) workload: &'static str,
    /// The file or directory below the export.
    pub(super) file: &'static str,
    pub(super) block_bytes: u32,
    pub(super) connections: u32,
    pub(super) depth: u32,
    pub(super) has_stable_writes: bool,
    pub(super) has_own_files: bool,
}

/// How many connections read files of their own.
const OWN_FILES: [u32; 4] = [4, 16, 64, MAX_OWN_FILES];
/// The most of them.
pub(super) const MAX_OWN_FILES: u32 = 256;
/// The sizes of the second source, and 1 KiB.
const OWN_FILE_SIZES: [u32; 8] = [256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10];
/// What has no size is asked for with this one.
const NO_SIZE: u32 = 4 << 10;

/// All loads of a scale.
pub(super) fn of(scale: Scale) -> Vec<Load> {
    let of_both =
        ["3", "4.1"].into_iter().flat_map(|version| [of_version(version), own_files(version, scale)].concat());
    let mut loads: Vec<Load> = of_both.chain(of_version_3(scale)).chain(of_version_4()).collect();
    if scale == Scale::Quick {
        // One of each kind.
        let is_small = |load: &Load| !["1×1,", "1×16,", "4×1,", "4×64,"].iter().any(|shape| shape_of(load) == *shape);
        loads.retain(|load| load.workload != "randread" || is_small(load));
        loads.retain(|load| !load.has_own_files || load.connections == MAX_OWN_FILES / 4);
    }
    loads
}

fn shape_of(load: &Load) -> String {
    format!("{}×{},", load.connections, load.depth)
}

fn load(version: &'static str, what: &str, (workload, file): (&'static str, &'static str), size: Size) -> Load {
    let (block_bytes, connections, depth) = size;
    let name = format!("{what}, {connections}×{depth}");
    let (has_stable_writes, has_own_files) = (false, false);
    Load { version, name, workload, file, block_bytes, connections, depth, has_stable_writes, has_own_files }
}

/// The bytes of an operation, connections, and calls outstanding on each.
type Size = (u32, u32, u32);

fn of_version(version: &'static str) -> Vec<Load> {
    let (small, medium, large) = (4 << 10, 128 << 10, 1 << 20);
    let of = |what: &str, how, size| load(version, what, how, size);
    let (any, in_order, written) = (("randread", READ_FILE), ("read", READ_FILE), ("write", WRITE_FILE));
    let mut loads: Vec<Load> = [("GETATTR", "getattr"), ("ACCESS", "access"), ("LOOKUP", "lookup")]
        .map(|(what, workload)| of(what, (workload, READ_FILE), (NO_SIZE, 4, 16)))
        .to_vec();
    let shapes = [1, 4].into_iter().flat_map(|connections| [1, 16, 64].map(|depth| (small, connections, depth)));
    loads.extend(shapes.map(|size| of("READ 4 KiB random", any, size)));
    loads.push(of("READ 128 KiB sequential", in_order, (medium, 4, 16)));
    loads.push(of("READ 1 MiB sequential", in_order, (large, 4, 4)));
    loads.push(of("WRITE 4 KiB UNSTABLE", written, (small, 4, 16)));
    loads.push(of("WRITE 128 KiB UNSTABLE", written, (medium, 4, 16)));
    loads.push(of("WRITE 1 MiB UNSTABLE", written, (large, 4, 4)));
    loads.push(Load { has_stable_writes: true, ..of("WRITE 4 KiB FILE_SYNC", written, (small, 4, 16)) });
    loads
}

fn own_files(version: &'static str, scale: Scale) -> Vec<Load> {
    let sizes = if scale == Scale::Full { OWN_FILE_SIZES.to_vec() } else { vec![256, 8 << 10, 128 << 10] };
    let connections = match scale {
        Scale::Full => OWN_FILES.to_vec(),
        Scale::Usual => vec![MAX_OWN_FILES],
        Scale::Quick => vec![MAX_OWN_FILES / 4],
    };
    let of = |connections, bytes: u32| {
        let size = if bytes < 1 << 10 { format!("{bytes} B") } else { format!("{} KiB", bytes >> 10) };
        let what = format!("READ {size} of own files");
        Load { has_own_files: true, ..load(version, &what, ("read", OWN_FILE), (bytes, connections, 1)) }
    };
    connections.into_iter().flat_map(|count| sizes.iter().map(move |bytes| of(count, *bytes))).collect()
}

fn of_version_3(scale: Scale) -> [Load; 2] {
    let listing = format!("READDIRPLUS of {} names", names(scale));
    [
        load("3", "CREATE and REMOVE", ("createremove", EMPTY_DIRECTORY), (NO_SIZE, 4, 16)),
        // The next call needs the cookie of the one before, so a connection has one at a time.
        load("3", &listing, ("readdirplus", LARGE_DIRECTORY), (NO_SIZE, 4, 1)),
    ]
}

fn of_version_4() -> [Load; 6] {
    let (blocks, size) = ("READ_PLUS 128 KiB", (128 << 10, 1, 8));
    let plus = |what: &str, workload, file| load("4.2", &format!("{blocks} of {what}"), (workload, file), size);
    [
        load("4.1", "OPEN and CLOSE", ("open", READ_FILE), (NO_SIZE, 1, 64)),
        load("4.1", "LOCK and LOCKU", ("lock", READ_FILE), (NO_SIZE, 1, 64)),
        load("4.2", "READ 128 KiB sequential", ("read", READ_FILE), size),
        plus("data", "readplus-data", READ_FILE),
        // Files with holes are made for the load, in a directory.
        plus("a hole", "readplus-hole", EMPTY_DIRECTORY),
        plus("data and hole by turns of 64 KiB", "readplus-mixed", EMPTY_DIRECTORY),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::bench::Workload;

    #[test]
    fn every_load_has_a_name_of_its_own_and_a_workload_that_there_is() {
        for (scale, count) in [(Scale::Quick, 36), (Scale::Usual, 44), (Scale::Full, 102)] {
            let loads = of(scale);
            let names: BTreeSet<(&str, &str)> = loads.iter().map(|load| (load.version, load.name.as_str())).collect();
            assert_eq!((names.len(), loads.len()), (loads.len(), count), "{scale:?}");
            assert!(loads.iter().all(|load| load.workload.parse::<Workload>().is_ok()));
        }
        let all = of(Scale::Full);
        for (version, name) in [("4.1", "READ 4 KiB random, 1×64"), ("3", "READ 64 KiB of own files, 16×1")] {
            assert!(all.iter().any(|load| load.version == version && load.name == name), "{name}");
        }
    }
}
