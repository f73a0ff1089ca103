use std::collections::BTreeMap;

use super::pairing::{ByRound, Found};
use crate::record::{Design, Levels, Measurement, Run};

/// The passes of a run by their levels, in the order of the design.
pub(super) struct Passes<'a> {
    run: &'a Run,
    groups: Vec<(&'a Levels, Vec<&'a Measurement>)>,
}

impl<'a> Passes<'a> {
    pub(super) fn new(run: &'a Run, measurements: &'a [Measurement]) -> Passes<'a> {
        let mut by_levels: BTreeMap<&Levels, Vec<&Measurement>> = BTreeMap::new();
        for pass in measurements {
            by_levels.entry(&pass.levels).or_default().push(pass);
        }
        let mut groups: Vec<_> = by_levels.into_iter().collect();
        groups.iter_mut().for_each(|(_, passes)| passes.sort_by_key(|pass| pass.place.position));
        groups.sort_by_cached_key(|(levels, _)| place_in(&run.design, levels));
        Passes { run, groups }
    }

    /// Each combination of levels with all its passes.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&'a Levels, &[&'a Measurement])> {
        self.groups.iter().map(|(levels, passes)| (*levels, passes.as_slice()))
    }

    /// Whether a combination can have a figure: some pass has it, or failed before it could.
    pub(super) fn may_have(&self, levels: &Levels, figure: &str) -> bool {
        let group = self.groups.iter().find(|(of, _)| *of == levels);
        group.is_some_and(|(_, passes)| may_have(passes, figure))
    }

    /// Whether a pass counts although it was disturbed.
    pub(super) fn is_disturbed(&self, pass: &Measurement) -> bool {
        !pass.is_repeated && pass.failure.is_none() && self.run.is_disturbed(&pass.disturbance)
    }

    /// The figures of a combination by round and pair.
    pub(super) fn figures(&self, levels: &Levels, figure: &str) -> ByRound<'a> {
        let mut rounds = ByRound::new();
        let group = self.groups.iter().find(|(of, _)| *of == levels);
        for pass in group.into_iter().flat_map(|(_, passes)| passes) {
            if let Some(value) = counted(pass, figure) {
                rounds
                    .entry(pass.place.round)
                    .or_default()
                    .insert(&pass.place.pair, Found { value, is_disturbed: self.is_disturbed(pass) });
            }
        }
        rounds
    }
}

/// Whether some of these passes has a figure, or failed before it could.
pub(super) fn may_have(passes: &[&Measurement], figure: &str) -> bool {
    passes.iter().any(|pass| pass.failure.is_some() || pass.figures.contains_key(figure))
}

/// The figure of a pass, if the pass succeeded and was not repeated.
pub(super) fn counted(pass: &Measurement, figure: &str) -> Option<f64> {
    let is_counted = !pass.is_repeated && pass.failure.is_none();
    is_counted.then(|| pass.figures.get(figure).copied()).flatten()
}

/// The position of a combination in tables: the last factor varies fastest.
fn place_in(design: &Design, levels: &Levels) -> Vec<usize> {
    let place = |factor: &crate::record::Factor| {
        let level = levels.get(&factor.name);
        factor.levels.iter().position(|one| Some(one) == level).unwrap_or(usize::MAX)
    };
    design.factors.iter().map(place).collect()
}
