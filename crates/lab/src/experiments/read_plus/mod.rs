//! The experiment of the fifth source: what READ_PLUS saves readers of files with holes, on four file systems.
//!
//! Each file system lies on a loop device, whose reads are as slow as the source's disk, and has a server of its own.
//! One program reads a file from its first byte to its last, over a wire of 1 Gbit/s. Before each pass the file is
//! brought into the server's memory or taken out of it, and that is verified.

mod document;
mod factors;
mod layout;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use client::{Options, Version};
use measure::record::{Better, Design, DocumentRatio, Factor, FigureKind, Levels, Machine, PassPlace, TableKind};
use segments::link::{self, LinkOptions, Wire};
use tokio::runtime::{Builder, Runtime};

use self::factors::{
    AGAIN, CACHE, CACHED, DIRECTORY, FILE, FILE_SYSTEM, KIB, MEMORY, PAGES, PATH, READ_PLUS_VERSION, SERVER_CACHES,
    UNIT, V3, VERSION, VERSIONS, WIRE,
};
use super::kind::{Conditions, Kind, Scale, named};
use crate::bench::Order;
use crate::cache::{self, CacheState};
use crate::contender::{Contender, Server, Site};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::file_load::{FileLoad, FileLoadFound};
use crate::processors::{self, Processor};
use crate::read_limit::ReadLimit;
use crate::scratch::{Parent, Scratch};
use crate::volume::{self, Volume, VolumeKind};
use layout::Layout;

pub(super) const KIND: Kind = Kind {
    name: NAME,
    summary: "what READ_PLUS saves readers of files with holes, by file system and version (source 004)",
    make,
};

const NAME: &str = "read-plus";

const SECONDS: &str = "time";

/// The bytes of a page of the source's machines.
const PAGE_BYTES: u64 = 4096;
/// What one call reads: the most that Linux' server offers, and its client takes.
const TRANSFER_BYTES: u32 = 1 << 20;
/// What the program reads at once.
const BLOCK_BYTES: u32 = 128 << 10;
const MIB: u64 = 1 << 20;
/// What the source's disk reads in a second, by its uncached times of version 3: a file of data takes 22.9 s for 2 GiB,
/// and one of data and holes 28 s for 1 GiB.
const DATA_BYTES_PER_SECOND: u64 = 94_000_000;
const MIXED_BYTES_PER_SECOND: u64 = 38_000_000;
/// The file that shows how much two passes of version 3 differ.
const AGAIN_FILE: &str = "data";
const LINK: LinkOptions = LinkOptions { bits_per_second: 1_000_000_000, mtu: 1500 };
/// The port on the wire of the first file system's server; the others' follow.
const FIRST_PORT: u16 = 20_490;

struct ReadPlus {
    conditions: Conditions,
    /// The file systems on loop devices; none where only a directory is read.
    kinds: Vec<VolumeKind>,
    has_wire: bool,
    has_slow_disks: bool,
    skipped: Vec<String>,
    runtime: Runtime,
    running: Option<Running>,
}

/// What a run needs, in the order in which it ends.
struct Running {
    servers: Vec<Server>,
    wire: Option<Wire>,
    limit: Option<ReadLimit>,
    volumes: Vec<Volume>,
    scratch: Scratch,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    let (mut kinds, mut skipped) = (Vec::new(), Vec::new());
    if volume::is_permitted() {
        let wanted = volumes(conditions.scale).iter().copied();
        kinds.extend(wanted.clone().filter(|kind| kind.missing().is_none()));
        skipped.extend(wanted.filter_map(VolumeKind::missing));
    } else {
        let text = "all file systems but that of --disk-dir: loop devices need root";
        skipped.push(text.to_owned());
    }
    let has_wire = link::is_permitted();
    if !has_wire {
        skipped
            .push("the wire of 1 Gbit/s, and with it the source's figures: networks of one's own need root".to_owned());
    }
    let unlimited = if kinds.is_empty() { None } else { ReadLimit::missing() };
    let has_slow_disks = !kinds.is_empty() && unlimited.is_none();
    skipped.extend(unlimited.map(|reason| format!("disks as slow as the source's: {reason}")));
    if conditions.scale == Scale::Quick {
        skipped.push(
            "XFS and ext3, versions 4.0 and 4.1, segments in KiB, and seven of eight mixed files: left out with --quick"
                .to_owned(),
        );
    }
    let conditions = conditions.clone();
    Ok(Box::new(ReadPlus { conditions, kinds, has_wire, has_slow_disks, skipped, runtime, running: None }))
}

