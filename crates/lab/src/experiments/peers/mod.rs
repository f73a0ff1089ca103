//! Servers beside each other: Wharf, NFS-Ganesha where it is installed, those that `--server` names, and the ceiling of
//! all.
//!
//! Each load is put on each server, right before or after it is put on Wharf. All serve one directory in memory; those
//! that are started here serve one on a disk too.

mod contenders;
mod factors;
mod files;
mod goals;
mod loads;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use measure::record::{Design, Factor, Levels, Machine, PassPlace, TableKind};

use self::contenders::{SYSTEM_CALLS, UNCACHED, UNPRIVILEGED, is_started_server, way};
use self::factors::{DISK, LOAD, MEMORY, SERVER, STORAGE, VERSION};
use self::files::{EMPTY_DIRECTORY, LARGE_DIRECTORY, MANY_DIRECTORY, READ_FILE, WRITE_FILE, names};
use self::loads::{Group, Load, LoadFiles, SMALL_BYTES};
use super::contenders::{AGAIN, GANESHA, WHARF, describe_programs};
use super::kind::{Conditions, Kind, Scale, named, version};
use crate::bench::{End, Files, Job};
use crate::bench_load::{self, BANDWIDTH, MEMORY as SERVER_MEMORY, OPERATIONS, P99, SERVER_COST};
use crate::cache::{self, CacheState};
use crate::contender::{Contender, Named, Server};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::processors::{self, Processor};
use crate::servers::Servers;

pub(super) const KIND: Kind = Kind {
    name: NAME,
    summary: "how fast servers are: Wharf, NFS-Ganesha, and others that you name, by operation, and the machine's ceiling",
    make,
};

const NAME: &str = "peers";

const OWN_FILE_BYTES: u64 = 1 << 20;
/// The most bytes that are read of a cold file in a pass.
const MAX_COLD_BYTES: u64 = 64 << 20;
const MIB: u64 = 1 << 20;

struct Peers {
    contenders: Vec<Named>,
    servers: BTreeMap<Group, Servers>,
    scale: Scale,
    loads: Vec<Load>,
    /// How many small files the loads read that are left in.
    small_files: u32,
    skipped: Vec<String>,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let scale = conditions.scale;
    let (contenders, mut skipped) = contenders::all(conditions);
    let running = contenders.iter().filter(|one| matches!(one.contender, Contender::Running(_)));
    let why = "it runs already, with storage and processors of its own";
    skipped.extend(running.map(|one| format!("{} on the disk, and with two loops: {why}", one.name)));
    let servers = |group: Group| {
        let (parent, name, loops) = match group {
            Group::InMemory => (&conditions.memory, NAME, 1),
            Group::OnDisk => (&conditions.disk, "peers-disk", 1),
            Group::TwoLoops => (&conditions.memory, "peers-loops", 2),
        };
        let space_bytes = space_bytes(scale, group);
        let servers = Servers::new(&conditions.server_program, parent, space_bytes, name, contenders.clone());
        (group, servers.with_loops(loops))
    };
    let servers = Group::ALL.map(servers).into();
    let mut peers = Peers { contenders, servers, scale, loads: loads::of(scale), small_files: 0, skipped };
    peers.leave_in(&BTreeMap::new());
    Ok(Box::new(peers))
}

fn read_file_bytes(scale: Scale) -> u64 {
    if scale == Scale::Quick { 32 * MIB } else { 256 * MIB }
}

fn space_bytes(scale: Scale, group: Group) -> u64 {
    let file_bytes = read_file_bytes(scale);
    // A page of each small file, and what a file system keeps of it.
    let small_files = loads::of(scale).iter().map(Load::small_files).max().unwrap_or(0);
    let own_files = u64::from(loads::MAX_OWN_FILES) * OWN_FILE_BYTES;
    let more_bytes = match group {
        Group::InMemory => file_bytes + own_files + u64::from(small_files) * 2 * u64::from(SMALL_BYTES),
        Group::OnDisk => file_bytes,
        Group::TwoLoops => 0,
    };
    file_bytes + more_bytes + 64 * MIB
}

/// How long a pass measures; a quarter of that before does not count.
fn runtime(scale: Scale) -> Duration {
    Duration::from_millis(match scale {
        Scale::Quick => 100,
        Scale::Usual => 1000,
        Scale::Full => 2000,
    })
}

