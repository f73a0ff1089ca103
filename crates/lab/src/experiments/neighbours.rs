//! How much one client's load harms another's.
//!
//! One client reads 4 KiB at random, one call after the other: alone, beside a client with many calls, and beside
//! clients of a slow export of the same server. The measured client's threads run before those of the others on their
//! processor, so that it waits for the server and not for them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use measure::record::{Better, Bound, Design, Factor, FigureKind, Goal, Levels, Machine, PassPlace, TableKind};

use super::contenders::{WHARF, describe_programs, ganesha};
use super::kind::{Conditions, Kind, Scale, named};
use crate::bench::{self, End, Job, Observer, Progress};
use crate::bench_load::{self, OPERATIONS, P50, P99};
use crate::contender::{Contender, Named, Server};
use crate::data_file;
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::processors::{self, Processor};
use crate::scratch::Scratch;
use crate::servers::Servers;
use crate::sys;

pub(super) const KIND: Kind =
    Kind { name: NAME, summary: "how long one client waits beside busy ones and beside a slow export", make };

const NAME: &str = "neighbours";
const SERVER: &str = "server";
const UNFAIR: &str = "Wharf without fairness";

const ALONE: &str = "none";
const AGAIN: &str = "none, again (A/A)";
const DEEP: &str = "64×16 READs of 4 KiB";
const SLOW: &str = "4×16 calls to an export that takes 50 ms";

const NEIGHBOUR_OPERATIONS: &str = "neighbours' operations";

const FILE: &str = "data";
const BLOCK_BYTES: u32 = 4 << 10;
const MIB: u64 = 1 << 20;
const FILE_BYTES: u64 = 64 * MIB;
/// What the slow export does in every call.
const DELAY: &str = "any:delay=50ms";
/// How long the others may take until they run.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The niceness of threads that run when nobody else wants to (nice(2)).
const MOST_NICENESS: i32 = 19;
/// The others run until they are stopped; a pass is over long before.
const NEIGHBOUR_TIME: Duration = Duration::from_secs(600);

/// The most that the 99th percentile may be of that alone.
const DEEP_LIMIT: f64 = 5.0;
const SLOW_LIMIT: f64 = 1.2;

struct Neighbours {
    conditions: Conditions,
    /// NFS-Ganesha where it takes part, and the user's.
    others: Vec<Named>,
    running: Option<Running>,
    /// Whether the measured client runs before all others; otherwise the neighbours run after all others.
    runs_first: bool,
    skipped: Vec<String>,
}

/// What a run needs.
struct Running {
    // Before the slow export, so that they end before it is removed.
    servers: Servers,
    slow: Scratch,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let (mut others, mut skipped) = (Vec::new(), Vec::new());
    match ganesha() {
        Ok(ganesha) => others.push(ganesha),
        Err(why) => skipped.push(why),
    }
    others.extend(conditions.servers.clone());
    skipped.push(format!("a slow export of other servers than {WHARF}: its delay is Wharf's --fault"));
    let runs_first = thread::spawn(|| sys::run_first().is_ok()).join().unwrap_or(false);
    Ok(Box::new(Neighbours { conditions: conditions.clone(), others, running: None, runs_first, skipped }))
}

fn runtime(scale: Scale) -> Duration {
    Duration::from_millis(match scale {
        Scale::Quick => 200,
        Scale::Usual => 1500,
        Scale::Full => 3000,
    })
}

/// Wharf with the slow export of this directory beside the common one, and further arguments.
fn wharf(name: &str, slow: &Path, further: &[&str]) -> Named {
    let config = config_path(slow).display().to_string();
    let arguments = ["--config", &config].into_iter().chain(further.iter().copied()).map(str::to_owned);
    Named { name: name.to_owned(), contender: Contender::Wharf(arguments.collect()) }
}

fn config_path(slow: &Path) -> PathBuf {
    slow.join("wharf.toml")
}

/// The directory of the slow export.
fn slow_export(slow: &Path) -> PathBuf {
    slow.join("export")
}

/// Makes the slow export and the configuration that has it.
fn fill(slow: &Path) -> Result<(), Error> {
    let (export, config) = (slow_export(slow), config_path(slow));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    };
    fs::create_dir_all(&export).map_err(failed(&export))?;
    data_file::make(&export.join(FILE), MIB).map_err(failed(&export))?;
    let path = export.display().to_string();
    let text =
        format!("[[export]]\npath = {path:?}\nclients = [\"127.0.0.1\"]\nsquash = \"none\"\nfault = \"{DELAY}\"\n");
    fs::write(&config, text).map_err(failed(&config))
}

impl Neighbours {
    fn start(&self) -> Result<Running, Error> {
        let Conditions { server_program, memory, .. } = &self.conditions;
        let slow = Scratch::new(memory, "neighbours-slow", 2 * MIB)?;
        fill(slow.path())?;
        let own = vec![wharf(WHARF, slow.path(), &[]), wharf(UNFAIR, slow.path(), &["--no-fairness"])];
        let mut servers =
            Servers::new(server_program, memory, 2 * FILE_BYTES, NAME, [own, self.others.clone()].concat());
        servers.make_file_once(FILE, FILE_BYTES)?;
        Ok(Running { servers, slow })
    }