fn file_bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Quick => 4 * MIB,
        Scale::Usual => 24 * MIB,
        Scale::Full => 2048 * MIB,
    }
}

/// The file systems, as far as this machine has them: a quick look needs two that keep holes in different ways.
fn volumes(scale: Scale) -> &'static [VolumeKind] {
    match scale {
        Scale::Quick => &[VolumeKind::Ext4, VolumeKind::Btrfs],
        Scale::Usual | Scale::Full => &VolumeKind::ALL,
    }
}

fn files(scale: Scale) -> Vec<&'static str> {
    match scale {
        Scale::Quick => vec!["data", "hole", "mixed-4d"],
        Scale::Usual | Scale::Full => document::files().collect(),
    }
}

/// The versions that are compared with version 3.
fn versions(scale: Scale) -> &'static [&'static str] {
    match scale {
        Scale::Quick => &VERSIONS[3..],
        Scale::Usual | Scale::Full => &VERSIONS[1..],
    }
}

/// What segments are counted in.
fn units(scale: Scale) -> &'static [&'static str] {
    match scale {
        Scale::Quick => &[PAGES],
        Scale::Usual | Scale::Full => &[PAGES, KIB],
    }
}

fn layout(file: &str, unit: &str) -> Option<Layout> {
    Layout::parse(file, if unit == PAGES { PAGE_BYTES } else { 1 << 10 })
}

/// The disk's speed for files of a layout.
fn bytes_per_second(layout: Layout) -> Option<u64> {
    match layout {
        Layout::Data => Some(DATA_BYTES_PER_SECOND),
        Layout::Hole => None,
        Layout::Mixed { .. } => Some(MIXED_BYTES_PER_SECOND),
    }
}

/// Whether a file is read with segments in this unit: all are in pages; in KiB, those that no file has in pages.
fn is_in(file: &str, unit: &str) -> bool {
    let is_in_pages = |found| document::files().any(|file| layout(file, PAGES) == found);
    unit == PAGES || !is_in_pages(layout(file, KIB))
}

/// All layouts, each once.
fn layouts(scale: Scale) -> Vec<Layout> {
    let mut all = Vec::new();
    for layout in
        files(scale).into_iter().flat_map(|file| units(scale).iter().filter_map(move |unit| layout(file, unit)))
    {
        if !all.contains(&layout) {
            all.push(layout);
        }
    }
    all
}

impl ReadPlus {
    /// The names of the file systems.
    fn file_systems(&self) -> Vec<String> {
        match self.kinds.is_empty() {
            true => vec![DIRECTORY.to_owned()],
            false => self.kinds.iter().map(|kind| kind.name().to_owned()).collect(),
        }
    }

    /// What all files of one file system take.
    fn data_bytes(&self) -> u64 {
        let bytes = file_bytes(self.conditions.scale);
        layouts(self.conditions.scale).into_iter().map(|layout| layout.data_bytes(bytes)).sum()
    }

    fn space_bytes(&self) -> u64 {
        // What a file system keeps itself is less than this.
        (self.data_bytes() + 64 * MIB) * self.file_systems().len() as u64
    }

    /// Where images are: in memory if it may hold them and limits make them slow, so that nothing else does.
    fn folder(&self) -> &Parent {
        let is_in_memory = self.has_slow_disks && self.conditions.scale != Scale::Full;
        if is_in_memory { &self.conditions.memory } else { &self.conditions.disk }
    }

