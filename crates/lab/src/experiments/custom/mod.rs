//! An experiment that a file describes: a user's own factors, servers, and command.

mod client;
mod file;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use measure::record::{Better, Design, Factor, FigureKind, Levels, Machine, PassPlace, TableKind};
use serde_json::Value;

use self::client::{Client, ClientWay};
use self::file::{CLIENT, Custom, SERVER};
use super::contenders::{CONTROL, describe_programs, with_control};
use super::kind::Conditions;
use crate::contender::{Contender, Named, Server};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::mounted::{MountError, MountPoint, Mounted};
use crate::processors::{self, Processor};
use crate::servers::Servers;
use crate::sys;

pub use file::FileError;

/// The file in the export.
const FILE: &str = "data";
/// How much of what a command printed is shown when a figure is not in it.
const SHOWN_BYTES: usize = 300;

/// The figure that needs the server's process.
const SERVER_COST: &str = "server cost";

/// The figures of `wharf bench`: their names, units and directions.
const BENCH_FIGURES: [(&str, &str, Better); 5] = [
    ("operations", "1/s", Better::Higher),
    ("bandwidth", "MB/s", Better::Higher),
    ("p50", "µs", Better::Lower),
    ("p99", "µs", Better::Lower),
    (SERVER_COST, "µs/operation", Better::Lower),
];

struct CustomExperiment {
    name: String,
    custom: Custom,
    /// With the control behind the first one, where servers are the contenders.
    named: Vec<Named>,
    /// What loads; Wharf's library where there is none.
    clients: Vec<Client>,
    servers: Servers,
    program: PathBuf,
    /// The program that mounts.
    mount_program: PathBuf,
    /// Where exports are mounted, from the first round on.
    mount_point: Option<MountPoint>,
}

/// Whether a name on the command line is that of a file.
pub fn is_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "toml")
}

