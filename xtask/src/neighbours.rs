//! How long one client waits beside others: `cargo xtask neighbours`.
//!
//! One client with a single request at a time reads 4 KiB at random from a file in memory: alone, beside a client with 64 connections
//! of 16 requests, with fairness and without, and beside clients of an export that sleeps 50 ms in every call. The cases take
//! turns, so that what else the machine does meets all of them. The server has the first processor and both generators the second, where
//! the one that is measured goes first (`chrt`), since otherwise it waits for the other generator and not for the server.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use measure::Samples;
use serde_json::{Value, json};

use crate::peers::machine;
use crate::{Failure, Outcome, command};

/// The file that is read, by the name that `nfsload` knows, and its size.
const READ_FILE: &str = "big";
const READ_FILE_BYTES: u64 = 64 << 20;

/// What the slow export does in every call.
const SLOW: &str = "any:delay=50ms";

/// How long the others run before the measured client begins, and after it has ended.
const MARGIN: Duration = Duration::from_millis(400);

/// The ports of the server with fairness and of the one without.
const PORTS: [u16; 2] = [31_049, 31_050];

/// A load of `nfsload`.
#[derive(Clone, Copy)]
struct Load {
    folder: &'static str,
    operation: &'static str,
    connections: u32,
    depth: u32,
}

const MEASURED: Load = Load { folder: "fast", operation: "readrand", connections: 1, depth: 1 };
const DEEP: Load = Load { folder: "fast", operation: "readrand", connections: 64, depth: 16 };
const SLEEPY: Load = Load { folder: "slow", operation: "getattr", connections: 4, depth: 16 };

/// The cases: a name, which of the servers, and what runs beside.
const CASES: [(&str, usize, Option<Load>); 4] = [
    ("alone", 0, None),
    ("beside 64 connections of 16 requests, with fairness", 0, Some(DEEP)),
    ("beside 64 connections of 16 requests, without fairness", 1, Some(DEEP)),
    ("beside 4 connections of 16 requests to an export that sleeps 50 ms", 0, Some(SLEEPY)),
];

/// What is asked for.
struct Options {
    nfsload: PathBuf,
    /// A server that is built already, if it is not to be that of this checkout.
    wharf: Option<PathBuf>,
    rounds: u32,
    seconds: f64,
    samples: Option<PathBuf>,
}

/// What one run of one case gave.
struct Sample {
    round: u32,
    case: &'static str,
    measured: Figures,
    others: Option<Figures>,
}