    fn start(&self) -> Result<Running, Error> {
        let scratch = Scratch::new(self.folder(), NAME, self.space_bytes())?;
        let limit = if self.has_slow_disks { Some(ReadLimit::new(NAME)?) } else { None };
        let mut running = Running { servers: Vec::new(), wire: None, limit, volumes: Vec::new(), scratch };
        if !self.kinds.is_empty() {
            volume::hide_mounts()?;
        }
        for kind in &self.kinds {
            running.volumes.push(Volume::new(*kind, running.scratch.path(), self.data_bytes())?);
        }
        for directory in running.exports() {
            self.make_files(&directory)?;
        }
        if self.has_wire {
            running.wire = Some(Wire::new(LINK)?);
        }
        Ok(running)
    }

    fn make_files(&self, directory: &Path) -> Result<(), Error> {
        std::fs::create_dir_all(directory).map_err(|source| Error::File { path: directory.to_owned(), source })?;
        layouts(self.conditions.scale).into_iter().try_for_each(|layout| {
            let path = directory.join(layout.file_name());
            layout.make(&path, file_bytes(self.conditions.scale)).map_err(|source| Error::File { path, source })
        })
    }

    fn load(&self, levels: &Levels, running: &Running) -> Result<(FileLoad, PathBuf), PassError> {
        let names = self.file_systems();
        let index = names.iter().position(|name| *name == levels[FILE_SYSTEM]).ok_or(NotBegun)?;
        let (server, export) = (running.servers.get(index).ok_or(NotBegun)?, &running.exports()[index]);
        let layout = layout(&levels[FILE], &levels[UNIT]).ok_or(NotBegun)?;
        if let Some((limit, volume)) = running.limit.as_ref().zip(running.volumes.get(index)) {
            limit.set(volume.device(), bytes_per_second(layout))?;
        }
        let name = layout.file_name();
        let mut url = server.url(&name);
        url.parameters.version = Some(version(&levels[VERSION]));
        if levels[PATH] == WIRE {
            url.host = link::THERE.to_string();
            (url.parameters.nfs_port, url.parameters.mount_port) = (Some(port(index)), Some(port(index)));
        }
        let load = FileLoad {
            url,
            order: Order::Sequential,
            is_write: false,
            block_bytes: BLOCK_BYTES,
            file_bytes: file_bytes(self.conditions.scale),
            transfer_bytes: TRANSFER_BYTES,
            max_pending: Options::default().max_pending,
            reads_in_any_order: false,
            bytes_per_second: None,
            seed: 0,
            server_pid: server.pid(),
        };
        Ok((load, export.join(name)))
    }
}

/// The port on the wire of a file system's server.
fn port(index: usize) -> u16 {
    FIRST_PORT + index as u16
}

fn version(level: &str) -> Version {
    match level {
        "4.0" => Version::V4_0,
        "4.1" => Version::V4_1,
        READ_PLUS_VERSION => Version::V4_2,
        _ => Version::V3,
    }
}

impl Running {
    /// The directories that are served, in the order of the file systems.
    fn exports(&self) -> Vec<PathBuf> {
        match self.volumes.is_empty() {
            true => vec![self.scratch.path().join("export")],
            false => self.volumes.iter().map(|volume| volume.directory().join("export")).collect(),
        }
    }

    /// Ends the servers and starts them again, each in the network of the wire.
    fn restart(&mut self, program: &Path, names: &[String]) -> Result<(), Error> {
        self.servers.clear();
        for (index, (name, export)) in names.iter().zip(self.exports()).enumerate() {
            let state = self.scratch.path().join(format!("state-{index}"));
            let site = Site { program: program.to_owned(), export, state, loops: 1 };
            let arguments = match self.wire {
                None => Vec::new(),
                Some(_) => {
                    let listen = format!("{}:{}", link::THERE, port(index));
                    let network = format!("{}/{}", link::THERE, link::PREFIX);
                    let both = ["--listen", &listen, "--client", "127.0.0.1", "--client", &network];
                    both.map(str::to_owned).to_vec()
                }
            };
            let start = || Server::start(&site, name, &Contender::Wharf(arguments));
            let server = match &self.wire {
                Some(wire) => wire.there(start)?,
                None => start(),
            };
            let server = server?;
            if let Some((limit, pid)) = self.limit.as_ref().zip(server.pid()) {
                limit.limit(pid)?;
            }
            self.servers.push(server);
        }
        Ok(())
    }

