use super::factors::{DISK, MEMORY};
use super::files::{EMPTY_DIRECTORY, LARGE_DIRECTORY, MANY_FILES, OWN_FILE, READ_FILE, WRITE_FILE, names};
use crate::ceiling::Way;
use crate::experiments::kind::Scale;

/// What is asked of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) storage: &'static str,
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
    pub(super) files: LoadFiles,
    /// Whether the file is taken out of memory before, and each of its blocks is read once.
    pub(super) is_cold: bool,
    /// Whether servers have two event loops, and share all processors with the load.
    pub(super) has_two_loops: bool,
}

/// Servers that run together and serve one directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    InMemory,
    OnDisk,
    /// In memory, with two event loops on all processors.
    TwoLoops,
}

impl Group {
    pub(super) const ALL: [Group; 3] = [Group::InMemory, Group::OnDisk, Group::TwoLoops];
}

/// Which files a load uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadFiles {
    One,
    /// One for each connection.
    Own,
    /// So many small ones, and whether all of them are open.
    Many {
        count: u32,
        are_open: bool,
    },
}

/// How many connections read files of their own.
const OWN_FILES: [u32; 4] = [4, 16, 64, MAX_OWN_FILES];
/// The most of them.
pub(super) const MAX_OWN_FILES: u32 = 256;
/// The sizes of the second source, and 1 KiB.
const OWN_FILE_SIZES: [u32; 8] = [256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10];
/// What has no size is asked for with this one; each of many files has it.
pub(super) const SMALL_BYTES: u32 = 4 << 10;

/// How many files are read together, with the scale from which on.
const MANY: [(u32, Scale); 3] = [(1000, Scale::Quick), (10_000, Scale::Usual), (200_000, Scale::Full)];
/// How many files a client has open.
const OPENS: [(u32, Scale); 3] = [(1, Scale::Quick), (1000, Scale::Quick), (50_000, Scale::Full)];
/// How many connections ask one call after the other.
const CONNECTIONS: [(u32, Scale); 3] = [(16, Scale::Usual), (256, Scale::Quick), (2000, Scale::Usual)];
/// How many LOCKs of own files are outstanding, and so how many files there are.
const LOCKS: u32 = 64;

/// All loads of a scale.
pub(super) fn of(scale: Scale) -> Vec<Load> {
    let both = ["3", "4.1"]
        .into_iter()
        .flat_map(|version| [of_version(version), own_files(version, scale), many_files(version, scale)].concat());
    let all = both.chain(of_version_3(scale)).chain(opened(scale)).chain(of_version_4()).chain(on_disk(scale));
    all.filter(|load| scale != Scale::Quick || is_quick(load)).collect()
}

fn up_to(levels: &[(u32, Scale)], scale: Scale) -> impl Iterator<Item = u32> {
    let reaches = move |from| match from {
        Scale::Quick => true,
        Scale::Usual => scale != Scale::Quick,
        Scale::Full => scale == Scale::Full,
    };
    levels.iter().filter(move |(_, from)| reaches(*from)).map(|(count, _)| *count)
}

/// One of each kind.
fn is_quick(load: &Load) -> bool {
    let (is_old, is_on_disk) = (load.version == "3", load.storage == DISK);
    match load.workload {
        "access" | "lookup" | "readplus-hole" => false,
        "getattr" => is_old && load.depth > 1,
        "randread" if is_on_disk => load.is_cold,
        "randread" if load.files == LoadFiles::One => (load.connections, load.depth) == (1, 64),
        "randread" => load.files != LoadFiles::Many { count: 1, are_open: true },
        "read" if load.files == LoadFiles::Own => is_old && load.block_bytes == 256,
        "read" if load.is_cold || load.has_two_loops => false,
        "read" => load.block_bytes == 128 << 10 && load.version != "4.1",
        "write" => is_old && load.has_stable_writes == is_on_disk && (is_on_disk || load.block_bytes == 128 << 10),
        "readdirplus" => !is_on_disk,
        _ => true,
    }
}

