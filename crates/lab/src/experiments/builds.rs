//! Builds of Wharf that are compared under the loads of another experiment, within one run.
//!
//! Each build does the experiment by itself, with servers and files of its own; so does the control, which is the first
//! build once more. What the experiment compares becomes one more factor, without its own control.

use std::collections::BTreeMap;

use measure::record::{Better, Design, Factor, Levels, Machine, PassPlace, TableKind};

use super::Conditions;
use super::contenders::CONTROL;
use crate::contender::Build;
use crate::engine::{Error, Experiment, Figures, Needs, PassError};

/// The factor whose levels are the builds.
const BUILD: &str = "build";

struct Builds {
    /// The experiment of the first build, of its control, and of the others.
    each: Vec<One>,
    /// What the experiment compares: its factor, and those levels that are left out.
    inner: Design,
    /// Factors with one level, which the design leaves out.
    fixed: Levels,
}

struct One {
    build: Build,
    experiment: Box<dyn Experiment>,
}

/// The experiment that `make` makes, with builds as what is compared; as it is where there are none.
///
/// # Errors
/// Those of `make`.
pub fn with_builds<E>(
    builds: &[Build],
    conditions: &Conditions,
    make: impl Fn(&Conditions) -> Result<Box<dyn Experiment>, E>,
) -> Result<Box<dyn Experiment>, E> {
    let Some(first) = builds.first() else { return make(conditions) };
    let control = Build { name: format!("{}{CONTROL}", first.name), ..first.clone() };
    let one = |build: &Build| {
        let conditions = Conditions { server_program: build.program.clone(), ..conditions.clone() };
        Ok(One { build: build.clone(), experiment: make(&conditions)? })
    };
    let each = [first, &control].into_iter().chain(&builds[1..]).map(one).collect::<Result<Vec<One>, E>>()?;
    let inner = each[0].experiment.design();
    let factors = inner.factors.iter().map(|factor| (factor, levels(&inner, factor)));
    let fixed = factors
        .filter(|(_, levels)| levels.len() == 1)
        .map(|(factor, levels)| (factor.name.clone(), levels[0].clone()));
    let fixed = fixed.collect();
    Ok(Box::new(Builds { each, inner, fixed }))
}

/// The levels of a factor of the experiment, without its control.
fn levels(inner: &Design, factor: &Factor) -> Vec<String> {
    let is_control = |level: &&String| factor.name == inner.contenders && inner.control.as_ref() == Some(level);
    factor.levels.iter().filter(|level| !is_control(level)).cloned().collect()
}

impl Builds {
    fn first(&self) -> &dyn Experiment {
        self.each[0].experiment.as_ref()
    }

    /// The levels of the experiment itself.
    fn inner_levels(&self, levels: &Levels) -> Levels {
        let own = levels.iter().filter(|(factor, _)| *factor != BUILD).chain(&self.fixed);
        own.map(|(factor, level)| (factor.clone(), level.clone())).collect()
    }

    /// A table of each figure that the experiment compares.
    fn tables(&self) -> Vec<TableKind> {
        let is_compared = |figure: &str| self.inner.tables.iter().any(|table| table.figure == figure);
        let figures =
            self.inner.figures.iter().filter(|figure| figure.better != Better::Neither && is_compared(&figure.name));
        figures.map(|figure| TableKind::new(&figure.name, &figure.name, BUILD, &self.each[0].build.name)).collect()
    }
}

