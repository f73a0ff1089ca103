use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use clap::Args;
use lab::bench::Stop;
use lab::engine::{self, Bound, Ending, Experiment, Precision, RunFolder, Schedule, Settings};
use lab::experiments::{self, custom};
use measure::analysis::{RunPasses, past_run};
use measure::record::{self, Run};

use super::gate::GateFlags;
use super::history::History;
use super::precision::{Rounds, Width};
use super::{ConditionFlags, explain, show};
use crate::failure::{BenchError, Failure};
use crate::interruption;
use crate::progress::LabProgress;

/// Run experiments.
///
/// Each pass is stored as soon as it ends. Ctrl-C ends the run after the current pass; the same command with --out and
/// the folder of the run resumes it.
#[derive(Debug, Args)]
pub struct Flags {
    /// Experiments of `wharf lab list`, or a .toml file that describes one.
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    names: Vec<String>,
    /// Run all experiments.
    #[arg(long)]
    all: bool,
    /// Folder for the runs, with a folder for each. [default: wharf-lab-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of orders and random choices.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
    seed: u64,
    /// Number of rounds; an interval requires at least 6. [default: 10, or 6 with --quick]
    #[arg(long, value_name = "COUNT", conflicts_with = "within", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// With -I: minimum and maximum number of rounds. [default: 10,30]
    #[arg(short = 'i', value_name = "MIN,MAX", requires = "precise")]
    within: Option<Rounds>,
    /// Stop when the confidence intervals of all compared ratios are at most WIDTH percent wide, at a level of LEVEL
    /// percent.
    #[arg(short = 'I', value_name = "LEVEL,WIDTH")]
    precise: Option<Width>,
    #[command(flatten)]
    conditions: ConditionFlags,
    #[command(flatten)]
    gate: GateFlags,
    /// Sample the server of each contender with perf after the run, in extra passes that do not count: flame graphs and
    /// their differences. Where perf is not allowed, the run ends without them.
    #[arg(long)]
    profile: bool,
    /// Append the figures to a file, whose changes `wharf lab history FILE` shows. The file is of one machine.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// What was measured, such as a commit. [default: the version of this program]
    #[arg(long, value_name = "TEXT", requires = "history")]
    label: Option<String>,
}

/// The greatest seed: what reads JSON as numbers of 64-bit floating point reads it exactly.
const MAX_SEED: u64 = 1 << 53;
/// Between which numbers of rounds a run ends by its precision when nobody says.
const WITHIN: Rounds = Rounds { min: Settings::ROUNDS, max: 3 * Settings::ROUNDS };

/// Does the experiments, one after the other.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let (names, settings) = (flags.names()?, flags.settings());
    let out = flags.out.clone().unwrap_or_else(default_folder);
    let interrupted = interruption::listen()?;
    let stop = settings.stop.clone();
    let listen = move || {
        let signal = interrupted.blocking_recv().ok();
        stop.stop();
        signal
    };
    let listener = thread::Builder::new().name("interruption".to_owned()).spawn(listen);
    let listener = listener.map_err(|source| Failure::System { action: "start a thread", source })?;
    for name in names {
        if run_one(flags, &name, &settings, &out)? == Ending::Stopped {
            let signal = listener.join().ok().flatten().unwrap_or_default();
            let left = format!("what was measured is in {}; {}", out.display(), resume(&out));
            return Err(Failure::Interrupted { signal, left });
        }
    }
    Ok(())
}

fn run_one(flags: &Flags, name: &str, settings: &Settings, out: &Path) -> Result<Ending, Failure> {
    let mut experiment = flags.conditions.make(name)?;
    let mut head = engine::head(experiment.as_ref(), settings, &version());
    // Another build may be another server, so it does not resume the run.
    let program = |source| Failure::System { action: "read this program's file", source };
    head.settings.insert("program".to_owned(), executable(&env::current_exe().map_err(program)?)?);
    for build in &flags.conditions.builds {
        head.settings.insert(format!("build {}", build.name), executable(&build.program)?);
    }
    flags.gate.check(&head.design)?;
    let mut history = flags.history.as_deref().map(|path| History::open(path, &head.machine)).transpose()?;
    let mut folder = RunFolder::open(&out.join(&head.design.name), head).map_err(BenchError::from)?;
    let ratios =
        Schedule::new(experiment.as_ref(), settings.seed).map_err(BenchError::from)?.ratios(&folder.run().design);
    eprintln!("wharf: {name}: {} rounds: {}", settings.rounds, explain::sensitivity(ratios, settings.rounds));
    let progress = LabProgress::start(folder.run());
    let ended = engine::run(experiment.as_mut(), settings, &mut folder, &mut |event| progress.hear(event));
    progress.finish();
    if flags.profile && !matches!(ended, Err(_) | Ok(Ending::Stopped)) {
        profile(experiment.as_mut(), settings, folder.path());
    }
    if !folder.passes().is_empty() {
        show::show(folder.path(), folder.run(), folder.passes())?;
    }
    let ending = ended.map_err(BenchError::from)?;
    if ending != Ending::Stopped {
        if let Some(history) = &mut history {
            // The build is what a history compares; it is no setting.
            let run = Run { settings: experiment.settings(), ..folder.run().clone() };
            let label = flags.label.as_deref().unwrap_or(&run.version);
            history.append(&past_run(RunPasses { run: &run, passes: folder.passes() }, label))?;
        }
        flags.gate.check_run(folder.run(), folder.passes())?;
    }
    match ending {
        Ending::Imprecise { widest } => warn_of_width(widest, settings),
        Ending::Stopped => {}
        Ending::Complete | Ending::Precise { .. } => {
            eprintln!("wharf: {} passes are in {}", folder.passes().len(), folder.path().display())
        }
    }
    Ok(ending)
}

