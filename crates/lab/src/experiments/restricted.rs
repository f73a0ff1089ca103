//! A part of an experiment.

use std::collections::BTreeMap;
use std::str::FromStr;

use measure::record::{Design, Levels, Machine, PassPlace};

use crate::engine::{Error, Experiment, Figures, Needs, PassError};

/// Levels that are left in: the one of a factor with this name, or where there is none those that have the text in
/// their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only {
    /// The factor.
    pub factor: String,
    /// The text.
    pub text: String,
}

/// Why an experiment has no such part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OnlyError {
    /// The text is no choice.
    #[error("'{0}': FACTOR=TEXT is wanted, such as load=READ")]
    Text(String),
    /// There is no such factor.
    #[error("--only {factor}={text}: the experiment has no factor '{factor}'; it has {known}")]
    Factor {
        /// The factor.
        factor: String,
        /// The text.
        text: String,
        /// The factors that there are.
        known: String,
    },
    /// No level has the text.
    #[error("--only {factor}={text}: no level of '{factor}' has '{text}' in its name; they are {known}")]
    Level {
        /// The factor.
        factor: String,
        /// The text.
        text: String,
        /// The levels that there are.
        known: String,
    },
}

impl FromStr for Only {
    type Err = OnlyError;

    fn from_str(text: &str) -> Result<Only, OnlyError> {
        let parts = text.split_once('=').filter(|(factor, text)| !factor.is_empty() && !text.is_empty());
        let (factor, part) = parts.ok_or_else(|| OnlyError::Text(text.to_owned()))?;
        Ok(Only { factor: factor.to_owned(), text: part.to_owned() })
    }
}

struct Restricted {
    inner: Box<dyn Experiment>,
    only: Vec<Only>,
    /// By factor; factors that are not here have all of their levels.
    left_in: BTreeMap<String, Vec<String>>,
}

/// Leaves in what is named: of one factor what has any of its texts. The reference and its control always stay.
///
/// # Errors
/// [`OnlyError`] when there is no such factor or level.
pub fn restricted(mut inner: Box<dyn Experiment>, only: Vec<Only>) -> Result<Box<dyn Experiment>, OnlyError> {
    if only.is_empty() {
        return Ok(inner);
    }
    let design = inner.design();
    let mut left_in = BTreeMap::<String, Vec<String>>::new();
    for Only { factor, text } in &only {
        let (factor, text) = (factor.clone(), text.clone());
        let Some(known) = design.factors.iter().find(|known| known.name == factor) else {
            let known = design.factors.iter().map(|known| known.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(OnlyError::Factor { factor, text, known });
        };
        let is_meant = |level: &&String| match known.levels.contains(&text) {
            true => **level == text,
            false => level.contains(&text),
        };
        let levels: Vec<String> = known.levels.iter().filter(is_meant).cloned().collect();
        if levels.is_empty() {
            return Err(OnlyError::Level { factor, text, known: known.levels.join("; ") });
        }
        left_in.entry(factor).or_default().extend(levels);
    }
    let contenders = design.factors.iter().find(|factor| factor.name == design.contenders);
    if let (Some(contenders), Some(levels)) = (contenders, left_in.get_mut(&design.contenders)) {
        levels.extend(contenders.levels.first().cloned().into_iter().chain(design.control));
    }
    inner.leave_in(&left_in);
    Ok(Box::new(Restricted { inner, only, left_in }))
}

impl Experiment for Restricted {
    fn design(&self) -> Design {
        self.inner.design()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.inner.settings();
        for Only { factor, text } in &self.only {
            let texts = settings.entry(format!("only {factor}")).or_default();
            *texts = if texts.is_empty() { text.clone() } else { format!("{texts}; {text}") };
        }
        settings
    }

    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn has(&self, levels: &Levels) -> bool {
        let mut named = self.left_in.iter();
        self.inner.has(levels) && named.all(|(factor, left_in)| left_in.contains(&levels[factor]))
    }

    fn shares_reference(&self) -> bool {
        self.inner.shares_reference()
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        self.inner.refuses_servers()
    }

    fn refuses_builds(&self) -> Option<&'static str> {
        self.inner.refuses_builds()
    }

    fn describe(&self, machine: &mut Machine) {
        self.inner.describe(machine);
    }

    fn begin_round(&mut self, seed: u64) -> Result<(), Error> {
        self.inner.begin_round(seed)
    }

    fn pass(&mut self, levels: &Levels, place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        self.inner.pass(levels, place, seed)
    }

    fn processes(&self) -> Vec<u32> {
        self.inner.processes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Schedule;
    use crate::experiments::{Scale, find, tests::conditions};

    fn only(texts: &[&str]) -> Result<Box<dyn Experiment>, OnlyError> {
        let inner = (find("reply-path").unwrap().make)(&conditions(Scale::Usual)).unwrap();
        restricted(inner, texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?)
    }

    #[test]
    fn part_of_an_experiment_has_what_was_named_with_its_reference_and_control() {
        let passes = |texts: &[&str]| Schedule::new(only(texts).unwrap().as_ref(), 1).unwrap().passes_per_round();
        // How many loads there are depends on what the machine permits.
        assert!(passes(&["size=4k"]) >= 72 && passes(&[]) >= 162, "{}", passes(&[]));
        assert_eq!(passes(&["load=rite", "size=4k"]), 36);
        // A name of a level means that level, though others have it in theirs.
        assert_eq!(passes(&["load=read", "size=4k"]), 18);
        // The reference beside its control, and beside zero-copy.
        assert_eq!(passes(&["load=randread", "size=4k", "way=zero-copy"]), 4);
        assert_eq!(only(&["load=randread", "load=rw"]).err().unwrap().to_string().lines().count(), 1);
    }

    #[test]
    fn part_that_there_is_not_is_refused_with_what_there_is() {
        let refused = |text: &str| only(&[text]).err().unwrap().to_string();
        assert!(refused("lode=read").contains("it has load, size, way"));
        assert!(refused("load=reed").contains("they are read; randread; write; randwrite"));
        assert!(refused("load").contains("FACTOR=TEXT"));
    }
}
