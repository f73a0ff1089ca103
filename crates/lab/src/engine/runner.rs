use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use measure::Margin;
use measure::analysis::analyse;
use measure::record::{Disturbance, Measurement, PassPlace, Run};

use super::disturbance::Watch;
use super::planned::Planned;
use super::precision::widest;
use super::{Ending, Error, Event, Experiment, RunFolder, Schedule, Settings, machine};

/// The rounds whose pairs show what the whole run can find: the fewest with a deviation.
const PILOT_ROUNDS: u32 = 3;

/// The head of the record of a run that begins now.
pub fn head(experiment: &dyn Experiment, settings: &Settings, version: &str) -> Run {
    let mut machine = machine::describe();
    experiment.describe(&mut machine);
    Run {
        design: experiment.design(),
        machine,
        settings: experiment.settings(),
        rounds: settings.rounds,
        precision: settings.precision.map(|precision| precision.wanted),
        disturbed_from: Some(settings.bound.processors).filter(|bound| bound.is_finite()),
        seed: settings.seed,
        version: version.to_owned(),
        began_ms: now_ms(),
    }
}

/// Does the passes of a run that are not in its folder yet; the observer hears of each.
///
/// # Errors
/// When a round cannot begin, the folder cannot be written, or all passes fail.
pub fn run(
    experiment: &mut dyn Experiment,
    settings: &Settings,
    folder: &mut RunFolder,
    observe: &mut dyn FnMut(&Event<'_>),
) -> Result<Ending, Error> {
    let schedule = Schedule::new(experiment, settings.seed)?;
    if folder.done() > 0 {
        observe(&Event::Resumed { passes: folder.passes().len() });
    }
    let mut runner = Runner {
        experiment,
        settings,
        folder,
        observe,
        total: schedule.passes_per_round() * settings.rounds,
        schedule,
        began: Instant::now(),
        done_here: 0,
    };
    runner.all_rounds()
}

struct Runner<'a> {
    experiment: &'a mut dyn Experiment,
    settings: &'a Settings,
    folder: &'a mut RunFolder,
    observe: &'a mut dyn FnMut(&Event<'_>),
    schedule: Schedule,
    total: u32,
    began: Instant,
    /// How many passes were done since then.
    done_here: u32,
}