/// The servers and their files, until they are dropped.
struct Scene {
    folder: PathBuf,
    servers: Vec<Child>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // What cannot be killed is dead, and what cannot be removed is in memory until somebody else does.
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Measures all cases, and shows the medians.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let options = parse(arguments)?;
    let wharf = match &options.wharf {
        Some(program) => program.clone(),
        None => {
            command::build_wharf(root)?;
            command::wharf_program(root)
        }
    };
    let scene = Scene::set_up(&wharf)?;
    let mut samples = Vec::new();
    for round in 1..=options.rounds {
        for (case, ..) in &CASES {
            let (measured, others) = scene.measure(&options, case)?;
            eprintln!("round {round}, {case}: p99 {} µs", measured.get("p99us").unwrap_or(&f64::NAN));
            samples.push(Sample { round, case, measured, others });
        }
    }
    show(&samples)?;
    if let Some(path) = &options.samples {
        let text = serde_json::to_vec_pretty(&to_json(root, &options, &samples))?;
        fs::write(path, text).map_err(|source| Failure::File { path: path.clone(), source })?;
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Outcome<Options> {
    let mut options = Options { nfsload: "nfsload".into(), wharf: None, rounds: 6, seconds: 2.0, samples: None };
    let mut words = arguments.iter();
    while let Some(name) = words.next() {
        let value = words.next().ok_or_else(|| Failure::Usage(format!("{name} wants a value")))?;
        let number = || value.parse::<f64>().map_err(|_| Failure::Usage(format!("{name}: {value} is no number")));
        match name.as_str() {
            "--nfsload" => options.nfsload = value.into(),
            "--wharf" => options.wharf = Some(value.into()),
            "--rounds" => options.rounds = number()? as u32,
            "--seconds" => options.seconds = number()?,
            "--samples" => options.samples = Some(value.into()),
            _ => return Err(Failure::Usage(format!("neighbours has no option {name}"))),
        }
    }
    Ok(options)
}

impl Scene {
    fn set_up(wharf: &Path) -> Outcome<Scene> {
        let folder = PathBuf::from(format!("/dev/shm/wharf-neighbours-{}", std::process::id()));
        let mut scene = Scene { folder: folder.clone(), servers: Vec::new() };
        let failed = |source| Failure::File { path: folder.clone(), source };
        let block: Vec<u8> = (0..READ_FILE_BYTES / 8).flat_map(u64::to_le_bytes).collect();
        for name in [MEASURED.folder, SLEEPY.folder] {
            fs::create_dir_all(folder.join(name)).map_err(failed)?;
            fs::write(folder.join(name).join(READ_FILE), &block).map_err(failed)?;
            fs::write(folder.join(name).join("f000"), b"one file").map_err(failed)?;
        }
        for (port, is_fair) in PORTS.into_iter().zip([true, false]) {
            scene.servers.push(scene.start(wharf, port, is_fair)?);
        }
        thread::sleep(2 * MARGIN);
        Ok(scene)
    }

    fn start(&self, wharf: &Path, port: u16, is_fair: bool) -> Outcome<Child> {
        let config = self.folder.join(format!("{port}.toml"));
        let [fast, slow] = [MEASURED.folder, SLEEPY.folder].map(|name| self.folder.join(name).display().to_string());
        let state = self.folder.join(format!("state-{port}"));
        let text = format!(
            "[server]\nlisten = [\"127.0.0.1:{port}\"]\nstate_dir = {state:?}\nloops = 1\nfairness = {is_fair}\n\
             [[export]]\npath = {fast:?}\nclients = [\"127.0.0.1\"]\nsquash = \"none\"\n\
             [[export]]\npath = {slow:?}\nclients = [\"127.0.0.1\"]\nsquash = \"none\"\nfault = {SLOW:?}\n"
        );
        fs::write(&config, text).map_err(|source| Failure::File { path: config.clone(), source })?;
        let mut server = Command::new("taskset");
        server.args(["-c", "0"]).arg(wharf).args(["serve", "--config"]).arg(&config);
        server.stderr(Stdio::null()).stdout(Stdio::null());
        server.spawn().map_err(|source| command::spawn_failure(&server, source))
    }

    /// Runs one case once; what the measured client saw, and what the others did.
    fn measure(&self, options: &Options, case: &str) -> Outcome<(Figures, Option<Figures>)> {
        let (_, server, beside) = CASES.iter().find(|(name, ..)| *name == case).unwrap_or(&CASES[0]);
        let margins = 2.0 * MARGIN.as_secs_f64();
        let others = beside.map(|load| self.begin(options, *server, load, options.seconds + margins)).transpose()?;
        thread::sleep(MARGIN);
        let measured = finish(self.begin(options, *server, MEASURED, options.seconds)?)?;
        Ok((measured, others.map(finish).transpose()?))
    }

    fn begin(&self, options: &Options, server: usize, load: Load, seconds: f64) -> Outcome<Child> {
        let mut generator = Command::new("taskset");
        generator.args(["-c", "1"]);
        if load.connections == MEASURED.connections {
            generator.args(["chrt", "-f", "20"]);
        }
        generator.arg(&options.nfsload).arg("-e").arg(self.folder.join(load.folder));
        let port = PORTS[server].to_string();
        for (name, value) in [
            ("-p", port.clone()),
            ("-m", port),
            ("-P", self.servers[server].id().to_string()),
            ("-v", "3".to_owned()),
            ("-o", load.operation.to_owned()),
            ("-s", "4096".to_owned()),
            ("-S", READ_FILE_BYTES.to_string()),
            ("-c", load.connections.to_string()),
            ("-d", load.depth.to_string()),
            ("-t", seconds.to_string()),
            ("-L", "x".to_owned()),
        ] {
            generator.args([name, &value]);
        }
        generator.stdout(Stdio::piped());
        generator.spawn().map_err(|source| command::spawn_failure(&generator, source))
    }
}

fn finish(generator: Child) -> Outcome<Figures> {
    let failed = |source| Failure::Spawn { program: "nfsload".to_owned(), source };
    let output = generator.wait_with_output().map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures = parse_figures(&text);
    if output.status.success() && figures.contains_key("p99us") {
        Ok(figures)
    } else {
        Err(Failure::Peer(format!("nfsload ended with {}: {text}", output.status)))
    }
}

/// What a program prints of itself, as words `name=number`.
type Figures = BTreeMap<String, f64>;

/// The figures among the words of a text.
fn parse_figures(text: &str) -> Figures {
    let words = text.split_whitespace().filter_map(|word| word.split_once('='));
    words.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

/// Shows, for each case, the medians of what the measured client saw and of what the others did.
fn show(samples: &[Sample]) -> Outcome {
    println!("| 4 KiB reads, one at a time | p50 µs | p99 µs | p99 ÷ alone | ops/s | the others' ops/s |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let median = |case: &str, of: fn(&Sample) -> Option<&Figures>, name: &str| {
        let figures = samples.iter().filter(|sample| sample.case == case).filter_map(of);
        Samples::new(figures.filter_map(|figures| figures.get(name).copied()).collect()).map(|all| all.median())
    };
    let measured: fn(&Sample) -> Option<&Figures> = |sample| Some(&sample.measured);
    let alone = median(CASES[0].0, measured, "p99us")?;
    for (case, ..) in &CASES {
        let [p50, p99, rate] = ["p50us", "p99us", "ops/s"].map(|name| median(case, measured, name));
        let (p50, p99, rate) = (p50?, p99?, rate?);
        let others = median(case, |sample| sample.others.as_ref(), "ops/s");
        let others = others.map_or_else(|_| "–".to_owned(), |rate| format!("{rate:.0}"));
        println!("| {case} | {p50:.0} | {p99:.0} | {:.2} | {rate:.0} | {others} |", p99 / alone);
    }
    Ok(())
}

fn to_json(root: &Path, options: &Options, samples: &[Sample]) -> Value {
    let samples: Vec<Value> = samples
        .iter()
        .map(|Sample { round, case, measured, others }| {
            json!({"round": round, "case": case, "measured": measured, "others": others})
        })
        .collect();
    json!({
        "commit": machine::commit(root),
        "kernel": machine::kernel(),
        "processors": thread::available_parallelism().map_or(0, usize::from),
        "rounds": options.rounds,
        "seconds": options.seconds,
        "samples": samples,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_words_with_numbers() {
        let figures = parse_figures("seen 5 ops/s=12.5 note=none cpu_us/op=3");
        assert_eq!(figures, Figures::from([("ops/s".to_owned(), 12.5), ("cpu_us/op".to_owned(), 3.0)]));
    }
}