    fn server_names(&self) -> Vec<String> {
        let others = self.others.iter().map(|one| one.name.clone());
        named([WHARF, UNFAIR]).into_iter().chain(others).collect()
    }
}

/// The client that is measured.
fn measured(server: &Server, seed: u64, runtime: Duration) -> Job {
    Job {
        block_bytes: BLOCK_BYTES,
        file_bytes: FILE_BYTES,
        end: End::After(runtime),
        warm_up: runtime / 4,
        workload: bench::Workload::reading(bench::Order::Random),
        seed,
        ..bench_load::job(server.url(FILE))
    }
}

/// The others, if there are any.
fn neighbours(levels: &Levels, server: &Server, slow: &Path, seed: u64) -> Result<Option<Job>, PassError> {
    let mut slow_url = server.url("");
    slow_url.path = slow_export(slow).join(FILE).as_os_str().as_bytes().to_vec();
    let end = End::After(NEIGHBOUR_TIME);
    Ok(match levels[NAME].as_str() {
        DEEP => Some(Job { connections: 64, depth: 16, end, ..measured(server, seed.wrapping_add(1), Duration::ZERO) }),
        SLOW => Some(Job {
            connections: 4,
            depth: 16,
            end,
            file_bytes: MIB,
            workload: "getattr".parse()?,
            ..bench_load::job(slow_url)
        }),
        _ => None,
    })
}

/// Does a job before all others on its processor, where that is permitted.
fn measure_first(job: &Job) -> Result<Figures, PassError> {
    let measure = || {
        let _ = sys::run_first();
        bench_load::measure(job)
    };
    let died = |_| PassError("the measuring thread died".to_owned());
    thread::scope(|scope| scope.spawn(measure).join().map_err(died)?)
}

/// Measures a job while another one runs, which has this niceness.
fn beside(others: Job, niceness: i32, measured: &Job) -> Result<Figures, PassError> {
    let (stop, (begun, has_begun)) = (others.stop.clone(), mpsc::channel());
    // Nobody listens any more when the measurement is over.
    let watcher = Observer(Arc::new(move |_: &Progress| {
        let _ = begun.send(());
    }));
    let others = Job { watcher: Some(watcher), ..others };
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            // To have less is never refused.
            let _ = rustix::process::nice(niceness);
            processors::on(Processor::Last, || bench::run(&others))
        });
        let started = wait_for(&has_begun, || running.is_finished());
        let found = started.then(|| measure_first(measured));
        stop.stop();
        let outcome = running.join().map_err(|_| PassError("the neighbours' thread died".to_owned()))??;
        let mut figures = found.unwrap_or_else(|| Err(PassError("the neighbours do not begin in time".to_owned())))?;
        if let Some(error) = outcome.first_error {
            return Err(error.into());
        }
        let operations = bench_load::figures(&outcome.summary)?.values[OPERATIONS];
        figures.set(NEIGHBOUR_OPERATIONS, operations);
        Ok(figures)
    })
}

/// Waits until a job has begun; not when it has ended or does not begin in time.
fn wait_for(has_begun: &mpsc::Receiver<()>, has_ended: impl Fn() -> bool) -> bool {
    const LOOK: Duration = Duration::from_millis(20);
    let looks = START_TIMEOUT.as_millis() / LOOK.as_millis();
    (0..looks).any(|_| has_ended() || has_begun.recv_timeout(LOOK).is_ok()) && !has_ended()
}

fn goal(neighbour: &str, most: f64) -> Goal {
    let levels = [(SERVER, WHARF), (NAME, neighbour)];
    Goal {
        levels: levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into(),
        figure: P99.to_owned(),
        baseline: Some(ALONE.into()),
        bound: Bound::AtMost(most),
    }
}