impl Runner<'_> {
    fn all_rounds(&mut self) -> Result<Ending, Error> {
        for round in 1..=self.settings.rounds {
            if let Some(ending) = self.round(round)? {
                return Ok(ending);
            }
            self.report_detectable(round);
            if self.is_precise_after(round) {
                return Ok(Ending::Precise { rounds: round });
            }
        }
        Ok(match self.settings.precision {
            Some(_) => Ending::Imprecise { widest: widest(self.folder.run(), self.folder.passes()) },
            None => Ending::Complete,
        })
    }

    /// Does what is left of a round. Tells when the run was stopped in it.
    fn round(&mut self, round: u32) -> Result<Option<Ending>, Error> {
        let mut planned = self.schedule.round(round);
        planned.retain(|pass| !self.folder.has(pass));
        let (mut failed, mut has_begun) = (None, false);
        for pass in &planned {
            if self.settings.stop.is_stopped() {
                return Ok(Some(Ending::Stopped));
            }
            if !has_begun {
                self.begin(round)?;
                has_begun = true;
            }
            if let Some(reason) = self.until_undisturbed(pass)? {
                failed = Some(reason);
            }
        }
        let all_failed = self.folder.passes().iter().all(|pass| pass.failure.is_some());
        match failed {
            Some(reason) if all_failed => Err(Error::AllFailed { reason }),
            _ => Ok(None),
        }
    }

    /// Starts the servers of a round again with their files, and warms them up.
    fn begin(&mut self, round: u32) -> Result<(), Error> {
        (self.observe)(&Event::RoundBegins { round });
        let seed = mixed(self.settings.seed, round.into(), "start");
        self.experiment.begin_round(seed)?;
        for levels in self.schedule.warm_up() {
            let place = PassPlace { round, position: 0, pair: String::new() };
            // What fails here fails again where it is recorded.
            let _ = self.experiment.pass(&levels, &place, seed);
        }
        Ok(())
    }

    /// Does a pass, and again while it is disturbed too much. Tells why it failed, if it did.
    fn until_undisturbed(&mut self, planned: &Planned) -> Result<Option<String>, Error> {
        for repeats_left in (0..=self.settings.bound.max_repeats).rev() {
            let mut pass = self.pass(planned);
            pass.is_repeated = repeats_left > 0
                && pass.failure.is_none()
                && !self.settings.stop.is_stopped()
                && self.folder.run().is_disturbed(&pass.disturbance);
            let (is_repeated, failure) = (pass.is_repeated, pass.failure.clone());
            self.done_here += u32::from(!is_repeated);
            let measurement = self.folder.append(pass)?.clone();
            let (done, left) = (self.folder.done(), self.time_left());
            (self.observe)(&Event::Passed { measurement: &measurement, done, total: self.total, left });
            if !is_repeated {
                return Ok(failure);
            }
        }
        Ok(None)
    }

    fn pass(&mut self, planned: &Planned) -> Measurement {
        let Planned { levels, place } = planned.clone();
        let seed = mixed(self.settings.seed, place.round.into(), &place.pair);
        let (began_ms, began) = (now_ms(), Instant::now());
        // Nobody asks what else the machine does where no pass counts as disturbed.
        let is_watched = self.settings.bound.processors.is_finite();
        let watch = is_watched.then(|| Watch::start(&self.experiment.processes()));
        let result = self.experiment.pass(&levels, &place, seed);
        let disturbance = watch.map_or_else(Disturbance::default, Watch::finish);
        let seconds = began.elapsed().as_secs_f64();
        let (found, failure) = match result {
            Ok(found) => (found, None),
            Err(error) => (super::Figures::default(), Some(error.0)),
        };
        let super::Figures { values: figures, latency, periods } = found;
        let is_repeated = false;
        Measurement { levels, place, began_ms, seconds, figures, failure, latency, periods, disturbance, is_repeated }
    }

    /// What the passes that are left take at the rate of those that were done.
    fn time_left(&self) -> Duration {
        let left = self.total.saturating_sub(self.folder.done());
        self.began.elapsed().mul_f64(f64::from(left) / f64::from(self.done_here.max(1)))
    }

    /// Reports once what the run will be able to find.
    fn report_detectable(&mut self, round: u32) {
        if round != PILOT_ROUNDS || self.settings.rounds <= round {
            return;
        }
        let results = analyse(self.folder.run(), self.folder.passes(), Margin::TWO_PERCENT);
        if let Some(found) = results.detectable(self.settings.rounds as usize) {
            (self.observe)(&Event::Detectable { round, found });
        }
    }

    fn is_precise_after(&mut self, round: u32) -> bool {
        let Some(precision) = self.settings.precision.filter(|precision| round >= precision.min_rounds) else {
            return false;
        };
        let widest = widest(self.folder.run(), self.folder.passes());
        (self.observe)(&Event::Precision { round, widest });
        precision.wanted.is_reached(widest)
    }
}

