use super::Agreement;
use super::pairing::Pairs;
use super::passes::Passes;
use crate::record::{BeforeAfter, Design, DocumentRatio, Factor, Levels, Run, TableKind};
use crate::{Comparison, Correlation, Error, Estimate, Level, Margin, Samples, Verdict};
use crate::{autocorrelation, judge, mann_whitney, ratio_of_means};

/// The fewest pairs whose deviation says something.
const MIN_FOR_DEVIATION: usize = 3;

/// One ratio: two levels of a factor, with all other levels the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The levels, with that of the candidate.
    pub levels: Levels,
    /// The figure's name.
    pub figure: String,
    /// The factor whose levels are compared.
    pub factor: String,
    /// The level that the candidate is divided by.
    pub baseline: String,
    /// The ratio, its interval and the number of pairs, or the reason why there is none. The interval of a computed
    /// ratio says nothing: see [`Row::measured`].
    pub comparison: Result<Comparison, Error>,
    /// The ratio of each pair, in the order of the rounds.
    pub pairs: Vec<f64>,
    /// The deviation of the logarithms of the pairs' ratios; none below three pairs.
    pub deviation: Option<f64>,
    /// In how many pairs a pass was disturbed.
    pub disturbed: usize,
    /// The verdict, corrected for the number of rows.
    pub verdict: Verdict,
    /// The medians of the baseline and of the candidate.
    pub medians: Option<BeforeAfter>,
    /// The ratio of the means, with its bootstrap interval.
    pub means: Option<Estimate>,
    /// The probability of such a difference in ranks without a difference, ignoring pairs.
    pub rank_chance: Option<f64>,
    /// The autocorrelation of the ratios over rounds.
    pub resemblance: Option<Correlation>,
    /// What the source has.
    pub document: Option<DocumentRatio>,
    /// Whether our ratio agrees with it.
    pub agreement: Option<Agreement>,
}

/// The rows of all tables, judged together.
pub(super) fn tables(run: &Run, passes: &Passes<'_>, margin: Margin, level: Level) -> Vec<Vec<Row>> {
    let rows =
        |table: &TableKind| rows_of(run, passes, table, level, |candidate| is_claim(&run.design, table, candidate));
    let mut tables: Vec<Vec<Row>> = run.design.tables.iter().map(rows).collect();
    settle(tables.iter_mut().flatten(), margin, level);
    tables
}

/// The control compared with the first contender, for each figure of a table.
pub(super) fn controls(run: &Run, passes: &Passes<'_>, margin: Margin, level: Level) -> Vec<Row> {
    let design = &run.design;
    let factor = design.factors.iter().find(|factor| factor.name == design.contenders);
    let (Some(control), Some(first)) = (&design.control, factor.and_then(|factor| factor.levels.first())) else {
        return Vec::new();
    };
    let mut figures: Vec<&str> = Vec::new();
    for table in &design.tables {
        if !figures.contains(&table.figure.as_str()) {
            figures.push(&table.figure);
        }
    }
    let table = |figure: &str| TableKind::new("", figure, &design.contenders, first);
    let rows =
        |figure| rows_of(run, passes, &table(figure), level, |levels| levels.get(&design.contenders) == Some(control));
    let mut controls: Vec<Row> = figures.into_iter().flat_map(rows).collect();
    settle(controls.iter_mut(), margin, level);
    controls
}

/// How many ratios the tables of a design have where these combinations exist.
pub fn ratios(design: &Design, combinations: &[Levels]) -> usize {
    let is_row = |table: &TableKind, levels: &Levels| {
        is_claim(design, table, levels)
            && !design.is_computed(levels)
            && combinations.contains(&baseline_levels(table, levels))
    };
    let rows = |table: &TableKind| combinations.iter().filter(|levels| is_row(table, levels)).count();
    design.tables.iter().map(rows).sum()
}

/// Whether a combination is a row of the table: neither the baseline itself nor the control.
fn is_claim(design: &Design, table: &TableKind, levels: &Levels) -> bool {
    let is_in = table.only.iter().all(|(factor, level)| levels.get(factor) == Some(level));
    let is_control = design.control.is_some() && levels.get(&design.contenders) == design.control.as_ref();
    is_in && !is_control && levels.get(&table.factor).is_some_and(|level| *level != table.baseline)
}