/// Makes the experiment of a file.
///
/// # Errors
/// [`FileError`] when the file is none.
pub fn read(path: &Path, conditions: &Conditions) -> Result<Box<dyn Experiment>, FileError> {
    let custom = Custom::read(path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut named = [custom.servers(), conditions.servers.clone()].concat();
    if custom.contenders == SERVER {
        named = with_control(named);
    }
    let clients = custom.clients();
    check_agents(&clients, &named).map_err(|(key, problem)| FileError::Value {
        path: path.to_owned(),
        key,
        problem,
    })?;
    let space_bytes = space_bytes(&custom);
    let servers = Servers::new(&conditions.server_program, &conditions.memory, space_bytes, &name, named.clone());
    let (program, mount_program) = (conditions.program.clone(), conditions.server_program.clone());
    Ok(Box::new(CustomExperiment { name, custom, named, clients, servers, program, mount_program, mount_point: None }))
}

/// Agents of other hosts do not reach servers that are started here: these listen on 127.0.0.1.
fn check_agents(clients: &[Client], servers: &[Named]) -> Result<(), (String, String)> {
    let local = servers.iter().find(|server| !server.is_elsewhere());
    let remote = clients.iter().find_map(|client| Some((&client.name, client.way.remote_agent()?)));
    match local.zip(remote) {
        None => Ok(()),
        Some((server, (client, agent))) => Err((
            format!("client.{client}"),
            format!(
                "agent {agent} does not reach server '{}', which listens on 127.0.0.1: give each server a url",
                server.name
            ),
        )),
    }
}

fn file_bytes(custom: &Custom) -> u64 {
    u64::from(custom.file_mib) << 20
}

fn space_bytes(custom: &Custom) -> u64 {
    file_bytes(custom) + (16 << 20)
}

impl CustomExperiment {
    fn factors(&self) -> Vec<Factor> {
        let with_control = |name: &str, mut levels: Vec<String>| {
            // The control of servers is among their names, since it has a process of its own.
            if name == self.custom.contenders && name != SERVER {
                levels.insert(1, format!("{}{CONTROL}", levels[0]));
            }
            Factor::new(name, levels)
        };
        let own = self
            .custom
            .factors
            .iter()
            .map(|factor| with_control(&factor.name, factor.levels.iter().map(file::LevelValue::name).collect()));
        let servers = with_control(SERVER, self.named.iter().map(|server| server.name.clone()).collect());
        let clients: Vec<String> = self.clients.iter().map(|client| client.name.clone()).collect();
        let clients = (!clients.is_empty()).then(|| with_control(CLIENT, clients));
        let mut factors: Vec<Factor> = own.chain([servers]).chain(clients).collect();
        // The last factor varies fastest in tables.
        factors.sort_by_key(|factor| factor.name == self.custom.contenders);
        factors
    }

    fn figures(&self) -> Vec<FigureKind> {
        let has_cost = self.named.iter().any(|server| !server.is_elsewhere())
            && (self.clients.is_empty() || self.clients.iter().any(|client| !client.is_elsewhere()));
        let figures = BENCH_FIGURES.iter().filter(|(name, ..)| has_cost || *name != SERVER_COST);
        let kind = |&(name, unit, better): &(&str, &str, Better)| FigureKind::new(name, unit, better);
        if self.custom.bench.is_some() { figures.map(kind).collect() } else { self.custom.figures() }
    }

    /// Whose passes have no figure that needs the server's process.
    fn without_cost(&self) -> Vec<String> {
        if self.custom.bench.is_none() {
            return Vec::new();
        }
        let servers = self.named.iter().filter(|server| server.is_elsewhere()).map(|server| {
            format!("{SERVER_COST} of server '{}': the lab did not start it, so its process is not known", server.name)
        });
        let clients = self.clients.iter().filter(|client| client.is_elsewhere()).map(|client| {
            format!("{SERVER_COST} under client '{}': agents do not look at the server's process", client.name)
        });
        servers.chain(clients).collect()
    }

    /// What the shell is told.
    fn line(&self) -> String {
        match (&self.custom.command, &self.custom.bench) {
            (Some(command), _) => command.clone(),
            (None, bench) => format!(
                "exec \"$WHARF\" bench \"${{FILE:-$URL}}\" --overwrite --json \"$@\" {}",
                bench.as_deref().unwrap_or_default()
            ),
        }
    }

    /// Mounts the export for a pass, where its client does that: so that nothing is cached from another pass.
    fn mount(&self, server: &Server, levels: &Levels) -> Result<Option<Mounted>, MountError> {
        let way = self.client(levels).map(|client| &client.way);
        match (way, &self.mount_point) {
            (Some(ClientWay::Mount { mounter, options }), Some(point)) => {
                point.mount(*mounter, &self.mount_program, server, options).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn client(&self, levels: &Levels) -> Option<&Client> {
        let name = levels.get(CLIENT)?.trim_end_matches(CONTROL);
        self.clients.iter().find(|client| client.name == name)
    }

    fn command(&self, server: &Server, levels: &Levels, seed: u64, file: Option<PathBuf>) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(self.line()).arg("sh");
        match (self.client(levels).map(|client| &client.way), server.pid()) {
            _ if self.custom.bench.is_none() => {}
            (Some(ClientWay::Agents { agents, token }), _) => {
                command.args(["--agents", &agents.join(","), "--agent-token"]).arg(token);
            }
            (_, Some(pid)) => {
                command.args(["--server-pid", &pid.to_string()]);
            }
            (_, None) => {}
        }
        command.env("FILE", file.unwrap_or_default());
        for factor in &self.custom.factors {
            let name = levels[&factor.name].trim_end_matches(CONTROL);
            let level = factor.levels.iter().find(|level| level.name() == name);
            command.env(&factor.name, level.map(file::LevelValue::value).unwrap_or_default());
        }
        command.env("WHARF", &self.program).env("SEED", seed.to_string()).env("URL", server.url_text(FILE, None));
        command.env("SERVER_PID", server.pid().map_or(String::new(), |pid| pid.to_string()));
        command.envs(server.variables());
        // An interruption of the terminal is for the experiment, which ends after the pass.
        command.stdin(Stdio::null()).process_group(0);
        sys::end_with_parent(&mut command);
        command
    }
}

impl Experiment for CustomExperiment {
    fn design(&self) -> Design {
        let (factors, figures) = (self.factors(), self.figures());
        let contenders = factors.last().map_or(&[][..], |factor| &factor.levels);
        let table = |figure: &FigureKind| {
            TableKind::new(
                &figure.name,
                &figure.name,
                &self.custom.contenders,
                contenders.first().map_or("", String::as_str),
            )
        };
        Design {
            name: self.name.clone(),
            question: self.custom.question.clone(),
            source: None,
            contenders: self.custom.contenders.clone(),
            control: contenders.get(1).cloned(),
            tables: figures.iter().filter(|figure| figure.better != Better::Neither).map(table).collect(),
            factors,
            figures,
            curves: Vec::new(),
            goals: Vec::new(),
            differences: Vec::new(),
            skipped: self.without_cost(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("command".to_owned(), self.line()),
            ("file".to_owned(), format!("{} MiB", self.custom.file_mib)),
        ]);
        let levels = self.custom.factors.iter().flat_map(|factor| {
            factor.levels.iter().map(|level| (format!("{} '{}'", factor.name, level.name()), level.value()))
        });
        settings.extend(levels);
        settings.extend(self.named.iter().map(|one| (format!("server {}", one.name), one.contender.to_string())));
        settings.extend(self.clients.iter().map(|one| (format!("client {}", one.name), one.way.to_string())));
        settings
    }

    fn needs(&self) -> Needs {
        self.servers.needs(self.custom.pass_seconds)
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        None
    }

    fn refuses_builds(&self) -> Option<&'static str> {
        let has_wharf = self.named.iter().any(|one| matches!(one.contender, Contender::Wharf(_)));
        if has_wharf { None } else { Some("none of its servers is Wharf") }
    }

    fn describe(&self, machine: &mut Machine) {
        describe_programs(&self.named, machine);
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        if self.mount_point.is_none() && self.clients.iter().any(Client::mounts) {
            self.mount_point = Some(MountPoint::new()?);
        }
        // Each time again: commands may have written to it.
        self.servers.make_file(FILE, file_bytes(&self.custom))?;
        self.servers.restart_with_file(FILE, file_bytes(&self.custom))
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let server = self.servers.get(&levels[SERVER])?;
        let mounted = processors::on(Processor::Last, || self.mount(server, levels))?;
        let file = mounted.as_ref().map(|mounted| mounted.file(FILE));
        let mut command = self.command(server, levels, seed, file);
        let output = processors::on(Processor::Last, || command.output())?;
        mounted.map_or(Ok(()), Mounted::unmount)?;
        let (text, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Err(PassError(format!("the command ended with {}: {}", output.status, shown(complaint.trim()))));
        }
        match self.custom.bench {
            Some(_) => bench_figures(&text),
            None => printed_figures(&text, &self.custom.figures()),
        }
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.pids()
    }
}

/// The beginning of what was printed.
fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHOWN_BYTES)]
}

