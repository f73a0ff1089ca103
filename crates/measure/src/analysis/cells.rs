use super::passes::{Passes, counted, may_have};
use crate::record::{Design, Levels, Measurement};
use crate::{Error, Samples};

/// One figure at one combination of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The levels.
    pub levels: Levels,
    /// The figure's name.
    pub figure: String,
    /// The figures in the order of the run, or the reason why there are none.
    pub samples: Result<Samples, Error>,
    /// The position of each figure in the run.
    pub positions: Vec<u32>,
    /// How many passes failed.
    pub failures: usize,
    /// How many passes count although they were disturbed, in their last try too.
    pub disturbed: usize,
    /// The number of disturbed passes that were repeated.
    pub repeated: usize,
}

/// Returns all figures of all combinations with passes.
pub(super) fn all(design: &Design, passes: &Passes<'_>) -> Vec<Cell> {
    let cells = passes.groups().flat_map(|(levels, group)| {
        let figures = design.figures.iter().filter(|figure| may_have(group, &figure.name));
        figures.map(|figure| cell(passes, levels, &figure.name, group)).collect::<Vec<Cell>>()
    });
    cells.collect()
}

fn cell(passes: &Passes<'_>, levels: &Levels, figure: &str, group: &[&Measurement]) -> Cell {
    let found = group.iter().filter_map(|pass| Some((pass.place.position, counted(pass, figure)?)));
    let (positions, values): (Vec<u32>, Vec<f64>) = found.unzip();
    Cell {
        levels: levels.clone(),
        figure: figure.to_owned(),
        samples: Samples::new(values),
        positions,
        failures: group.iter().filter(|pass| pass.failure.is_some() && !pass.is_repeated).count(),
        disturbed: group.iter().filter(|pass| passes.is_disturbed(pass)).count(),
        repeated: group.iter().filter(|pass| pass.is_repeated).count(),
    }
}