impl Peers {
    fn load(&self, levels: &Levels) -> Option<&Load> {
        let is_it = |load: &&Load| {
            load.storage == levels[STORAGE] && load.version == levels[VERSION] && load.name == levels[LOAD]
        };
        self.loads.iter().find(is_it)
    }

    /// The names of loads, each once.
    fn load_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for load in &self.loads {
            if !names.contains(&load.name) {
                names.push(load.name.clone());
            }
        }
        names
    }

    fn names(&self) -> Vec<String> {
        let servers = self.contenders.iter().map(|server| server.name.clone());
        servers.chain([SYSTEM_CALLS.to_owned()]).collect()
    }

    /// Whether a server takes part in a load.
    fn takes_part(&self, server: &str, load: &Load) -> bool {
        let is_on_disk = load.storage == DISK;
        let is_elsewhere = is_on_disk || load.has_two_loops;
        let contender = self.contenders.iter().find(|one| one.name == server);
        match server {
            SYSTEM_CALLS => load.workload == "readdirplus" && !is_on_disk,
            UNCACHED => load.files == LoadFiles::Own,
            UNPRIVILEGED => load.needs_no_privileges(),
            // Its READ_PLUS has replies that no client understands.
            GANESHA => load.version != "4.2",
            other if let Some(way) = way(other) => load.has_ceiling(way),
            _ => !is_elsewhere || contender.is_some_and(is_started_server),
        }
    }

    /// The directory that a group serves.
    fn export(&mut self, group: Group) -> Result<PathBuf, PassError> {
        let servers = self.servers.get_mut(&group).ok_or_else(|| PassError(format!("no servers: {group:?}")))?;
        Ok(servers.export()?)
    }

    fn job(&self, load: &Load, server: &Server, seed: u64) -> Result<Job, PassError> {
        let mut url = server.url(load.file);
        url.parameters.version = Some(version(load.version)?);
        let (runtime, read_bytes) = (runtime(self.scale), read_file_bytes(self.scale));
        let (files, file_bytes, holds_opens) = match load.files {
            LoadFiles::One => (Files::One, read_bytes, false),
            LoadFiles::Own => (Files::OnePerConnection, OWN_FILE_BYTES, false),
            LoadFiles::Many { count, are_open } => (Files::Spread(count), SMALL_BYTES.into(), are_open),
        };
        let (end, warm_up) = match load.is_cold {
            true => (End::Bytes(read_bytes.min(MAX_COLD_BYTES)), Duration::ZERO),
            false => (End::After(runtime), runtime / 4),
        };
        Ok(Job {
            workload: load.workload.parse()?,
            block_bytes: load.block_bytes,
            connections: load.connections,
            depth: load.depth,
            stable_writes: load.has_stable_writes,
            files,
            holds_opens,
            file_bytes,
            end,
            warm_up,
            seed,
            server_pid: server.pid(),
            ..bench_load::job(url)
        })
    }

    /// How often the large directory can be listed without a server, on the servers' processor.
    fn list(&mut self) -> Result<Figures, PassError> {
        let directory = File::open(self.export(Group::InMemory)?.join(LARGE_DIRECTORY))?;
        let (mut listings, runtime) = (0_u32, runtime(self.scale));
        let elapsed = processors::on(Processor::First, || {
            let began = Instant::now();
            while began.elapsed() < runtime {
                fs_host::survey(&directory)?;
                listings += 1;
            }
            Ok::<Duration, std::io::Error>(began.elapsed())
        })?;
        let mut figures = Figures::default();
        figures.set(OPERATIONS, f64::from(listings) / elapsed.as_secs_f64());
        Ok(figures)
    }
}

