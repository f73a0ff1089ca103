use super::cells::{self, Cell};
use super::passes::Passes;
use crate::family::holm;
use crate::record::{Better, Levels, Measurement, Run};
use crate::{Level, Samples, mann_whitney};

/// One figure at one combination of levels in two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The levels.
    pub levels: Levels,
    /// The figure's name.
    pub figure: String,
    /// The figures of the earlier run.
    pub old: Samples,
    /// The figures of the later run.
    pub new: Samples,
    /// The probability of such a difference in ranks without a change (Mann and Whitney).
    pub chance: f64,
    /// Whether a change may be claimed, corrected for the number of changes (Holm).
    pub is_sure: bool,
}

/// A run and its passes.
#[derive(Debug, Clone, Copy)]
pub struct RunPasses<'r> {
    /// The run.
    pub run: &'r Run,
    /// Its passes, in any order.
    pub passes: &'r [Measurement],
}

impl Change {
    /// The later median divided by the earlier one; none if that is 0.
    pub fn ratio(&self) -> Option<f64> {
        let ratio = self.new.median() / self.old.median();
        ratio.is_finite().then_some(ratio)
    }
}

/// Compares two runs by all figures that both have and that have a better direction. Passes of different runs are not
/// paired, so medians and ranks are compared.
pub fn changes(old: RunPasses<'_>, new: RunPasses<'_>, level: Level) -> Vec<Change> {
    let cells = |run: RunPasses<'_>| cells::all(&run.run.design, &Passes::new(run.run, run.passes));
    let (cells_old, cells_new) = (cells(old), cells(new));
    let figures = &new.run.design.figures;
    let is_judged =
        |cell: &&Cell| figures.iter().any(|kind| kind.name == cell.figure && kind.better != Better::Neither);
    let mut changes: Vec<Change> =
        cells_old.iter().filter(is_judged).filter_map(|old| change(old, &cells_new)).collect();
    let corrected = holm(&changes.iter().map(|change| change.chance).collect::<Vec<f64>>());
    for (change, chance) in changes.iter_mut().zip(corrected) {
        change.is_sure = chance <= level.miss();
    }
    changes
}

fn change(old: &Cell, all: &[Cell]) -> Option<Change> {
    let new = all.iter().find(|new| new.levels == old.levels && new.figure == old.figure)?;
    let (before, after) = (old.samples.as_ref().ok()?, new.samples.as_ref().ok()?);
    let chance = mann_whitney(before.measured(), after.measured())?;
    Some(Change {
        levels: old.levels.clone(),
        figure: old.figure.clone(),
        old: before.clone(),
        new: after.clone(),
        chance,
        is_sure: false,
    })
}
