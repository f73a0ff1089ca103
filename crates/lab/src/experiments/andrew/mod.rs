//! What a programmer does, after the Andrew benchmark: a tree is copied to a server, looked at, read, and built from.
//!
//! One program does it through the client library and its caches, one call after the other, on a mount that is made for
//! the pass.

mod script;

use std::collections::BTreeMap;

use measure::record::{Better, Design, Factor, FigureKind, Levels, Machine, PassPlace, TableKind};
use tokio::runtime::{Builder, Runtime};

use self::script::{PHASES, Script};
use super::contenders::{describe_programs, wharf_twice};
use super::kind::{Conditions, Kind, Scale, named, version};
use crate::contender::Named;
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::processors::{self, Processor};
use crate::servers::Servers;

pub(super) const KIND: Kind =
    Kind { name: NAME, summary: "how long it takes to copy, look at, read and build a tree of sources", make };

const NAME: &str = "andrew";
const VERSION: &str = "version";
const SERVER: &str = "server";
const TOTAL: &str = "total";

struct Andrew {
    contenders: Vec<Named>,
    servers: Servers,
    script: Script,
    runtime: Runtime,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let contenders = [wharf_twice(), conditions.servers.clone()].concat();
    let (directories, files) = match conditions.scale {
        Scale::Quick => (5, 10),
        Scale::Usual => (20, 20),
        Scale::Full => (100, 40),
    };
    let script = Script::new(directories, files);
    let servers =
        Servers::new(&conditions.server_program, &conditions.memory, script.space_bytes(), NAME, contenders.clone());
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    Ok(Box::new(Andrew { contenders, servers, script, runtime }))
}

impl Experiment for Andrew {
    fn design(&self) -> Design {
        let table =
            |figure: &str| TableKind::new(&format!("Time of '{figure}'"), figure, SERVER, &self.contenders[0].name);
        let kind = |name: &str| FigureKind::new(name, "ms", Better::Lower);
        let figures = || [TOTAL].into_iter().chain(PHASES);
        Design {
            name: NAME.to_owned(),
            question: "How long does it take to copy a tree of sources to a server, to look at it, to read it, and to \
                       build from it?"
                .to_owned(),
            source: None,
            factors: vec![
                Factor::new(VERSION, named(["3", "4.2"])),
                Factor::new(SERVER, self.contenders.iter().map(|server| server.name.clone()).collect()),
            ],
            contenders: SERVER.to_owned(),
            control: Some(self.contenders[1].name.clone()),
            figures: figures().map(kind).collect(),
            tables: figures().map(table).collect(),
            curves: Vec::new(),
            goals: Vec::new(),
            differences: named([
                "After the Andrew benchmark of 1987, with files of 1 to 32 KiB; its figures are of other machines.",
                "Nothing is compiled: 'build' reads a source and the headers, writes an object, and links all objects.",
            ]),
            skipped: Vec::new(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([("tree".to_owned(), self.script.to_string())]);
        settings.extend(self.contenders.iter().map(|one| (format!("server {}", one.name), one.contender.to_string())));
        settings
    }

    fn needs(&self) -> Needs {
        // About 1 ms for everything that is done with a file.
        self.servers.needs(0.2 + f64::from(self.script.files()) * 1e-3)
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        None
    }

    fn describe(&self, machine: &mut Machine) {
        describe_programs(&self.contenders, machine);
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        self.servers.restart()
    }

    fn pass(&mut self, levels: &Levels, place: &PassPlace, _seed: u64) -> Result<Figures, PassError> {
        let mut url = self.servers.get(&levels[SERVER])?.url("");
        url.parameters.version = Some(version(&levels[VERSION])?);
        let name = format!("andrew-{}-{}", std::process::id(), place.position);
        let times = processors::on(Processor::Last, || self.runtime.block_on(self.script.run(&url, &name)))?;
        let mut figures = Figures::default();
        for (phase, time) in PHASES.into_iter().zip(times) {
            figures.set(phase, time.as_secs_f64() * 1e3);
        }
        figures.set(TOTAL, times.iter().map(|time| time.as_secs_f64() * 1e3).sum());
        Ok(figures)
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.pids()
    }
}