/// The rows of a table whose both sides can have the figure. A ratio that no number of rounds gives is no row: a run
/// that waits for its precision would never end.
fn rows_of(
    run: &Run,
    passes: &Passes<'_>,
    table: &TableKind,
    level: Level,
    is_row: impl Fn(&Levels) -> bool,
) -> Vec<Row> {
    let has_ratio = |levels: &Levels| {
        passes.may_have(levels, &table.figure) && passes.may_have(&baseline_levels(table, levels), &table.figure)
    };
    let candidates = passes.groups().map(|(levels, _)| levels).filter(|levels| is_row(levels) && has_ratio(levels));
    candidates.map(|levels| row(run, passes, table, level, levels)).collect()
}

/// The levels that a candidate is compared with.
fn baseline_levels(table: &TableKind, candidate: &Levels) -> Levels {
    let mut levels = candidate.clone();
    levels.insert(table.factor.clone(), table.baseline.clone());
    levels
}

fn row(run: &Run, passes: &Passes<'_>, table: &TableKind, level: Level, levels: &Levels) -> Row {
    let base_levels = baseline_levels(table, levels);
    let pairs = Pairs::new(&passes.figures(&base_levels, &table.figure), &passes.figures(levels, &table.figure));
    let (logarithms, Pairs { baseline, candidate, disturbed }) = (pairs.logarithms(), pairs);
    let comparison = Comparison::paired(&baseline, &candidate, level);
    let median = |values: &[f64]| Samples::new(values.to_vec()).ok().map(|samples| samples.median());
    let is_known = |known: &DocumentRatio| known.levels.iter().all(|(factor, level)| levels.get(factor) == Some(level));
    Row {
        levels: levels.clone(),
        figure: table.figure.clone(),
        factor: table.factor.clone(),
        baseline: table.baseline.clone(),
        comparison,
        pairs: logarithms.iter().map(|logarithm| logarithm.exp()).collect(),
        deviation: deviation(&logarithms),
        disturbed,
        verdict: if run.design.is_computed(levels) { Verdict::Computed } else { Verdict::Undecided },
        medians: median(&baseline).zip(median(&candidate)).map(|(before, after)| BeforeAfter { before, after }),
        means: ratio_of_means(&baseline, &candidate, level, run.seed).ok(),
        rank_chance: mann_whitney(&baseline, &candidate),
        resemblance: comparison.ok().and_then(|_| autocorrelation(&logarithms)),
        document: table.document.iter().find(|known| is_known(known)).cloned(),
        agreement: None,
    }
}

/// The deviation of logarithms, if there are enough of them to estimate it.
fn deviation(logarithms: &[f64]) -> Option<f64> {
    let samples = Samples::new(logarithms.to_vec()).ok()?;
    (samples.count() >= MIN_FOR_DEVIATION).then(|| samples.stdev())
}

/// Judges rows together, and compares them with their documents.
fn settle<'a>(rows: impl Iterator<Item = &'a mut Row>, margin: Margin, level: Level) {
    let mut rows: Vec<&mut Row> = rows.collect();
    let measured = || rows.iter().filter(|row| row.verdict != Verdict::Computed);
    let family: Vec<Result<Comparison, Error>> = measured().map(|row| row.comparison).collect();
    let mut verdicts = judge(&family, margin, level).into_iter();
    for row in &mut rows {
        if row.verdict != Verdict::Computed {
            row.verdict = verdicts.next().unwrap_or(Verdict::Undecided);
        }
        row.agreement = row.document.as_ref().map(|document| Agreement::of_row(row, document, margin));
    }
}

impl Row {
    /// The ratio with its interval, if it is of measured figures.
    pub fn measured(&self) -> Option<&Comparison> {
        self.comparison.as_ref().ok().filter(|_| self.verdict != Verdict::Computed)
    }

    /// The ratio, measured or computed.
    pub fn ratio(&self) -> Option<f64> {
        self.comparison.as_ref().ok().map(|found| found.ratio.value)
    }

    /// The candidate's level of the compared factor.
    pub fn candidate(&self) -> &str {
        self.levels.get(&self.factor).map_or("", String::as_str)
    }

    /// The levels of the other factors in the order of the design.
    pub fn others<'a>(&'a self, factors: &'a [Factor]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let others = factors.iter().filter(|factor| factor.name != self.factor);
        others.filter_map(|factor| Some((factor.name.as_str(), self.levels.get(&factor.name)?.as_str())))
    }
}