fn load(version: &'static str, what: &str, Work { workload, file }: Work, size: Size) -> Load {
    let Size { block_bytes, connections, depth } = size;
    Load {
        storage: MEMORY,
        version,
        name: format!("{what}, {connections}×{depth}"),
        workload,
        file,
        block_bytes,
        connections,
        depth,
        has_stable_writes: false,
        files: LoadFiles::One,
        is_cold: false,
        has_two_loops: false,
    }
}

/// The bytes of an operation, connections, and calls outstanding on each.
#[derive(Clone, Copy)]
struct Size {
    block_bytes: u32,
    connections: u32,
    depth: u32,
}

impl Size {
    const fn of(block_bytes: u32, connections: u32, depth: u32) -> Size {
        Size { block_bytes, connections, depth }
    }
}

/// What a load does, and with which file.
#[derive(Clone, Copy)]
struct Work {
    workload: &'static str,
    file: &'static str,
}

impl Work {
    const fn with(file: &'static str, workload: &'static str) -> Work {
        Work { workload, file }
    }
}

fn of_version(version: &'static str) -> Vec<Load> {
    let (small, medium, large) = (SMALL_BYTES, 128 << 10, 1 << 20);
    let of = |what: &str, how: Work, size| load(version, what, how, size);
    let (any, in_order, written) =
        (Work::with(READ_FILE, "randread"), Work::with(READ_FILE, "read"), Work::with(WRITE_FILE, "write"));
    let mut loads: Vec<Load> = [("GETATTR", "getattr"), ("ACCESS", "access"), ("LOOKUP", "lookup")]
        .map(|(what, workload)| of(what, Work::with(READ_FILE, workload), Size::of(SMALL_BYTES, 4, 16)))
        .to_vec();
    let shapes =
        [1, 4].into_iter().flat_map(|connections| [1, 16, 64].map(|depth| Size::of(small, connections, depth)));
    loads.extend(shapes.map(|size| of("READ 4 KiB random", any, size)));
    loads.push(of("READ 128 KiB sequential", in_order, Size::of(medium, 4, 16)));
    loads.push(of("READ 1 MiB sequential", in_order, Size::of(large, 4, 4)));
    loads.push(of("WRITE 4 KiB UNSTABLE", written, Size::of(small, 4, 16)));
    loads.push(of("WRITE 128 KiB UNSTABLE", written, Size::of(medium, 4, 16)));
    loads.push(of("WRITE 1 MiB UNSTABLE", written, Size::of(large, 4, 4)));
    loads.push(Load { has_stable_writes: true, ..of("WRITE 4 KiB FILE_SYNC", written, Size::of(small, 4, 16)) });
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
        Load {
            files: LoadFiles::Own,
            ..load(version, &what, Work::with(OWN_FILE, "read"), Size::of(bytes, connections, 1))
        }
    };
    connections.into_iter().flat_map(|count| sizes.iter().map(move |bytes| of(count, *bytes))).collect()
}

fn many_files(version: &'static str, scale: Scale) -> Vec<Load> {
    let of = |count| {
        let what = format!("READ 4 KiB of {count} files");
        let files = LoadFiles::Many { count, are_open: false };
        Load { files, ..load(version, &what, Work::with(MANY_FILES, "randread"), Size::of(SMALL_BYTES, 4, 16)) }
    };
    // NFSv4 has the same way to a file; opens are what differs.
    up_to(&MANY, scale).filter(|_| version == "3").map(of).collect()
}