/// The figures among the words `name=number` of a text; all of them have to be there.
fn printed_figures(text: &str, wanted: &[FigureKind]) -> Result<Figures, PassError> {
    let mut figures = Figures::default();
    for FigureKind { name, .. } in wanted {
        let value = |word: &str| word.strip_prefix(name.as_str())?.strip_prefix('=')?.parse::<f64>().ok();
        let found = text.split_whitespace().find_map(value).filter(|value| value.is_finite());
        let missing = || PassError(format!("the command printed no word '{name}=NUMBER', but: {}", shown(text)));
        figures.set(name, found.ok_or_else(missing)?);
    }
    Ok(figures)
}

/// The figures of the JSON of `wharf bench`, of all directions together but for percentiles, which are those of the
/// slowest.
fn bench_figures(text: &str) -> Result<Figures, PassError> {
    let run: Value = serde_json::from_str(text)?;
    let job = &run["jobs"][0];
    let directions = || ["read", "write", "metadata"].into_iter().map(|direction| &job[direction]);
    let sum = |name: &str| directions().filter_map(|found| found[name].as_f64()).sum::<f64>();
    let percentile = |name: &str| {
        let each = directions().filter_map(|found| found["clat_ns"]["percentile"][name].as_f64());
        each.fold(0.0, f64::max) / 1e3
    };
    let (operations, bandwidth) = (sum("iops"), sum("bw_bytes") / 1e6);
    if operations == 0.0 {
        return Err(PassError("no operation ended in time".to_owned()));
    }
    let mut figures = Figures::default();
    figures.set("operations", operations);
    if bandwidth > 0.0 {
        figures.set("bandwidth", bandwidth);
    }
    figures.set("p50", percentile("50.000000"));
    figures.set("p99", percentile("99.000000"));
    if let Some(cost) = job["server_cpu"]["cpu_ns_per_op"].as_f64() {
        figures.set("server cost", cost / 1e3);
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Schedule;

    #[test]
    fn figures_are_the_words_with_their_names_and_all_have_to_be_there() {
        let kind = |name: &str| FigureKind::new(name, "", Better::Higher);
        let wanted = [kind("ops/s"), kind("p99")];
        let found = printed_figures("xops/s=1 ops/s=12.5\nver=3\tp99=7", &wanted).unwrap();
        assert_eq!((found.values["ops/s"], found.values["p99"]), (12.5, 7.0));
        for text in ["ops/s=1", "ops/s=1 p99=x", "ops/s=1 p99=nan"] {
            let error = printed_figures(text, &wanted).unwrap_err().0;
            assert!(error.contains("'p99=NUMBER'") && error.contains(text), "{error}");
        }
    }

    #[test]
    fn file_without_a_server_of_wharf_compares_no_builds() {
        let folder = std::env::temp_dir().join(format!("wharf-lab-builds-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let refused = |server: &str| {
            let path = folder.join("own.toml");
            let text = format!("question = \"?\"\nbench = \"--rw read\"\n[[server]]\nname = \"s\"\n{server}\n");
            std::fs::write(&path, text).unwrap();
            read(&path, &super::super::tests::conditions(super::super::Scale::Quick)).unwrap().refuses_builds()
        };
        assert_eq!(refused("wharf = [\"--loops\", \"1\"]"), None);
        assert_eq!(refused("command = \"true\""), Some("none of its servers is Wharf"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn example_of_the_documentation_is_an_experiment_with_a_control() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/lab.toml");
        let experiment = read(&path, &super::super::tests::conditions(super::super::Scale::Quick)).unwrap();
        let design = experiment.design();
        assert_eq!((design.name.as_str(), design.contenders.as_str()), ("lab", SERVER));
        assert!(design.control.unwrap().ends_with(CONTROL));
        assert!(Schedule::new(experiment.as_ref(), 1).unwrap().passes_per_round() > 2);
    }
}
