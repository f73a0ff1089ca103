//! Reading a file on disk that is not in memory: what becomes of the read-ahead when several readers share the file, or the requests
//! of one come in another order than that of the file.
//!
//! One server per [`Way`] runs in a process of its own; before each load the file is taken out of memory, and that is checked.

mod cold;
mod error;
mod readers;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::process::Process;
use crate::server::{EXPORT, Server};
use crate::turns::{Place, take_turns};

pub use error::Error;

const FILE_NAME: &str = "data";

/// What to measure.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The program `wharf`, which is started as servers.
    pub program: PathBuf,
    /// An empty directory on a disk, where the file is made.
    pub folder: PathBuf,
    /// Who reads ahead.
    pub ways: Vec<Way>,
    /// The loads that each of them meets.
    pub loads: Vec<Load>,
    /// How often every load goes to every server.
    pub rounds: u32,
    /// What the order of servers and loads follows from.
    pub seed: u64,
    /// How long the file is, in bytes.
    pub file_bytes: u64,
}

/// Who reads ahead; as text, what a table calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// The server, as it does when it is told nothing.
    Streams,
    /// The kernel, by descriptor.
    Kernel,
    /// Nobody.
    Off,
}

/// Who reads the file, and how; as text, what a table calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Load {
    /// How many readers share the file, each with a connection and a part of the file of its own.
    pub readers: u32,
    /// How many READs each has under way.
    pub depth: u32,
    /// Whether each so many READs are sent in any order.
    pub is_shuffled: bool,
    /// The bytes of one READ.
    pub block_bytes: u32,
}

/// What one server did under one load in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The load.
    pub load: Load,
    /// The way.
    pub way: Way,
    /// When it was measured.
    pub place: Place,
    /// Bytes in a second.
    pub bytes_per_second: f64,
    /// Processor time of the server for 10⁹ bytes, in seconds.
    pub server_s_per_gb: f64,
}

impl Way {
    /// All ways, the default first.
    pub const ALL: [Way; 3] = [Way::Streams, Way::Kernel, Way::Off];

    fn arguments(self) -> Vec<String> {
        let read_ahead = |who: &str| vec!["--read-ahead".to_owned(), who.to_owned()];
        match self {
            Way::Streams => Vec::new(),
            Way::Kernel => read_ahead("kernel"),
            Way::Off => read_ahead("off"),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Streams => "by stream",
            Way::Kernel => "by descriptor (kernel)",
            Way::Off => "off",
        })
    }
}

impl Load {
    /// How many readers share the file, and how many READs are under way in any order.
    const READERS: u32 = 4;
    const DEPTH: u32 = 16;

    /// One reader alone, several at once, one with many READs in order, and one with many in any order.
    pub fn all(block_bytes: u32) -> [Load; 4] {
        let alone = Load { readers: 1, depth: 1, is_shuffled: false, block_bytes };
        [
            alone,
            Load { readers: Load::READERS, ..alone },
            Load { depth: Load::DEPTH, ..alone },
            Load { depth: Load::DEPTH, is_shuffled: true, ..alone },
        ]
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Load { readers, depth, is_shuffled, block_bytes } = self;
        let readers = if *readers == 1 { "one reader".to_owned() } else { format!("{readers} readers") };
        let order = if *is_shuffled { ", in any order" } else { "" };
        write!(f, "{readers} of {} KiB at once, depth {depth}{order}", block_bytes >> 10)
    }
}

/// Does the experiment; `seen` hears of each sample as soon as it is there.
///
/// # Errors
/// When the file cannot be made or stays in memory, a server does not start, or a READ fails.
pub fn run(experiment: &Experiment, mut seen: impl FnMut(&Sample)) -> Result<Vec<Sample>, Error> {
    let export = experiment.folder.join(EXPORT);
    let file = export.join(FILE_NAME);
    let failed = |source| Error::File { path: file.clone(), source };
    std::fs::create_dir_all(&export).and_then(|()| cold::make(&file, experiment.file_bytes)).map_err(failed)?;
    let ways = experiment.ways.iter().map(|way| (way.to_string(), way.arguments()));
    let servers = Server::start_all(&experiment.program, &experiment.folder, ways)?;
    let order = |number| {
        let order = measure::shuffled(experiment.seed, number, servers.len());
        order.into_iter().map(|contender| measure::Turn { contender, pair: contender }).collect()
    };
    take_turns((experiment.rounds, experiment.seed), &experiment.loads, order, |load, turn, place| {
        if !cold::drop_from_memory(&file).map_err(failed)? {
            return Err(Error::Resident { path: file.clone() });
        }
        let sample = measure(experiment, load, (experiment.ways[turn], &servers[turn], &file), place)?;
        seen(&sample);
        Ok(sample)
    })
}

fn measure(
    experiment: &Experiment,
    load: Load,
    (way, server, file): (Way, &Server, &Path),
    place: Place,
) -> Result<Sample, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Readers)?;
    let spent = || Process::Id(server.pid()).cpu().unwrap_or_default();
    let before = spent();
    let url = server.url(file);
    let reading = readers::read_all(&url, &load, experiment.file_bytes);
    let (bytes, time) =
        runtime.block_on(reading).map_err(|source| Error::Operation { way: way.to_string(), source })?;
    let cpu = (spent() - before).total;
    if bytes != experiment.file_bytes {
        return Err(Error::Short { way: way.to_string(), got: bytes, wanted: experiment.file_bytes });
    }
    let bytes = bytes as f64;
    Ok(Sample {
        load,
        way,
        place,
        bytes_per_second: bytes / time.as_secs_f64(),
        server_s_per_gb: cpu.as_secs_f64() / (bytes / 1e9),
    })
}