/// A number that follows from the seed of a run, a number and a name.
fn mixed(seed: u64, number: u64, name: &str) -> u64 {
    let step = |hash: u64, part: u64| Rng::with_seed(hash ^ part).u64(..);
    name.bytes().fold(step(step(0, seed), number), |hash, byte| step(hash, byte.into()))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use measure::record::{self, Better, Design, Factor, FigureKind, Levels, TableKind};

    use super::super::{Bound, Figures, FolderError, Needs, PassError, Precision, keep_run, read_run};
    use super::*;

    /// An experiment without servers: "slow", "slow again" and "fast" meet two loads.
    pub(crate) struct Fake {
        pub(crate) design: Design,
        /// A combination that does not exist.
        pub(crate) missing: Option<(&'static str, &'static str)>,
        pub(crate) shares_reference: bool,
        /// The ways whose passes fail.
        pub(crate) failing: Vec<&'static str>,
        /// The ways whose passes have no rate.
        pub(crate) unmeasured: Vec<&'static str>,
        /// What each pass shares with its neighbours, as a share of its figure.
        pub(crate) noise: f64,
        pub(crate) passes: Vec<(Levels, u64)>,
        /// The seed of each start of its servers.
        pub(crate) starts: Vec<u64>,
        /// After how many passes the run is stopped, and what stops it.
        pub(crate) stop_after: Option<(usize, crate::bench::Stop)>,
    }

    impl Default for Fake {
        fn default() -> Fake {
            let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>();
            let design = Design {
                name: "fake".to_owned(),
                question: "Which is faster?".to_owned(),
                source: None,
                factors: vec![
                    Factor::new("load", names(&["small", "large"])),
                    Factor::new("way", names(&["slow", "slow again", "fast"])),
                ],
                contenders: "way".to_owned(),
                control: Some("slow again".to_owned()),
                figures: vec![FigureKind { name: "rate".into(), unit: "1/s".into(), better: Better::Higher }],
                tables: vec![TableKind::new("Rates", "rate", "way", "slow")],
                curves: Vec::new(),
                goals: Vec::new(),
                differences: Vec::new(),
                skipped: Vec::new(),
            };
            let (passes, starts) = (Vec::new(), Vec::new());
            Fake {
                design,
                missing: None,
                shares_reference: false,
                failing: Vec::new(),
                unmeasured: Vec::new(),
                noise: 0.001,
                passes,
                starts,
                stop_after: None,
            }
        }
    }

    impl Experiment for Fake {
        fn design(&self) -> Design {
            self.design.clone()
        }

        fn settings(&self) -> BTreeMap<String, String> {
            BTreeMap::from([("size".to_owned(), "1".to_owned())])
        }

        fn needs(&self) -> Needs {
            Needs { pass_seconds: 0.0, round_seconds: 0.0, space_bytes: 0, root: None }
        }

        fn has(&self, levels: &Levels) -> bool {
            self.missing.is_none_or(|(way, load)| levels["way"] != way || levels["load"] != load)
        }

        fn shares_reference(&self) -> bool {
            self.shares_reference
        }

        fn refuses_servers(&self) -> Option<&'static str> {
            None
        }

        fn begin_round(&mut self, seed: u64) -> Result<(), Error> {
            self.starts.push(seed);
            Ok(())
        }

        fn pass(&mut self, levels: &Levels, place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
            self.passes.push((levels.clone(), seed));
            if let Some((count, stop)) = &self.stop_after
                && self.passes.len() >= *count
            {
                stop.stop();
            }
            if self.failing.contains(&levels["way"].as_str()) {
                return Err(std::io::Error::other("the server is gone").into());
            }
            let factor = if levels["way"] == "fast" { 2.0 } else { 1.0 };
            let wobble = 1.0 + self.noise * f64::from(place.position * 37 % 10) / 10.0;
            let mut figures = Figures::default();
            if !self.unmeasured.contains(&levels["way"].as_str()) {
                figures.set("rate", 100.0 * factor * wobble);
            }
            Ok(figures)
        }
    }

    /// A folder of a test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let number = fastrand::u64(..);
            Folder(std::env::temp_dir().join(format!("wharf-lab-{name}-{}-{number}", std::process::id())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// No pass is done again, whatever else this machine does.
    fn settings(rounds: u32) -> Settings {
        let bound = Bound { processors: f64::INFINITY, max_repeats: 0 };
        Settings { rounds, bound, ..Settings::default() }
    }

    fn done(fake: &mut Fake, settings: &Settings, path: &std::path::Path) -> Result<Ending, Error> {
        let mut folder = RunFolder::open(path, head(fake, settings, "1"))?;
        run(fake, settings, &mut folder, &mut |_| {})
    }

    #[test]
    fn every_pass_is_a_line_as_soon_as_it_has_ended() {
        let folder = Folder::new("lines");
        let (mut fake, settings) = (Fake::default(), settings(3));
        let mut open = RunFolder::open(&folder.0, head(&fake, &settings, "1")).unwrap();
        let mut lines = Vec::new();
        let ended = run(&mut fake, &settings, &mut open, &mut |event| {
            if let Event::Passed { done, total, .. } = event {
                let text = std::fs::read_to_string(folder.0.join("samples.jsonl")).unwrap();
                assert_eq!((text.lines().count() as u32, *total), (*done, 24));
                lines.push(*done);
            }
        });
        assert_eq!((ended.unwrap(), lines.len()), (Ending::Complete, 24));
        // Each round is warmed up by one pass of each way, which is not in the record.
        assert_eq!(fake.passes.len(), 24 + 3 * 3);
        let (head, passes) = read_run(&folder.0).unwrap();
        assert_eq!((head.design.name.as_str(), passes.as_slice()), ("fake", open.passes()));
    }

    #[test]
    fn servers_start_anew_for_each_round_with_a_seed_of_its_own() {
        let (folder, mut fake) = (Folder::new("starts"), Fake::default());
        done(&mut fake, &settings(4), &folder.0).unwrap();
        let seeds: std::collections::BTreeSet<u64> = fake.starts.iter().copied().collect();
        assert_eq!((fake.starts.len(), seeds.len()), (4, 4));
    }

    #[test]
    fn both_passes_of_a_pair_have_the_same_seed_and_no_other_pair_has_it() {
        let seed = |number, pair| mixed(1, number, pair);
        assert_eq!(seed(1, "fast"), seed(1, "fast"));
        assert!(
            seed(1, "fast") != seed(2, "fast") && seed(1, "fast") != seed(1, "again") && seed(1, "ab") != seed(1, "ba")
        );
    }

    #[test]
    fn stopped_run_resumes_and_ends_as_if_nothing_had_happened() {
        let (whole, parts) = (Folder::new("whole"), Folder::new("parts"));
        done(&mut Fake::default(), &settings(3), &whole.0).unwrap();
        let stopping = Settings { stop: crate::bench::Stop::default(), ..settings(3) };
        let mut fake = Fake { stop_after: Some((10, stopping.stop.clone())), ..Fake::default() };
        assert_eq!(done(&mut fake, &stopping, &parts.0).unwrap(), Ending::Stopped);
        let so_far = read_run(&parts.0).unwrap().1.len();
        assert_eq!(so_far, 7, "three passes warmed up");
        // A crash has cut the last line short.
        let path = parts.0.join("samples.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 9]).unwrap();
        let mut fake = Fake::default();
        assert_eq!(done(&mut fake, &settings(3), &parts.0).unwrap(), Ending::Complete);
        let places = |folder: &Folder| -> Vec<(Levels, PassPlace, BTreeMap<String, f64>)> {
            let passes = read_run(&folder.0).unwrap().1;
            passes.into_iter().map(|pass| (pass.levels, pass.place, pass.figures)).collect()
        };
        assert_eq!(places(&parts), places(&whole));
        // What was left of the first round, and two whole rounds; each begins with three passes to warm up.
        assert_eq!(fake.passes.len(), 24 - 6 + 3 * 3);
    }

    #[test]
    fn folder_of_another_run_is_refused_with_what_differs() {
        let folder = Folder::new("other");
        done(&mut Fake::default(), &settings(1), &folder.0).unwrap();
        let run = head(&Fake::default(), &settings(1), "1");
        let refused = |change: fn(&mut Run)| {
            let mut other = run.clone();
            change(&mut other);
            RunFolder::open(&folder.0, other).unwrap_err().to_string()
        };
        assert!(refused(|run| run.seed = 7).contains("another seed: 1 then, 7 now"));
        let size = refused(|run| drop(run.settings.insert("size".to_owned(), "2".to_owned())));
        assert!(size.contains("another setting 'size': 1 then, 2 now"), "{size}");
        assert!(refused(|run| run.version = "2".to_owned()).contains("another version of wharf"));
        assert!(refused(|run| run.design.factors.truncate(1)).contains("another design"));
        let _in_use = RunFolder::open(&folder.0, run.clone()).unwrap();
        assert!(matches!(RunFolder::open(&folder.0, run.clone()), Err(FolderError::InUse { .. })));
        assert!(matches!(read_run(&folder.0.join("x")), Err(FolderError::NoRun { .. })));
    }

    #[test]
    fn kept_run_is_read_like_the_run_itself_and_does_not_go_on() {
        let (folder, kept) = (Folder::new("to-keep"), Folder::new("kept"));
        done(&mut Fake::default(), &settings(20), &folder.0).unwrap();
        let (run, passes) = read_run(&folder.0).unwrap();
        assert!(matches!(keep_run(&folder.0, &run, &passes), Err(FolderError::Plain { .. })));
        keep_run(&kept.0, &run, &passes).unwrap();
        assert_eq!(read_run(&kept.0).unwrap(), (run.clone(), passes));
        let bytes = |path: PathBuf| std::fs::read(path).unwrap().len();
        let (plain, compressed) = (bytes(folder.0.join("samples.jsonl")), bytes(kept.0.join("samples.jsonl.gz")));
        assert!(compressed * 4 < plain, "{compressed} of {plain} bytes");
        assert!(matches!(RunFolder::open(&kept.0, run), Err(FolderError::Kept { .. })));
        // Half of a compressed file is an error, and no shorter run.
        let whole = std::fs::read(kept.0.join("samples.jsonl.gz")).unwrap();
        std::fs::write(kept.0.join("samples.jsonl.gz"), &whole[..whole.len() / 2]).unwrap();
        assert!(matches!(read_run(&kept.0), Err(FolderError::File { .. })));
    }

    #[test]
    fn failed_passes_are_kept_with_their_reason_and_servers_start_again_in_the_next_round() {
        let folder = Folder::new("failing");
        let mut fake = Fake { failing: vec!["fast"], ..Fake::default() };
        assert_eq!(done(&mut fake, &settings(2), &folder.0).unwrap(), Ending::Complete);
        let passes = read_run(&folder.0).unwrap().1;
        let failed: Vec<&Measurement> = passes.iter().filter(|pass| pass.failure.is_some()).collect();
        assert_eq!((passes.len(), failed.len()), (16, 4));
        assert!(
            failed.iter().all(|pass| pass.failure.as_deref() == Some("the server is gone") && pass.figures.is_empty())
        );
        assert_eq!(fake.starts.len(), 2);
    }

    #[test]
    fn run_whose_passes_all_fail_ends_after_its_first_round() {
        let folder = Folder::new("all-failing");
        let mut fake = Fake { failing: vec!["slow", "slow again", "fast"], ..Fake::default() };
        let error = done(&mut fake, &settings(5), &folder.0).unwrap_err();
        assert!(matches!(&error, Error::AllFailed { reason } if reason == "the server is gone"), "{error}");
        assert_eq!(read_run(&folder.0).unwrap().1.len(), 8);
    }

    #[test]
    fn disturbed_pass_is_done_again_right_away_and_both_are_kept() {
        let folder = Folder::new("disturbed");
        // No disturbance at all is below this bound.
        let bound = Bound { processors: -1.0, max_repeats: 2 };
        let settings = Settings { bound, ..settings(1) };
        done(&mut Fake::default(), &settings, &folder.0).unwrap();
        let passes = read_run(&folder.0).unwrap().1;
        assert_eq!(passes.len(), 8 * 3);
        for tries in passes.chunks(3) {
            assert_eq!([0, 1, 2].map(|index| tries[index].is_repeated), [true, true, false]);
            assert!(tries.iter().all(|again| again.place == tries[0].place && again.levels == tries[0].levels));
        }
        // The last tries count though they are disturbed, and the record shows which they are.
        let run = read_run(&folder.0).unwrap().0;
        assert!(passes.iter().all(|pass| run.is_disturbed(&pass.disturbance)));
    }

    #[test]
    fn run_says_after_three_rounds_what_it_will_be_able_to_find() {
        let (folder, mut fake, settings) = (Folder::new("detectable"), Fake::default(), settings(8));
        let mut open = RunFolder::open(&folder.0, head(&fake, &settings, "1")).unwrap();
        let mut said = Vec::new();
        let ended = run(&mut fake, &settings, &mut open, &mut |event| {
            if let Event::Detectable { round, found } = event {
                said.push((*round, *found));
            }
        });
        ended.unwrap();
        let [(3, found)] = said[..] else { panic!("{said:?}") };
        // Figures wobble by up to a thousandth.
        assert!(found.median > 1.0 && found.median <= found.most && found.most < 1.01, "{found:?}");
    }

    #[test]
    fn run_ends_when_every_ratio_is_known_well_enough_and_says_so_when_it_is_not() {
        let wanted = record::Precision { level: 0.95, half_width: 0.01 };
        let precision = Some(Precision { min_rounds: 7, wanted });
        let settings = Settings { precision, ..settings(12) };
        let (steady, noisy) = (Folder::new("steady"), Folder::new("noisy"));
        assert_eq!(done(&mut Fake::default(), &settings, &steady.0).unwrap(), Ending::Precise { rounds: 7 });
        let (without, mut fake) = (Folder::new("without"), Fake::default());
        fake.design.factors[1].levels.push("unmeasured".to_owned());
        fake.unmeasured = vec!["unmeasured"];
        assert_eq!(done(&mut fake, &settings, &without.0).unwrap(), Ending::Precise { rounds: 7 });
        let mut fake = Fake { noise: 1.0, ..Fake::default() };
        let ending = done(&mut fake, &settings, &noisy.0).unwrap();
        assert!(matches!(ending, Ending::Imprecise { widest: Some(widest) } if widest > 0.01), "{ending:?}");
        assert_eq!(read_run(&noisy.0).unwrap().1.len(), 12 * 8);
    }
}