impl Experiment for Builds {
    fn design(&self) -> Design {
        let Design { name, factors, figures, curves, skipped, .. } = self.inner.clone();
        let own = factors.iter().filter(|factor| !self.fixed.contains_key(&factor.name));
        let own = own.map(|factor| Factor { levels: levels(&self.inner, factor), ..factor.clone() });
        let builds = Factor::new(BUILD, self.each.iter().map(|one| one.build.name.clone()).collect());
        Design {
            question: format!("How do builds of Wharf differ under the loads of {name}?"),
            source: None,
            factors: own.chain([builds]).collect(),
            contenders: BUILD.to_owned(),
            control: Some(self.each[1].build.name.clone()),
            tables: self.tables(),
            curves: curves.into_iter().filter(|curve| !self.fixed.contains_key(&curve.factor)).collect(),
            goals: Vec::new(),
            differences: Vec::new(),
            name,
            figures,
            skipped,
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let program = |one: &One| (format!("program of {}", one.build.name), one.build.program.display().to_string());
        self.first().settings().into_iter().chain(self.each.iter().map(program)).collect()
    }

    fn needs(&self) -> Needs {
        let one = self.first().needs();
        let count = self.each.len();
        Needs { round_seconds: one.round_seconds * count as f64, space_bytes: one.space_bytes * count as u64, ..one }
    }

    fn has(&self, levels: &Levels) -> bool {
        self.first().has(&self.inner_levels(levels))
    }

    fn leave_in(&mut self, levels: &BTreeMap<String, Vec<String>>) {
        self.each.iter_mut().for_each(|one| one.experiment.leave_in(levels));
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        Some("it compares builds of Wharf")
    }

    fn refuses_builds(&self) -> Option<&'static str> {
        self.first().refuses_builds()
    }

    fn describe(&self, machine: &mut Machine) {
        self.first().describe(machine);
    }

    fn begin_round(&mut self, seed: u64) -> Result<(), Error> {
        self.each.iter_mut().try_for_each(|one| one.experiment.begin_round(seed))?;
        if let Some(rate) = self.first().reference_rate() {
            self.each.iter_mut().for_each(|one| one.experiment.set_reference_rate(rate));
        }
        Ok(())
    }

    fn pass(&mut self, levels: &Levels, place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let inner = self.inner_levels(levels);
        let one = self.each.iter_mut().find(|one| one.build.name == levels[BUILD]);
        one.ok_or_else(|| NoBuild(levels[BUILD].clone()))?.experiment.pass(&inner, place, seed)
    }

    fn processes(&self) -> Vec<u32> {
        self.each.iter().flat_map(|one| one.experiment.processes()).collect()
    }
}

/// A pass has a build that does not take part.
#[derive(Debug, thiserror::Error)]
#[error("no build '{0}' takes part")]
struct NoBuild(String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Schedule;
    use crate::experiments::{ALL, Scale, find, restricted, tests::conditions};

    fn builds() -> Vec<Build> {
        ["old=/bin/true", "new=/bin/false"].map(|text| text.parse().unwrap()).to_vec()
    }

    fn compared(name: &str) -> Box<dyn Experiment> {
        with_builds(&builds(), &conditions(Scale::Quick), find(name).unwrap().make).unwrap()
    }

    #[test]
    fn every_experiment_compares_builds_with_a_control_unless_it_says_why_not() {
        for kind in ALL {
            let experiment = compared(kind.name);
            let is_refused = ["segments", "truth"].contains(&kind.name);
            assert_eq!(experiment.refuses_builds().is_some(), is_refused, "{}", kind.name);
            if is_refused {
                continue;
            }
            let design = experiment.design();
            assert_eq!(design.factors.last().unwrap().levels, ["old", "old, again (A/A)", "new"], "{}", kind.name);
            assert_eq!((design.control.as_deref(), design.source), (Some("old, again (A/A)"), None));
            assert!(!design.tables.is_empty() && design.tables.iter().all(|table| table.baseline == "old"));
            assert!(Schedule::new(experiment.as_ref(), 1).unwrap().passes_per_round() > 0);
        }
    }

    #[test]
    fn what_an_experiment_compares_is_a_factor_without_its_control() {
        let design = compared("handle-cache").design();
        let cache = design.factors.iter().find(|factor| factor.name == "cache").unwrap();
        assert_eq!(cache.levels, ["off", "on"]);
        // Where it compares nothing but a server with itself, there is no such factor.
        assert!(compared("mix").design().factors.iter().all(|factor| factor.name != "server"));
    }

    #[test]
    fn part_of_an_experiment_has_all_builds() {
        let only = ["cache=on", "processes=4"].map(|text| text.parse().unwrap()).to_vec();
        let part = restricted(compared("handle-cache"), only).unwrap();
        // Two opens, and two pairs of two builds each.
        assert_eq!(Schedule::new(part.as_ref(), 1).unwrap().passes_per_round(), 8);
    }
}
