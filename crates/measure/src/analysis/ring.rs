use super::{Results, Row};
use crate::record::{BeforeAfter, Levels};

/// Four combinations of the levels of two factors. The product of the ratios around the ring is 1 if all four are from
/// the same passes. A missing pass breaks this. So does a factor whose levels run in pairs, because each ratio uses
/// another pass of the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Ring {
    /// The levels farthest from both baselines.
    pub levels: Levels,
    /// The two factors.
    pub factors: [String; 2],
    /// The product of the ratios, minus 1.
    pub deviation: f64,
    /// Whether all four ratios are of pairs, so that it must be 0 unless a factor runs in pairs.
    pub is_of_pairs: bool,
}

/// All rings between tables that compare levels of different factors by the same figure. Uses ratios of medians where
/// ratios have no interval yet.
pub fn rings(results: &Results) -> Vec<Ring> {
    let tables = &results.tables;
    let pairs =
        tables.iter().enumerate().flat_map(|(index, one)| tables[index + 1..].iter().map(move |two| (one, two)));
    pairs.flat_map(|(one, two)| one.iter().filter_map(|row| ring(row, one, two))).collect()
}

/// The ring of a row of one table and a row of another.
fn ring(row: &Row, one: &[Row], two: &[Row]) -> Option<Ring> {
    let first = two.first().filter(|other| other.factor != row.factor && other.figure == row.figure)?;
    let at_baseline = |levels: &Levels, factor: &str, level: &str| {
        let mut changed = levels.clone();
        changed.insert(factor.to_owned(), level.to_owned());
        changed
    };
    let across = two.iter().find(|other| other.levels == row.levels)?;
    let back = one.iter().find(|other| other.levels == at_baseline(&row.levels, &first.factor, &first.baseline))?;
    let home = two.iter().find(|other| other.levels == at_baseline(&row.levels, &row.factor, &row.baseline))?;
    let product = ratio(home)? * ratio(row)? / (ratio(across)? * ratio(back)?);
    let factors = [row.factor.clone(), first.factor.clone()];
    let is_of_pairs = [home, row, across, back].iter().all(|row| row.comparison.is_ok());
    Some(Ring { levels: row.levels.clone(), factors, deviation: product - 1.0, is_of_pairs })
}

fn ratio(row: &Row) -> Option<f64> {
    let of_medians = || row.medians.map(BeforeAfter::ratio);
    row.comparison.ok().map(|found| found.ratio.value).or_else(of_medians)
}