    /// Does something at that end of the wire that a path begins at.
    fn at<T>(&self, path: &str, work: impl FnOnce() -> T) -> Result<T, PassError> {
        Ok(match &self.wire {
            Some(wire) if path == WIRE => wire.here(work)?,
            Some(wire) => wire.there(work)?,
            None => work(),
        })
    }
}

impl Experiment for ReadPlus {
    fn design(&self) -> Design {
        let scale = self.conditions.scale;
        let path = if self.has_wire { WIRE } else { MEMORY };
        let strings = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>();
        Design {
            name: NAME.to_owned(),
            question:
                "How much faster does READ_PLUS read files with holes, and does it cost files without holes anything?"
                    .to_owned(),
            source: Some("Linux NFS client, patches for READ_PLUS, January 2020".to_owned()),
            factors: vec![
                Factor::new(FILE_SYSTEM, self.file_systems()),
                Factor::new(PATH, strings(&[path])),
                Factor::new(FILE, strings(&files(scale))),
                Factor::new(UNIT, strings(units(scale))),
                Factor::new(CACHE, named(SERVER_CACHES)),
                Factor::new(VERSION, strings(&[&[V3, AGAIN], versions(scale)].concat())),
            ],
            contenders: VERSION.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: vec![
                FigureKind::new(SECONDS, "s", Better::Lower),
                FigureKind::new("server cost", "s/GB", Better::Lower),
                FigureKind::new("READ", "calls", Better::Neither),
                FigureKind::new("READ_PLUS", "calls", Better::Neither),
            ],
            tables: self.tables(),
            curves: Vec::new(),
            goals: Vec::new(),
            differences: self.differences(),
            skipped: self.skipped.clone(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("file".to_owned(), format!("{} MiB", file_bytes(self.conditions.scale) / MIB)),
            ("transfer".to_owned(), format!("{} KiB", TRANSFER_BYTES >> 10)),
            ("read of the program".to_owned(), format!("{} KiB", BLOCK_BYTES >> 10)),
            ("page".to_owned(), format!("{PAGE_BYTES} bytes")),
            ("wire".to_owned(), format!("MTU {}, {} bytes of overhead for each frame", LINK.mtu, link::WIRE_BYTES)),
        ])
    }

    fn needs(&self) -> Needs {
        // Most passes have all bytes on the wire, or wait for the disk.
        let bytes_per_second = if self.has_wire { 100e6 } else { 500e6 };
        let pass_seconds = 0.05 + file_bytes(self.conditions.scale) as f64 / bytes_per_second;
        let root = Some("loop devices with ext4, xfs, btrfs and ext3, and a wire between two networks");
        let round_seconds = Contender::START_SECONDS * self.file_systems().len() as f64;
        Needs { pass_seconds, round_seconds, space_bytes: self.space_bytes(), root }
    }

    fn has(&self, levels: &Levels) -> bool {
        let is_control = levels[VERSION] == AGAIN;
        is_in(&levels[FILE], &levels[UNIT]) && (!is_control || levels[FILE] == AGAIN_FILE)
    }

    fn shares_reference(&self) -> bool {
        true
    }

    fn describe(&self, machine: &mut Machine) {
        for kind in &self.kinds {
            let text = "on a loop device with direct I/O, made by mkfs as it is";
            machine.file_systems.insert(kind.name().to_owned(), text.to_owned());
        }
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        Some("it compares versions of NFS, on file systems that it makes itself")
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        let running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        let names = self.file_systems();
        self.running.insert(running).restart(&self.conditions.server_program, &names)
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, _seed: u64) -> Result<Figures, PassError> {
        let running = self.running.as_ref().ok_or(NotBegun)?;
        let (load, path) = self.load(levels, running)?;
        cache::bring_to(&path, if levels[CACHE] == CACHED { CacheState::Warm } else { CacheState::Cold })?;
        let read = || processors::on(Processor::Last, || self.runtime.block_on(load.run()));
        let figures = figures(&running.at(&levels[PATH], read)??);
        let is_used = figures.values["READ_PLUS"] > 0.0;
        if is_used != (levels[VERSION] == READ_PLUS_VERSION) {
            return Err(WrongCall { version: levels[VERSION].clone() }.into());
        }
        Ok(figures)
    }