impl Experiment for Peers {
    fn design(&self) -> Design {
        let table = |title: &str, figure: &str, (factor, baseline): (&str, &str)| {
            TableKind::new(title, figure, factor, baseline)
        };
        let by_server = (SERVER, WHARF);
        let on_disk = Levels::from([(STORAGE.to_owned(), DISK.to_owned())]);
        Design {
            name: NAME.to_owned(),
            question: "How fast are other servers, and what do they cost, compared with Wharf?".to_owned(),
            source: None,
            factors: vec![
                Factor::new(STORAGE, named([MEMORY, DISK])),
                Factor::new(VERSION, named(["3", "4.1", "4.2"])),
                Factor::new(LOAD, self.load_names()),
                Factor::new(SERVER, self.names()),
            ],
            contenders: SERVER.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: bench_load::figure_kinds(),
            tables: vec![
                table("Operations a second", OPERATIONS, by_server),
                table("Bandwidth", BANDWIDTH, by_server),
                table("Processor time of the server for an operation", SERVER_COST, by_server),
                table("The most memory of the server", SERVER_MEMORY, by_server),
                TableKind { only: on_disk, ..table("99th percentile of latency on the disk", P99, by_server) },
                table("Operations a second, by version", OPERATIONS, (VERSION, "3")),
                table("Operations a second, by storage", OPERATIONS, (STORAGE, MEMORY)),
            ],
            curves: Vec::new(),
            goals: goals::all(),
            differences: Vec::new(),
            skipped: self.skipped.clone(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("file that is read and written".to_owned(), format!("{} MiB", read_file_bytes(self.scale) / MIB)),
            ("names of the listed directory".to_owned(), names(self.scale).to_string()),
            ("time of a pass".to_owned(), format!("{} ms", runtime(self.scale).as_millis())),
        ]);
        settings.extend(self.contenders.iter().map(|one| (format!("server {}", one.name), one.contender.to_string())));
        settings
    }

    fn needs(&self) -> Needs {
        let pass_seconds = runtime(self.scale).as_secs_f64() * 1.25 + 0.06;
        let root = Some("NFS-Ganesha and Wharf without privileges are left out without it");
        let round_seconds = self.servers.values().map(Servers::start_seconds).sum();
        let used = self.servers.iter().filter(|(_, servers)| !servers.is_empty());
        let space_bytes = used.map(|(group, _)| space_bytes(self.scale, *group)).sum();
        Needs { pass_seconds, round_seconds, space_bytes, root }
    }

    fn has(&self, levels: &Levels) -> bool {
        self.load(levels).is_some_and(|load| self.takes_part(&levels[SERVER], load))
    }

    fn leave_in(&mut self, levels: &BTreeMap<String, Vec<String>>) {
        let has = |factor, level: &str| levels.get(factor).is_none_or(|all| all.iter().any(|one| one == level));
        let is_in = |load: &&Load| has(STORAGE, load.storage) && has(VERSION, load.version) && has(LOAD, &load.name);
        let loads: Vec<Load> = self.loads.iter().filter(is_in).cloned().collect();
        self.small_files = loads.iter().map(Load::small_files).max().unwrap_or(0);
        let mut all = std::mem::take(&mut self.servers);
        for (group, servers) in &mut all {
            let takes_part = |name: &str, load: &Load| load.group() == *group && self.takes_part(name, load);
            servers.retain(|name| has(SERVER, name) && loads.iter().any(|load| takes_part(name, load)));
        }
        self.servers = all;
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        None
    }

