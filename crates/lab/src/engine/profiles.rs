//! What the servers of contenders do: samples of perf during passes that do not count.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::record::{PassPlace, Profile, Profiles};

use super::{Error, Experiment, Schedule, Settings};
use crate::perf::{self, PerfError, Recording};
use crate::process::Process;

/// How many passes of each contender are sampled, at most.
const MAX_PASSES: usize = 6;
/// The most letters of a contender in the name of a file.
const MAX_NAME: usize = 64;
/// The folder of profiles, below that of a run.
const FOLDER: &str = "profiles";
/// What is known of them beside their stacks.
const INDEX: &str = "profiles.json";

/// Why there are no profiles. The run has its figures all the same.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// perf is missing, or not allowed.
    #[error("no profiles: {0}")]
    NoPerf(String),
    /// None of the servers is known.
    #[error("no profiles: no server of this experiment is a process that the lab started")]
    NoProcess,
    /// No pass was sampled.
    #[error("no profiles: {0}")]
    NoSamples(String),
    /// The servers do not start.
    #[error(transparent)]
    Run(#[from] Error),
    /// A file cannot be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> ProfileError {
    let path = path.to_owned();
    move |source| ProfileError::File { path, source }
}

/// Samples the server of each contender during extra passes, and keeps the stacks in the folder of the run.
///
/// # Errors
/// [`ProfileError`] when there are none.
pub fn profile(experiment: &mut dyn Experiment, settings: &Settings, folder: &Path) -> Result<(), ProfileError> {
    if let Some(why) = perf::missing() {
        return Err(ProfileError::NoPerf(why));
    }
    let design = experiment.design();
    let schedule = Schedule::new(experiment, settings.seed)?;
    let own = folder.join(FOLDER);
    fs::create_dir_all(&own).map_err(failed(&own))?;
    experiment.begin_round(settings.seed)?;
    let place = PassPlace { round: 0, position: 0, pair: String::new() };
    for levels in schedule.warm_up() {
        // What fails here fails again where it is sampled.
        let _ = experiment.pass(&levels, &place, settings.seed);
    }
    let contenders = design.factors.iter().find(|factor| factor.name == design.contenders);
    let contenders = contenders.map_or(&[][..], |factor| &factor.levels);
    let mut found: Vec<Profile> = contenders.iter().map(|contender| empty(contender)).collect();
    let mut problem = None;
    for levels in schedule.sampled(MAX_PASSES) {
        if settings.stop.is_stopped() {
            break;
        }
        let pids = experiment.processes();
        if pids.is_empty() {
            return Err(ProfileError::NoProcess);
        }
        match sample(&own, &pids, || experiment.pass(&levels, &place, settings.seed).map(drop).map_err(|error| error.0))
        {
            Ok(stacks) => {
                let profile = found.iter_mut().find(|profile| profile.contender == levels[&design.contenders]);
                profile.into_iter().for_each(|profile| add(profile, &stacks));
            }
            Err(reason) => problem = Some(reason),
        }
    }
    found.retain(|profile| profile.samples() > 0);
    match (found.is_empty(), problem) {
        (true, problem) => Err(ProfileError::NoSamples(problem.unwrap_or_else(|| "perf saw no work".to_owned()))),
        (false, _) => write(folder, &Profiles { samples_per_second: perf::SAMPLES_PER_SECOND, contenders: found }),
    }
}

fn empty(contender: &str) -> Profile {
    Profile { contender: contender.to_owned(), passes: 0, stacks: BTreeMap::new() }
}

fn add(profile: &mut Profile, stacks: &BTreeMap<String, u64>) {
    profile.passes += 1;
    for (stack, count) in stacks {
        *profile.stacks.entry(stack.clone()).or_default() += count;
    }
}