    fn processes(&self) -> Vec<u32> {
        self.running.iter().flat_map(|running| running.servers.iter().filter_map(Server::pid)).collect()
    }
}

impl ReadPlus {
    fn differences(&self) -> Vec<String> {
        let mut differences = named([
            "Two networks of one machine with a wire of 1 Gbit/s in software; the source had two machines.",
            "Both server and client are Wharf's in user space; the source's are Linux' of January 2020.",
            "The source's segments are named in KiB, and its times fit segments of as many pages: those are compared. \
             Segments of 4 and 8 KiB are read too.",
            "The client reads ahead 4 MiB, and what it reads goes to no page cache.",
        ]);
        differences.push(match self.has_slow_disks {
            true => format!(
                "The file systems lie on loop devices. The kernel limits what servers read from them to the source's {} \
                 MB/s of files of data and {} MB/s of mixed ones, whatever the file system.",
                DATA_BYTES_PER_SECOND / 1_000_000,
                MIXED_BYTES_PER_SECOND / 1_000_000
            ),
            false => "The files lie on one disk of this machine, whose speed decides all uncached times.".to_owned(),
        });
        let scale = self.conditions.scale;
        if scale != Scale::Full {
            differences.push(format!(
                "Files of {} MiB, of which times are as much shorter than the source's for 2 GiB; --full has these.",
                file_bytes(scale) / MIB
            ));
        }
        differences
    }

    /// A table for each file system.
    fn tables(&self) -> Vec<TableKind> {
        let kinds = self.kinds.iter().map(|kind| (kind.name(), document::ratios(*kind)));
        let all: Vec<(&str, Vec<DocumentRatio>)> = match self.kinds.is_empty() {
            true => vec![(DIRECTORY, Vec::new())],
            false => kinds.collect(),
        };
        let (files, versions) = (files(self.conditions.scale), versions(self.conditions.scale));
        let is_known = |ratio: &DocumentRatio| {
            let level = |factor: &str| ratio.levels[factor].as_str();
            self.has_wire && files.contains(&level(FILE)) && versions.contains(&level(VERSION))
        };
        let table = |(name, document): (&str, Vec<DocumentRatio>)| TableKind {
            only: [(FILE_SYSTEM.to_owned(), name.to_owned())].into(),
            document: document.into_iter().filter(is_known).collect(),
            ..TableKind::new(&format!("Time to read a file, {name}"), SECONDS, VERSION, V3)
        };
        all.into_iter().map(table).collect()
    }
}

/// A pass came before its block, or with a level that is none.
#[derive(Debug, thiserror::Error)]
#[error("no server was started for it")]
struct NotBegun;

/// The client has read by another call than the version's.
#[derive(Debug, thiserror::Error)]
#[error("version {version} was read by the wrong call: only version 4.2 has READ_PLUS, and reads by nothing else")]
struct WrongCall {
    version: String,
}

fn figures(found: &FileLoadFound) -> Figures {
    let mut figures = Figures::default();
    figures.set(SECONDS, found.elapsed.as_secs_f64());
    // Versions before 4 have procedures, and version 4 has operations.
    let of_name =
        |name| found.statistics.operations().find(|(of, _)| *of == name).map_or(0, |(_, counted)| counted.calls);
    let is_compound = found.statistics.calls("COMPOUND") > 0;
    let reads = if is_compound { of_name("READ") } else { found.statistics.calls("READ") };
    figures.set("READ", reads as f64);
    figures.set("READ_PLUS", of_name("READ_PLUS") as f64);
    if let Some(cpu) = found.server_cpu {
        figures.set("server cost", cpu.as_secs_f64() / (found.bytes as f64 / 1e9));
    }
    figures
}