fn of_version_3(scale: Scale) -> Vec<Load> {
    let listing = format!("READDIRPLUS of {} names", names(scale));
    let getattr =
        |connections| load("3", "GETATTR", Work::with(READ_FILE, "getattr"), Size::of(SMALL_BYTES, connections, 1));
    let two_loops =
        load("3", "READ 128 KiB sequential, two loops", Work::with(READ_FILE, "read"), Size::of(128 << 10, 4, 16));
    let others = [
        Load { has_two_loops: true, ..two_loops },
        load("3", "CREATE and REMOVE", Work::with(EMPTY_DIRECTORY, "createremove"), Size::of(SMALL_BYTES, 4, 16)),
        // The next call needs the cookie of the one before, so a connection has one at a time.
        load("3", &listing, Work::with(LARGE_DIRECTORY, "readdirplus"), Size::of(SMALL_BYTES, 4, 1)),
    ];
    up_to(&CONNECTIONS, scale).map(getattr).chain(others).collect()
}

/// Reads by the opens of one client.
fn opened(scale: Scale) -> Vec<Load> {
    let of = |count| {
        let what = format!("READ 4 KiB by {count} {}", if count == 1 { "open" } else { "opens" });
        let files = LoadFiles::Many { count, are_open: true };
        Load { files, ..load("4.1", &what, Work::with(MANY_FILES, "randread"), Size::of(SMALL_BYTES, 1, 64)) }
    };
    up_to(&OPENS, scale).map(of).collect()
}

fn of_version_4() -> [Load; 7] {
    let (blocks, size) = ("READ_PLUS 128 KiB", Size::of(128 << 10, 1, 8));
    let plus =
        |what: &str, workload, file| load("4.2", &format!("{blocks} of {what}"), Work::with(file, workload), size);
    let own_locks =
        load("4.1", "LOCK and LOCKU of own files", Work::with(MANY_FILES, "lock"), Size::of(SMALL_BYTES, 1, LOCKS));
    [
        load("4.1", "OPEN and CLOSE", Work::with(READ_FILE, "open"), Size::of(SMALL_BYTES, 1, 64)),
        load("4.1", "LOCK and LOCKU", Work::with(READ_FILE, "lock"), Size::of(SMALL_BYTES, 1, 64)),
        Load { files: LoadFiles::Many { count: LOCKS, are_open: false }, ..own_locks },
        load("4.2", "READ 128 KiB sequential", Work::with(READ_FILE, "read"), size),
        plus("data", "readplus-data", READ_FILE),
        // Files with holes are made for the load, in a directory.
        plus("a hole", "readplus-hole", EMPTY_DIRECTORY),
        plus("data and hole by turns of 64 KiB", "readplus-mixed", EMPTY_DIRECTORY),
    ]
}

/// What the disk decides, or may decide.
fn on_disk(scale: Scale) -> Vec<Load> {
    let of = |what: &str, how, size| Load { storage: DISK, ..load("3", what, how, size) };
    let is_same = |load: &Load| ["createremove", "readdirplus"].contains(&load.workload);
    let same = of_version_3(scale).into_iter().filter(is_same);
    let written = Work::with(WRITE_FILE, "write");
    let (in_order, medium) = (Work::with(READ_FILE, "read"), 128 << 10);
    let mut loads: Vec<Load> = same.map(|load| Load { storage: DISK, ..load }).collect();
    loads.push(of("READ 128 KiB sequential", in_order, Size::of(medium, 4, 16)));
    loads.push(of("READ 1 MiB sequential", in_order, Size::of(1 << 20, 4, 4)));
    loads.push(Load { is_cold: true, ..of("READ 128 KiB sequential, cold", in_order, Size::of(medium, 4, 4)) });
    loads.push(of("READ 4 KiB random", Work::with(READ_FILE, "randread"), Size::of(SMALL_BYTES, 4, 16)));
    loads.push(Load {
        is_cold: true,
        ..of("READ 4 KiB random, cold", Work::with(READ_FILE, "randread"), Size::of(SMALL_BYTES, 4, 16))
    });
    loads.push(of("WRITE 128 KiB UNSTABLE", written, Size::of(medium, 4, 16)));
    loads.push(Load { has_stable_writes: true, ..of("WRITE 4 KiB FILE_SYNC", written, Size::of(SMALL_BYTES, 4, 16)) });
    loads
}

