use super::{Change, Results};
use crate::record::Levels;
use crate::{Comparison, Error, Level, Limit, Outcome, Verdict, gate};

/// A limit of a figure, such as a bandwidth that must not fall by more than 3 %.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureLimit {
    /// The figure's name.
    pub figure: String,
    /// Its limit.
    pub limit: Limit,
}

/// A ratio of a figure that has a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Gated {
    /// The limit.
    pub limit: FigureLimit,
    /// The levels, with that of the candidate.
    pub levels: Levels,
    /// The ratio, or why there is none.
    pub comparison: Result<Comparison, Error>,
    /// Whether it fails.
    pub outcome: Outcome,
}

impl Results {
    /// The measured ratios of contenders that have one of these limits, judged together. Computed ones are left out.
    pub fn gated(&self, contenders: &str, limits: &[FigureLimit]) -> Vec<Gated> {
        let rows = self.tables.iter().flatten().filter(|row| row.factor == contenders);
        let rows: Vec<_> = rows.filter(|row| row.verdict != Verdict::Computed).collect();
        let ratios = || rows.iter().map(|row| (&row.figure, &row.levels, row.comparison));
        judged(limits.iter().flat_map(|limit| of_limit(limit, ratios())).collect(), self.level)
    }
}

/// The changes that have one of these limits, judged together.
pub fn gated_changes(changes: &[Change], limits: &[FigureLimit], level: Level) -> Vec<Gated> {
    let ratios = || changes.iter().map(|change| (&change.figure, &change.levels, change.comparison));
    judged(limits.iter().flat_map(|limit| of_limit(limit, ratios())).collect(), level)
}

/// The ratios of a limit's figure.
fn of_limit<'a>(
    limit: &'a FigureLimit,
    ratios: impl Iterator<Item = (&'a String, &'a Levels, Result<Comparison, Error>)> + 'a,
) -> impl Iterator<Item = Gated> + 'a {
    let of_figure = ratios.filter(|(figure, ..)| **figure == limit.figure);
    of_figure.map(|(_, levels, comparison)| Gated {
        limit: limit.clone(),
        levels: levels.clone(),
        comparison,
        outcome: Outcome::Undecided,
    })
}

fn judged(mut all: Vec<Gated>, level: Level) -> Vec<Gated> {
    let family: Vec<(Limit, Result<Comparison, Error>)> =
        all.iter().map(|gated| (gated.limit.limit, gated.comparison)).collect();
    for (gated, outcome) in all.iter_mut().zip(gate(&family, level)) {
        gated.outcome = outcome;
    }
    all
}