    fn describe(&self, machine: &mut Machine) {
        describe_programs(&self.contenders, machine);
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        let (names, file_bytes) = (names(self.scale), read_file_bytes(self.scale));
        for (group, servers) in self.servers.iter_mut().filter(|(_, servers)| !servers.is_empty()) {
            servers.make_file_once(READ_FILE, file_bytes)?;
            if *group == Group::TwoLoops {
                servers.restart()?;
                continue;
            }
            servers.make_file_once(WRITE_FILE, file_bytes)?;
            servers.restart()?;
            servers.make_directory(EMPTY_DIRECTORY, 0)?;
            servers.make_directory(LARGE_DIRECTORY, names)?;
            match group {
                Group::OnDisk => servers.sync()?,
                _ => servers.make_small_files(MANY_DIRECTORY, self.small_files, SMALL_BYTES)?,
            }
        }
        Ok(())
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        if levels[SERVER] == SYSTEM_CALLS {
            return self.list();
        }
        let none = || PassError("there is no such load".to_owned());
        let load = self.load(levels).ok_or_else(none)?;
        let (group, is_cold) = (load.group(), load.is_cold);
        let servers = self.servers.get(&group).ok_or_else(none)?;
        let job = self.job(load, servers.get(&levels[SERVER])?, seed)?;
        if is_cold {
            cache::bring_to(&self.export(group)?.join(READ_FILE), CacheState::Cold)?;
        }
        let processor = if group == Group::TwoLoops { Processor::Any } else { Processor::Last };
        bench_load::measure_on(processor, &job)
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.values().flat_map(Servers::pids).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::contenders::ceiling_name;
    use super::*;
    use crate::ceiling::Way;
    use crate::experiments::tests::conditions;

    fn has(levels: [&str; 4]) -> bool {
        has_at(Scale::Quick, levels)
    }

    fn has_at(scale: Scale, levels: [&str; 4]) -> bool {
        let mut conditions = conditions(scale);
        conditions.servers = vec!["far=nfs://host/export".parse().unwrap(), "near=/x/serve".parse().unwrap()];
        let peers = make(&conditions).unwrap();
        let names = [STORAGE, VERSION, LOAD, SERVER].into_iter().zip(levels);
        peers.has(&names.map(|(factor, level)| (factor.to_owned(), level.to_owned())).collect())
    }

    #[test]
    fn contenders_take_part_in_what_they_can_do() {
        let (random, listing) = ("READ 4 KiB random, 1×64", "READDIRPLUS of 1000 names, 4×1");
        for way in Way::ALL {
            assert!(has([MEMORY, "3", random, &ceiling_name(way)]));
            assert!(!has([DISK, "3", random, &ceiling_name(way)]));
            assert!(!has([MEMORY, "4.1", random, &ceiling_name(way)]));
            assert_eq!(has([MEMORY, "3", "GETATTR, 4×16", &ceiling_name(way)]), way == Way::Memory);
            let from_disk = [DISK, "3", "READ 128 KiB sequential, 4×16", &ceiling_name(way)];
            assert_eq!(has(from_disk), way == Way::Sendfile);
            assert!(!has([DISK, "3", "READ 4 KiB random, cold, 4×16", &ceiling_name(way)]));
        }
        let two_loops = "READ 128 KiB sequential, two loops, 4×16";
        assert!([WHARF, "near"].iter().all(|server| has_at(Scale::Usual, [MEMORY, "3", two_loops, server])));
        let others = ["far", UNCACHED, UNPRIVILEGED, "ceiling: sendfile"];
        assert!(!others.iter().any(|server| has_at(Scale::Usual, [MEMORY, "3", two_loops, server])));
        assert!(has([MEMORY, "3", listing, SYSTEM_CALLS]) && !has([MEMORY, "3", random, SYSTEM_CALLS]));
        assert!(has([MEMORY, "3", random, "far"]) && !has([DISK, "3", "WRITE 4 KiB FILE_SYNC, 4×16", "far"]));
        let cold = "READ 4 KiB random, cold, 4×16";
        assert!(has([DISK, "3", cold, "near"]) && has([DISK, "3", cold, AGAIN]) && !has([DISK, "3", cold, "far"]));
        assert!(!has([DISK, "4.1", random, WHARF]));
    }

    #[test]
    fn servers_that_no_load_needs_are_not_started() {
        let start_seconds = |only: &[&str]| {
            let mut conditions = conditions(Scale::Usual);
            conditions.servers = vec!["near=/x/serve".parse().unwrap()];
            let only = only.iter().map(|text| text.parse().unwrap()).collect();
            let experiment = super::super::restricted(make(&conditions).unwrap(), only).unwrap();
            (experiment.needs().round_seconds / Contender::START_SECONDS).round()
        };
        // Wharf twice, the other server, and the ceiling of the place.
        let in_memory = ["storage=memory", "version=3", "load=GETATTR, 256×1"];
        assert_eq!(start_seconds(&in_memory), 4.0);
        assert_eq!(start_seconds(&[&in_memory[..], &["server=Wharf"]].concat()), 2.0);
        assert_eq!(start_seconds(&["storage=disk", "load=READ 1 MiB sequential, 4×4"]), 4.0);
        assert_eq!(start_seconds(&["storage=disk", "load=READ 4 KiB random, cold, 4×16"]), 3.0);
        assert_eq!(start_seconds(&["load=two loops"]), 3.0);
    }

    #[test]
    fn server_that_cannot_take_part_is_skipped_with_the_reason() {
        let mut conditions = conditions(Scale::Quick);
        conditions.servers = vec!["far=nfs://host/export".parse().unwrap()];
        conditions.server_program = "/nothing/wharf".into();
        let skipped = make(&conditions).unwrap().design().skipped;
        assert!(skipped.iter().any(|line| line.starts_with("far on the disk, and with two loops:")), "{skipped:?}");
        assert!(skipped.iter().any(|line| line.starts_with(UNPRIVILEGED)), "{skipped:?}");
    }
}
