use crate::record::Precision;
use crate::{Level, Samples, shuffled};

/// How often something is repeated until its figures are precise enough (netperf's `-i` and `-I`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeats {
    /// The minimum number of runs, at least 1.
    pub min: usize,
    /// The maximum number of runs.
    pub max: usize,
    /// The precision that ends it between them.
    pub wanted: Precision,
    /// The seed of the order of runs.
    pub seed: u64,
}

impl Precision {
    /// Whether intervals with this greatest half-width are precise enough. Nothing is, while one of them is missing.
    pub fn is_reached(&self, widest: Option<f64>) -> bool {
        widest.is_some_and(|widest| widest <= self.half_width)
    }
}

/// A figure of a run.
pub type FigureOf<O> = fn(&O) -> f64;

/// The mean of a figure over several runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesMean {
    /// The mean; not a number without runs.
    pub value: f64,
    /// Half of its interval, as a share of it; unknown after a single run.
    pub half_width: Option<f64>,
}

/// Runs of the same case.
#[derive(Debug)]
pub struct Series<C, O> {
    /// What all of them have in common.
    pub case: C,
    /// The figures that must be precise enough.
    pub deciding: Vec<FigureOf<O>>,
    /// The result of each run.
    pub outcomes: Vec<O>,
}

impl<C, O> Series<C, O> {
    /// A series without runs.
    pub fn new(case: C, deciding: &[FigureOf<O>]) -> Series<C, O> {
        Series { case, deciding: deciding.to_vec(), outcomes: Vec::new() }
    }

    /// The mean of one figure over all runs, with Student's interval.
    pub fn mean(&self, figure: FigureOf<O>, level: Level) -> SeriesMean {
        let Ok(samples) = Samples::new(self.outcomes.iter().map(figure).collect()) else {
            return SeriesMean { value: f64::NAN, half_width: None };
        };
        let (value, interval) = (samples.mean(), samples.mean_interval(level).ok());
        SeriesMean { value, half_width: interval.map(|interval| (interval.high - value) / value) }
    }

    /// Whether no further run is needed.
    pub fn is_done(&self, repeats: &Repeats) -> bool {
        let runs = self.outcomes.len();
        runs >= repeats.max || (runs >= repeats.min && self.is_precise(&repeats.wanted))
    }

    /// Whether every deciding figure is precise enough.
    pub fn is_precise(&self, wanted: &Precision) -> bool {
        let Ok(level) = Level::new(wanted.level) else { return false };
        self.deciding.iter().all(|figure| wanted.is_reached(self.mean(*figure, level).half_width))
    }
}

/// Runs each series until it is precise enough, in random order, so that a disturbance affects all of them. `run`
/// returns nothing after an interruption.
///
/// # Errors
/// Those of `run`.
pub fn repeat<C, O, E>(
    repeats: &Repeats,
    all: &mut [Series<C, O>],
    mut run: impl FnMut(&C) -> Result<Option<O>, E>,
) -> Result<(), E> {
    for round in 0..repeats.max {
        for place in shuffled(repeats.seed, round as u64, all.len()) {
            let series = &mut all[place];
            if !series.is_done(repeats) {
                series.outcomes.extend(run(&series.case)?);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Precision = Precision { level: 0.95, half_width: 0.05 };
    const REPEATS: Repeats = Repeats { min: 3, max: 10, wanted: WANTED, seed: 1 };
    const FIGURE: FigureOf<u32> = |outcome| f64::from(*outcome);

    fn series(outcomes: &[u32]) -> Series<(), u32> {
        Series { case: (), deciding: vec![FIGURE], outcomes: outcomes.to_vec() }
    }

    #[test]
    fn series_ends_when_it_is_precise_or_long_enough() {
        assert!(!series(&[100, 100]).is_done(&REPEATS));
        assert!(series(&[100, 101, 100]).is_done(&REPEATS));
        assert!(!series(&[100, 150, 50]).is_done(&REPEATS));
        assert!(series(&[100, 150, 50, 100, 150, 50, 100, 150, 50, 1]).is_done(&REPEATS));
        assert!(series(&[100]).is_done(&Repeats { min: 1, max: 1, ..REPEATS }));
    }

    #[test]
    fn interval_is_students_and_one_run_has_none() {
        let mean = series(&[90, 100, 110]).mean(FIGURE, Level::P95);
        // t of 2 degrees is 4.303, the deviation 10, its share of the mean 0.1.
        assert!((mean.half_width.unwrap() - 4.302_65 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-4, "{mean:?}");
        assert_eq!(series(&[90]).mean(FIGURE, Level::P95), SeriesMean { value: 90.0, half_width: None });
        assert!(series(&[]).mean(FIGURE, Level::P95).value.is_nan());
    }

    #[test]
    fn precision_is_reached_at_its_bound_and_not_where_an_interval_is_missing() {
        assert!(WANTED.is_reached(Some(0.05)) && !WANTED.is_reached(Some(0.0501)) && !WANTED.is_reached(None));
    }

    #[test]
    fn runs_end_when_the_user_wants_no_more() {
        let mut all = [series(&[]), series(&[])];
        let mut left = 5;
        let run = |(): &()| {
            left -= 1;
            Ok::<_, ()>((left >= 0).then_some(left as u32))
        };
        repeat(&REPEATS, &mut all, run).unwrap();
        assert_eq!(all.iter().map(|series| series.outcomes.len()).sum::<usize>(), 5);
    }
}