impl Experiment for Neighbours {
    fn design(&self) -> Design {
        let by_neighbour = |title: &str, figure: &str| TableKind::new(title, figure, NAME, ALONE);
        let kind = |name: &str, unit: &str, better| FigureKind::new(name, unit, better);
        Design {
            name: NAME.to_owned(),
            question: "How much longer does a client with one call at a time wait when other clients are busy?"
                .to_owned(),
            source: None,
            factors: vec![
                Factor::new(SERVER, self.server_names()),
                Factor::new(NAME, named([ALONE, AGAIN, DEEP, SLOW])),
            ],
            contenders: NAME.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: vec![
                kind(P50, "µs", Better::Lower),
                kind(P99, "µs", Better::Lower),
                kind(OPERATIONS, "1/s", Better::Higher),
                kind(NEIGHBOUR_OPERATIONS, "1/s", Better::Neither),
            ],
            tables: vec![
                by_neighbour("99th percentile of latency beside neighbours", P99),
                by_neighbour("Operations a second beside neighbours", OPERATIONS),
                TableKind::new("99th percentile of latency, by server", P99, SERVER, WHARF),
            ],
            curves: Vec::new(),
            goals: vec![goal(DEEP, DEEP_LIMIT), goal(SLOW, SLOW_LIMIT)],
            differences: match self.runs_first {
                true => Vec::new(),
                false => named([
                    "Without root the neighbours have the lowest priority, and the measured client the usual one: what \
                                 else runs on this machine slows the neighbours down.",
                ]),
            },
            skipped: self.skipped.clone(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let scale = self.conditions.scale;
        let mut settings = BTreeMap::from([
            ("file".to_owned(), format!("{} MiB", FILE_BYTES / MIB)),
            ("time of a pass".to_owned(), format!("{} ms", runtime(scale).as_millis())),
        ]);
        settings.extend(self.others.iter().map(|one| (format!("server {}", one.name), one.contender.to_string())));
        settings
    }

    fn needs(&self) -> Needs {
        // Three of ten passes have neighbours, whose first operations are seen after half a second.
        let pass_seconds = runtime(self.conditions.scale).as_secs_f64() * 1.25 + 0.1 + 0.3 * 0.7;
        let own = 2.0 * Contender::START_SECONDS;
        Needs {
            pass_seconds,
            round_seconds: own + self.others.iter().map(|one| one.contender.start_seconds()).sum::<f64>(),
            space_bytes: 2 * FILE_BYTES + 2 * MIB,
            root: Some("NFS-Ganesha is left out without it, and the measured client has no priority"),
        }
    }

    fn has(&self, levels: &Levels) -> bool {
        levels[NAME] != SLOW || levels[SERVER] == WHARF
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        None
    }

    fn describe(&self, machine: &mut Machine) {
        describe_programs(&self.others, machine);
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        let running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        self.running.insert(running).servers.restart_with_file(FILE, FILE_BYTES)
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let running = self.running.as_ref().ok_or_else(|| PassError("no server was started".to_owned()))?;
        let server = running.servers.get(&levels[SERVER])?;
        let job = measured(server, seed, runtime(self.conditions.scale));
        let mut figures = match neighbours(levels, server, running.slow.path(), seed)? {
            Some(others) => beside(others, if self.runs_first { 0 } else { MOST_NICENESS }, &job)?,
            None => measure_first(&job)?,
        };
        let kinds = [P50, P99, OPERATIONS, NEIGHBOUR_OPERATIONS];
        figures.values.retain(|name, _| kinds.contains(&name.as_str()));
        Ok(figures)
    }

    fn processes(&self) -> Vec<u32> {
        self.running.as_ref().map_or(Vec::new(), |running| running.servers.pids())
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::ceiling::{Responder, Way};
    use crate::experiments::contenders::GANESHA;
    use crate::experiments::tests::conditions;

    #[test]
    fn neighbours_run_as_long_as_the_measurement_and_are_counted_apart() {
        let path = std::env::temp_dir().join(format!("wharf-neighbours-test-{}", std::process::id()));
        data_file::make(&path, MIB).unwrap();
        let mut responder = Responder::bind(Way::Memory, (Ipv4Addr::LOCALHOST, 0).into(), &path).unwrap();
        let port = responder.address().unwrap().port();
        fs::remove_file(&path).unwrap();
        thread::spawn(move || panic!("{}", responder.run()));
        let url = |name: &str| {
            let text = format!("nfs://127.0.0.1{name}?version=3&nfsport={port}&mountport={port}");
            text.parse::<client::Url>().unwrap()
        };
        let job = |name: &str| Job {
            workload: "randread".parse().unwrap(),
            block_bytes: BLOCK_BYTES,
            file_bytes: MIB,
            end: End::After(Duration::from_millis(100)),
            ..bench_load::job(url(name))
        };
        let name = path.display().to_string();
        let others = Job { connections: 2, depth: 4, end: End::After(NEIGHBOUR_TIME), ..job(&name) };
        let figures = beside(others, MOST_NICENESS, &job(&name)).unwrap().values;
        assert!(figures[OPERATIONS] > 0.0 && figures[NEIGHBOUR_OPERATIONS] > 0.0, "{figures:?}");
        // Others that cannot begin end the wait for them.
        let refused = beside(Job { depth: 0, ..job(&name) }, 0, &job(&name)).unwrap_err().0;
        assert!(refused.contains("depth is 0"), "{refused}");
    }

    #[test]
    fn slow_export_is_of_wharf_and_others_say_why_it_is_not_theirs() {
        let experiment = make(&conditions(Scale::Quick)).unwrap();
        let has = |server: &str, neighbour: &str| {
            let levels = [(SERVER, server), (NAME, neighbour)];
            experiment.has(&levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into())
        };
        assert!(has(WHARF, SLOW) && has(GANESHA, DEEP) && !has(GANESHA, SLOW) && !has(UNFAIR, SLOW));
        assert!(experiment.design().skipped.iter().any(|line| line.starts_with("a slow export of other servers")));
    }
}
