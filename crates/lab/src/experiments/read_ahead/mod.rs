//! Reading a file on disk that is not in memory: what becomes of the read-ahead when several readers share the file, or
//! the requests of one come in another order than that of the file.
//!
//! A server for each way runs in a process of its own. Before each pass the file is taken out of memory, and that is
//! verified.

mod readers;

use std::collections::BTreeMap;
use std::path::PathBuf;

use measure::record::{Better, Design, Factor, FigureKind, Levels, PassPlace, TableKind};
use tokio::runtime::{Builder, Runtime};

use self::readers::{BLOCK_BYTES, LOADS};
use super::kind::{Conditions, Kind, Scale, named};
use crate::cache::{self, CacheState};
use crate::contender::{Contender, Named};
use crate::data_file;
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::process::Process;
use crate::processors::{self, Processor};
use crate::servers::Servers;

pub(super) const KIND: Kind = Kind {
    name: NAME,
    summary: "who should read ahead of readers of a cold file: the server by stream, the kernel, or nobody",
    make,
};

const NAME: &str = "read-ahead";
const WAY: &str = "read-ahead";
const LOAD: &str = "load";
const BANDWIDTH: &str = "bandwidth";
const SERVER_COST: &str = "server cost";

const STREAMS: &str = "by stream";
const AGAIN: &str = "by stream, again (A/A)";
const KERNEL: &str = "by descriptor (kernel)";
const OFF: &str = "off";

const FILE: &str = "data";
const MIB: u64 = 1 << 20;

struct ReadAhead {
    servers: Servers,
    scale: Scale,
    runtime: Runtime,
    file: PathBuf,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let scale = conditions.scale;
    let server = |name: &str, arguments: &[&str]| Named {
        name: name.to_owned(),
        contender: Contender::Wharf(arguments.iter().map(|&word| word.to_owned()).collect()),
    };
    let ways = vec![
        server(STREAMS, &[]),
        server(AGAIN, &[]),
        server(KERNEL, &["--read-ahead", "kernel"]),
        server(OFF, &["--read-ahead", "off"]),
    ];
    let space_bytes = file_bytes(scale) + 16 * MIB;
    let servers = Servers::new(&conditions.server_program, &conditions.disk, space_bytes, NAME, ways);
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    Ok(Box::new(ReadAhead { servers, scale, runtime, file: PathBuf::new() }))
}

fn file_bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Quick => 16 * MIB,
        Scale::Usual => 256 * MIB,
        Scale::Full => 2048 * MIB,
    }
}

impl Experiment for ReadAhead {
    fn design(&self) -> Design {
        let table =
            |title: &str, figure: &str, factor: &str, baseline: &str| TableKind::new(title, figure, factor, baseline);
        Design {
            name: NAME.to_owned(),
            question: "Who should read ahead of sequential readers of a file that is not in memory?".to_owned(),
            source: None,
            factors: vec![
                Factor::new(LOAD, named(LOADS.map(|load| load.name))),
                Factor::new(WAY, named([STREAMS, AGAIN, KERNEL, OFF])),
            ],
            contenders: WAY.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: vec![
                FigureKind::new(BANDWIDTH, "MB/s", Better::Higher),
                FigureKind::new(SERVER_COST, "s/GB", Better::Lower),
            ],
            tables: vec![
                table("Bandwidth by who reads ahead", BANDWIDTH, WAY, STREAMS),
                table("Bandwidth by load", BANDWIDTH, LOAD, LOADS[0].name),
                table("Processor time of the server for 10⁹ bytes", SERVER_COST, WAY, STREAMS),
            ],
            curves: Vec::new(),
            goals: Vec::new(),
            differences: Vec::new(),
            skipped: Vec::new(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("file".to_owned(), format!("{} MiB", file_bytes(self.scale) / MIB)),
            ("READ".to_owned(), format!("{} KiB", BLOCK_BYTES >> 10)),
            ("server cache".to_owned(), "cold, verified".to_owned()),
        ])
    }

    fn needs(&self) -> Needs {
        // A disk of 200 MB/s.
        self.servers.needs(0.05 + file_bytes(self.scale) as f64 / 200e6)
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        Some("it compares ways of Wharf to read ahead")
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        self.file = self.servers.export()?.join(FILE);
        // A new file each time, so that it has other blocks of the disk.
        data_file::make(&self.file, file_bytes(self.scale))
            .map_err(|source| Error::File { path: self.file.clone(), source })?;
        cache::bring_to(&self.file, CacheState::Cold)?;
        self.servers.restart()
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let server = self.servers.get(&levels[WAY])?;
        let load = LOADS.iter().find(|load| load.name == levels[LOAD]).copied().unwrap_or(LOADS[0]);
        cache::bring_to(&self.file, CacheState::Cold)?;
        let spent = || server.pid().map_or(Ok(Default::default()), |pid| Process::Id(pid).time());
        let before = spent()?;
        let url = server.url(FILE);
        let reading = readers::read_all(&url, &load, seed, file_bytes(self.scale));
        let (bytes, time) = processors::on(Processor::Last, || self.runtime.block_on(reading))?;
        let cpu = spent()?.saturating_sub(before);
        if bytes != file_bytes(self.scale) {
            return Err(Short { got: bytes, wanted: file_bytes(self.scale) }.into());
        }
        let (bytes, mut figures) = (bytes as f64, Figures::default());
        figures.set(BANDWIDTH, bytes / time.as_secs_f64() / 1e6);
        figures.set(SERVER_COST, cpu.as_secs_f64() / (bytes / 1e9));
        Ok(figures)
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.pids()
    }
}

/// The bytes that came are not those of the file.
#[derive(Debug, thiserror::Error)]
#[error("{got} of {wanted} bytes were read")]
struct Short {
    got: u64,
    wanted: u64,
}