impl Load {
    pub(super) fn group(&self) -> Group {
        match (self.storage, self.has_two_loops) {
            (DISK, _) => Group::OnDisk,
            (_, true) => Group::TwoLoops,
            _ => Group::InMemory,
        }
    }

    /// How many small files it needs.
    pub(super) fn small_files(&self) -> u32 {
        if let LoadFiles::Many { count, .. } = self.files { count } else { 0 }
    }

    /// Whether a responder, which has only NFSv3's calls of one file and one thread, can take part: where the file is
    /// read, and only where as much is outstanding as fills a processor. Beside a disk, sendfile is what a server can
    /// reach; what is not read from the file takes part in memory only.
    pub(super) fn has_ceiling(&self, way: Way) -> bool {
        let is_plain = self.version == "3" && self.files == LoadFiles::One && !self.is_cold && !self.has_two_loops;
        let outstanding = self.connections * self.depth;
        let is_full = outstanding >= 64 || outstanding * self.block_bytes >= 16 << 20;
        is_plain
            && match (self.workload, self.storage) {
                ("read" | "randread", DISK) => is_full && way == Way::Sendfile,
                ("read" | "randread", _) => is_full,
                ("getattr" | "access" | "lookup", _) => way == Way::Memory,
                _ => false,
            }
    }

    /// Whether a server without privileges can take part: the files that others write are not its own.
    pub(super) fn needs_no_privileges(&self) -> bool {
        let is_read = matches!(self.workload, "getattr" | "lookup" | "randread" | "readdirplus" | "createremove");
        let has_many = matches!(self.files, LoadFiles::Many { .. });
        is_read && self.storage == MEMORY && self.version == "3" && (has_many || self.files == LoadFiles::One)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::bench::Workload;

    #[test]
    fn every_load_has_a_name_of_its_own_and_a_workload_that_there_is() {
        for (scale, count) in [(Scale::Quick, 20), (Scale::Usual, 62), (Scale::Full, 122)] {
            let loads = of(scale);
            let name = |load: &Load| (load.storage, load.version, load.name.clone());
            let names: BTreeSet<_> = loads.iter().map(name).collect();
            assert_eq!((names.len(), loads.len()), (loads.len(), count), "{scale:?}");
            assert!(loads.iter().all(|load| load.workload.parse::<Workload>().is_ok()));
        }
        let all = of(Scale::Full);
        for (storage, version, name) in [
            (MEMORY, "4.1", "READ 4 KiB random, 1×64"),
            (MEMORY, "3", "READ 64 KiB of own files, 16×1"),
            (MEMORY, "3", "READ 4 KiB of 200000 files, 4×16"),
            (MEMORY, "4.1", "READ 4 KiB by 50000 opens, 1×64"),
            (MEMORY, "3", "GETATTR, 2000×1"),
            (DISK, "3", "READ 4 KiB random, cold, 4×16"),
            (DISK, "3", "READ 128 KiB sequential, cold, 4×4"),
            (DISK, "3", "READ 1 MiB sequential, 4×4"),
            (MEMORY, "3", "READ 128 KiB sequential, two loops, 4×16"),
            (MEMORY, "4.1", "LOCK and LOCKU of own files, 1×64"),
        ] {
            let is_it = |load: &&Load| (load.storage, load.version, load.name.as_str()) == (storage, version, name);
            assert!(all.iter().any(|load| is_it(&load)), "{name}");
        }
    }

    #[test]
    fn quick_loads_are_one_of_each_kind() {
        let kinds = |scale| of(scale).into_iter().map(|load| load.workload).collect::<BTreeSet<_>>();
        let missing: Vec<&str> = kinds(Scale::Full).difference(&kinds(Scale::Quick)).copied().collect();
        assert_eq!(missing, ["access", "lookup", "readplus-hole"]);
    }
}