/// Samples what the server does meanwhile: of all processes the one that works most.
fn sample(
    folder: &Path,
    pids: &[u32],
    pass: impl FnOnce() -> Result<(), String>,
) -> Result<BTreeMap<String, u64>, String> {
    let said = |error: PerfError| error.to_string();
    let spent = |pid: u32| Process::Id(pid).time().unwrap_or(Duration::ZERO);
    let recording = Recording::start(folder, pids).map_err(said)?;
    let before: Vec<Duration> = pids.iter().map(|&pid| spent(pid)).collect();
    let done = pass();
    let work = |&(pid, before): &(u32, Duration)| spent(pid).saturating_sub(before);
    let busiest = pids.iter().copied().zip(before).max_by_key(work).map_or(0, |(pid, _)| pid);
    let stacks = recording.finish(busiest).map_err(said);
    done?;
    stacks
}

/// The file of the stacks of the contender with this number.
fn file(number: usize, contender: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    format!("{number}-{}.folded", contender.chars().take(MAX_NAME).map(letter).collect::<String>())
}

/// Writes the stacks as flame graphs are made of, and what else is known of them.
fn write(folder: &Path, profiles: &Profiles) -> Result<(), ProfileError> {
    let folder = folder.join(FOLDER);
    for leftover in ["perf.data", "perf.log"].iter().chain(&perf::PIPES) {
        let _ = fs::remove_file(folder.join(leftover));
    }
    for (number, profile) in profiles.contenders.iter().enumerate() {
        let lines: String = profile.stacks.iter().map(|(stack, count)| format!("{stack} {count}\n")).collect();
        let path = folder.join(file(number, &profile.contender));
        fs::write(&path, lines).map_err(failed(&path))?;
    }
    let path = folder.join(INDEX);
    let text = serde_json::to_string_pretty(profiles).map_err(io::Error::from).map_err(failed(&path))?;
    fs::write(&path, text + "\n").map_err(failed(&path))
}

/// Reads the profiles in the folder of a run, if it has any.
///
/// # Errors
/// When they cannot be read.
pub fn read_profiles(folder: &Path) -> Result<Option<Profiles>, ProfileError> {
    let folder = folder.join(FOLDER);
    let path = folder.join(INDEX);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(&path)(source)),
    };
    let mut profiles: Profiles = serde_json::from_str(&text).map_err(io::Error::from).map_err(failed(&path))?;
    for (number, profile) in profiles.contenders.iter_mut().enumerate() {
        let path = folder.join(file(number, &profile.contender));
        let text = fs::read_to_string(&path).map_err(failed(&path))?;
        let stack =
            |line: &str| line.rsplit_once(' ').and_then(|(stack, count)| Some((stack.to_owned(), count.parse().ok()?)));
        profile.stacks = text.lines().filter_map(stack).collect();
    }
    Ok(Some(profiles))
}

#[cfg(test)]
mod tests {
    use super::super::runner::tests::Fake;
    use super::*;

    #[test]
    fn profiles_are_read_as_they_were_written() {
        let folder = std::env::temp_dir().join(format!("wharf-profiles-test-{}", std::process::id()));
        assert!(read_profiles(&folder).unwrap().is_none());
        fs::create_dir_all(folder.join(FOLDER)).unwrap();
        let stacks = BTreeMap::from([("loop;net::send;copy [k]".to_owned(), 12), ("loop".to_owned(), 1)]);
        let one = Profile { passes: 3, stacks, ..empty("zero-copy, 4 KiB") };
        let profiles = Profiles { samples_per_second: 99, contenders: vec![one, empty("../x")] };
        write(&folder, &profiles).unwrap();
        assert_eq!(read_profiles(&folder).unwrap(), Some(profiles));
        assert_eq!(fs::read_dir(folder.join(FOLDER)).unwrap().count(), 3);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn experiment_without_a_process_of_a_server_has_no_profiles_and_says_why() {
        let folder = std::env::temp_dir().join(format!("wharf-profiles-none-{}", std::process::id()));
        let refused = profile(&mut Fake::default(), &Settings::default(), &folder).unwrap_err().to_string();
        let _ = fs::remove_dir_all(&folder);
        assert!(refused.starts_with("no profiles: "), "{refused}");
    }
}