/// Samples what servers do. Without samples the figures of the run are complete all the same.
fn profile(experiment: &mut dyn Experiment, settings: &Settings, folder: &Path) {
    eprintln!("wharf: sampling the server of each contender in passes that do not count");
    if let Err(error) = engine::profile(experiment, settings, folder) {
        eprintln!("wharf: --profile: {error}");
    }
}

/// Says loudly that the figures are not as precise as was wanted.
fn warn_of_width(widest: Option<f64>, settings: &Settings) {
    let wanted = settings.precision.map_or(0.0, |precision| precision.wanted.half_width * 100.0);
    let found = widest.map_or("some ratios have no interval".to_owned(), |width| {
        format!("the widest interval is ±{:.1} %", width * 100.0)
    });
    eprintln!("wharf: !!! WARNING");
    eprintln!("wharf: !!! Desired confidence was not achieved within {} rounds.", settings.rounds);
    eprintln!("wharf: !!! {found}, and ±{wanted:.1} % was wanted: run more rounds, or make the machine quieter.");
}

impl Flags {
    /// What was named, if all of it is there.
    fn names(&self) -> Result<Vec<String>, BenchError> {
        if self.all {
            return Ok(experiments::ALL.map(|kind| kind.name.to_owned()).to_vec());
        }
        for name in self.names.iter().filter(|name| !custom::is_file(name)) {
            experiments::find(name)?;
        }
        Ok(self.names.clone())
    }

    fn settings(&self) -> Settings {
        let within = self.within.unwrap_or(WITHIN);
        let precision = self.precise.map(|Width { level, half_width }| Precision {
            min_rounds: within.min,
            wanted: record::Precision { level, half_width },
        });
        let max_repeats = if self.conditions.quick { 1 } else { 2 };
        Settings {
            rounds: if precision.is_some() { within.max } else { self.rounds.unwrap_or(self.conditions.rounds()) },
            precision,
            seed: self.seed,
            bound: Bound { max_repeats, ..Settings::default().bound },
            stop: Stop::default(),
        }
    }
}

/// The size and a hash of a program's file. The hash is compared with those of other builds, and has no other use.
fn executable(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|source| Failure::Local { path: path.to_owned(), source })?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Ok(format!("{} bytes, hash {:016x}", bytes.len(), hasher.finish()))
}

/// The version, with its commit where the build knew it.
fn version() -> String {
    let commit = option_env!("WHARF_COMMIT").filter(|commit| !commit.is_empty());
    let commit = commit.map_or(String::new(), |commit| format!(" ({commit})"));
    format!("{}{commit}", env!("CARGO_PKG_VERSION"))
}

/// A folder that no other run has.
fn default_folder() -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    PathBuf::from(format!("wharf-lab-{seconds}"))
}

/// How to go on.
fn resume(out: &Path) -> String {
    let mut words: Vec<String> = env::args_os().map(|word| shell_word(&word)).collect();
    if !env::args_os().any(|word| word.as_bytes().starts_with(b"--out")) {
        words.extend(["--out".to_owned(), vfs::quoted(out)]);
    }
    format!("`{}` resumes it", words.join(" "))
}

/// A word as a shell reads it; an option stays one.
fn shell_word(word: &OsStr) -> String {
    let bytes = word.as_bytes();
    let (dashes, rest) = bytes.split_at(bytes.iter().take_while(|&&byte| byte == b'-').count());
    format!("{}{}", "-".repeat(dashes.len()), vfs::quoted(OsStr::from_bytes(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_are_what_a_shell_reads() {
        let words = ["wharf", "--quick", "--only", "load=read, server limited", "--only=way=a b", "-"];
        let shown = ["wharf", "--quick", "--only", "'load=read, server limited'", "--'only=way=a b'", "-''"];
        assert_eq!(words.map(|word| shell_word(OsStr::new(word))), shown);
    }
}
