//! Figures, levels, verdicts and warnings in words.

use std::fmt::Write;

use measure::analysis::{Agreement, Detectable, Results, Row, Warning};
use measure::record::{Baseline, BeforeAfter, Bound, Design, FigureKind, Levels, Run};
use measure::{Comparison, Correlation, Error, Estimate, Interval, Margin, Verdict};

/// What stands in a cell that has no value.
pub(super) const NONE: &str = "–";

/// A figure with four digits, as long as it has no more before its point.
pub(super) fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        ..0.001 => return format!("{value:.3e}"),
        ..10.0 => 3,
        ..100.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// The baseline's figure and the candidate's, in this order.
pub(super) fn before_after(figures: BeforeAfter) -> String {
    format!("{} → {}", figure(figures.before), figure(figures.after))
}

/// A figure beside an axis: without needless decimals.
pub(super) fn figure_short(value: f64) -> String {
    if value.abs() >= 10_000.0 { crate::units::count(value) } else { shortest(value) }
}

/// What stands between the names of levels.
pub(super) const BETWEEN_LEVELS: &str = " · ";

/// A ratio as a difference in percent, with its sign.
pub(super) fn percent(ratio: f64) -> String {
    let shown = format!("{:+.1}", (ratio - 1.0) * 100.0);
    if shown == "-0.0" { "+0.0".to_owned() } else { shown }
}

/// The ends of an interval of ratios in percent.
pub(super) fn percent_interval(interval: Interval) -> String {
    format!("{} … {}", percent(interval.low), percent(interval.high))
}

/// A ratio and its interval in percent.
pub(super) fn percent_estimate(estimate: Estimate) -> String {
    format!("{} [{}]", percent(estimate.value), percent_interval(estimate.interval))
}

/// A probability with three decimals.
pub(super) fn chance(chance: f64) -> String {
    if chance < 0.0005 { "< 0.001".to_owned() } else { format!("{chance:.3}") }
}

/// The levels of all factors but one, in the order of the design.
pub(super) fn levels(design: &Design, levels: &Levels, but: &str) -> String {
    let wanted = design.factors.iter().filter(|factor| factor.name != but);
    let shown: Vec<&str> = wanted.filter_map(|factor| levels.get(&factor.name).map(String::as_str)).collect();
    if shown.is_empty() { "all".to_owned() } else { shown.join(BETWEEN_LEVELS) }
}

/// Levels of some factors, with the factors' names.
pub(super) fn named_levels(levels: &Levels, factors: &[&str]) -> String {
    let named = factors.iter().filter_map(|name| Some(format!("{name} {}", levels.get(*name)?)));
    named.collect::<Vec<String>>().join(BETWEEN_LEVELS)
}

/// The factors that a table of rows has columns for: those with more than one level in it, but for the compared one.
pub(super) fn varying_factors<'a>(design: &'a Design, compared: &str, rows: &[Row]) -> Vec<&'a str> {
    let names = design.factors.iter().map(|factor| factor.name.as_str()).filter(|name| *name != compared);
    let varies = |name: &&str| rows.windows(2).any(|pair| pair[0].levels.get(*name) != pair[1].levels.get(*name));
    names.filter(varies).collect()
}

/// A latency in the largest unit in which it is at least 1: 850 ns, 61.2 µs, 1.5 ms, 90 s.
pub(super) fn latency(us: f64) -> String {
    let (value, unit) = match us {
        ..1.0 => (us * 1e3, "ns"),
        ..1e3 => (us, "µs"),
        ..1e6 => (us / 1e3, "ms"),
        _ => (us / 1e6, "s"),
    };
    let decimals = match value {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    let digits = format!("{value:.decimals$}");
    let short = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
    format!("{short} {unit}")
}

/// A figure's name with its unit.
pub(super) fn with_unit(design: &Design, name: &str) -> String {
    match kind(design, name).map(|kind| kind.unit.as_str()) {
        None | Some("") => name.to_owned(),
        Some(unit) => format!("{name}, {unit}"),
    }
}

pub(super) fn kind<'a>(design: &'a Design, name: &str) -> Option<&'a FigureKind> {
    design.figures.iter().find(|figure| figure.name == name)
}

/// What may be claimed of a row, or why there is no ratio.
pub(super) fn verdict(row: &Row, margin: Margin) -> String {
    judged(&row.comparison, row.verdict, margin)
}

/// What may be claimed of a comparison, or why there is no ratio.
pub(super) fn judged(comparison: &Result<Comparison, Error>, verdict: Verdict, margin: Margin) -> String {
    match (comparison, verdict) {
        (Err(error), _) => format!("no ratio: {error}"),
        (Ok(_), Verdict::Equal) => format!("equal within ±{} %", shortest(margin.get() * 100.0)),
        (Ok(_), Verdict::Computed) => "computed: no test".to_owned(),
        (Ok(_), verdict) => verdict.to_string(),
    }
}

/// What a goal is compared with.
pub(super) fn baseline(baseline: &Baseline) -> String {
    match baseline {
        Baseline::Contender(name) => name.clone(),
        Baseline::Levels(levels) => {
            let named = levels.iter().map(|(factor, level)| format!("{factor} {level}"));
            named.collect::<Vec<_>>().join(", ")
        }
    }
}

/// What a goal wants.
pub(super) fn bound(bound: Bound) -> String {
    match bound {
        Bound::AtLeast(least) => format!("≥ {}", shortest(least)),
        Bound::AtMost(most) => format!("≤ {}", shortest(most)),
        Bound::Drifts => "warning of drift".to_owned(),
        Bound::HasPeaks => "warning of several peaks".to_owned(),
    }
}

/// Whether the document's ratio lies inside our interval.
pub(super) fn agreement(row: &Row) -> String {
    let why = || row.document.as_ref().and_then(|document| document.not_compared.clone());
    match row.agreement {
        None => NONE.to_owned(),
        Some(Agreement::Inside) => "yes".to_owned(),
        Some(Agreement::Outside) => "no".to_owned(),
        Some(Agreement::TooWide) => "too wide to tell".to_owned(),
        Some(Agreement::NotCompared) => format!("not compared: {}", why().unwrap_or("computed".to_owned())),
    }
}

/// How many ratios of the source lie where.
pub(super) fn agreements(all: &[Agreement]) -> String {
    let count = |wanted: Agreement| all.iter().filter(|one| **one == wanted).count();
    format!(
        "Of {} of the source, {} inside our interval, {} outside, and {} too wide an interval to tell; {} not compared. \
         By chance, one interval in 20 misses the true ratio.",
        self::count(all.len(), "ratio", "ratios"),
        verb(count(Agreement::Inside), "lies", "lie"),
        verb(count(Agreement::Outside), "lies", "lie"),
        verb(count(Agreement::TooWide), "has", "have"),
        verb(count(Agreement::NotCompared), "is", "are"),
    )
}

/// A number with its verb.
fn verb(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// What a run can find.
pub(super) fn detectable(Detectable { median, most }: Detectable) -> String {
    let [median, most] = [median, most].map(|ratio| shortest(((ratio - 1.0) * 1000.0).round() / 10.0));
    format!(
        "Effects below ±{median} % are invisible in half of the rows, and below ±{most} % in the least precise one: they \
         are found in less than {} of 100 runs.",
        measure::POWER * 100.0
    )
}

/// In how many of a row's pairs a pass was disturbed. Too few pairs for a ratio are not counted.
pub(super) fn disturbed(disturbed: usize, pairs: usize) -> String {
    match (disturbed, pairs) {
        (0, _) => NONE.to_owned(),
        (_, 0) => disturbed.to_string(),
        _ => format!("{disturbed} of {pairs}"),
    }
}

/// A number without needless decimals: 2 % and 2.5 %.
pub(super) fn shortest(value: f64) -> String {
    format!("{:.3}", value).trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A moment as date and time (UTC).
pub(super) fn moment(ms: u64) -> String {
    let (days, seconds) = (ms / 86_400_000, ms / 1000 % 86_400);
    let (year, month, day) = date(days);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60)
}

/// The date that is so many days after 1970-01-01. Years begin in March here, so that the leap day is their last one.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// A warning as a sentence.
pub(super) fn warning(run: &Run, results: &Results, warning: &Warning) -> String {
    let at = |place: &Levels| levels(&run.design, place, "");
    match warning {
        Warning::Control { index } => control(run, &results.controls[*index]),
        Warning::Imprecise { wanted, widest } => {
            let half_width = shortest(wanted.half_width * 100.0);
            let found = widest.map_or("one has no interval".to_owned(), |widest| {
                format!("the widest interval is ±{} %", shortest(widest * 100.0))
            });
            format!("The precision of ±{half_width} % was not reached: {found}. Make more rounds.")
        }
        Warning::Drift { figure, levels, correlation } => {
            let place = levels.as_ref().map_or("the whole run".to_owned(), at);
            let way = if correlation.value > 0.0 { "rises" } else { "falls" };
            format!("Drift: {figure} {way} in the course of {place} ({}).", correlated(*correlation))
        }
        Warning::Resemblance { levels, figure, correlation } => format!(
            "Autocorrelation: the ratio of {figure} at {} resembles that of the round before ({}), so its interval is too \
             narrow.",
            at(levels),
            correlated(*correlation)
        ),
        Warning::Peaks { levels, figure } => match figure {
            Some(figure) => format!("Several peaks: passes at {} fall into groups of {figure}.", at(levels)),
            None => format!("Several peaks: operations at {} fall into groups of latency.", at(levels)),
        },
        Warning::Rings { factors: [one, other], count: rings, deviation } => format!(
            "Ring identities: {} of {one} and {other} not closed, by up to {} %. Passes are missing, so the ratios are \
             not from the same rounds.",
            if *rings == 1 { "1 ring is".to_owned() } else { format!("{rings} rings are") },
            shortest(deviation * 100.0)
        ),
        Warning::Failed { passes } => {
            format!("{} failed and {} left out.", count(*passes, "pass", "passes"), was(*passes))
        }
        Warning::Repeated { passes } => format!(
            "{} {} disturbed by other programs and made again: only the last try counts.",
            count(*passes, "pass", "passes"),
            was(*passes)
        ),
        Warning::Disturbed { passes, of } => format!(
            "{passes} of the {of} passes that count {} disturbed by other programs, in the last try too. Tables mark the \
             rows that have one; make the machine quieter and run again.",
            was(*passes)
        ),
    }
}

fn control(run: &Run, row: &Row) -> String {
    let mut text = format!(
        "The control differs: “{}” is “{}” once more, but its {} at {} is {}",
        row.candidate(),
        row.baseline,
        row.figure,
        levels(&run.design, &row.levels, &row.factor),
        row.verdict,
    );
    if let Ok(found) = &row.comparison {
        // Writing into a string does not fail.
        let _ = write!(text, " by {} %", percent_estimate(found.ratio));
    }
    text + ". Differences of this size are errors of the experiment."
}

fn correlated(correlation: Correlation) -> String {
    format!("correlation {:+.2}, p {}", correlation.value, chance(correlation.chance))
}

/// A number of things: `1 pass`, `2 passes`.
pub(super) fn count(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

fn was(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        let cases = [
            (0.0, "0"),
            (0.000_12, "1.200e-4"),
            (1.23456, "1.235"),
            (45.678, "45.68"),
            (-456.78, "-456.8"),
            (212_304.4, "212304"),
        ];
        for (value, expected) in cases {
            assert_eq!(figure(value), expected);
        }
    }

    #[test]
    fn latencies_are_in_the_unit_that_suits_them() {
        let cases = [(0.85, "850 ns"), (61.21, "61.2 µs"), (100.0, "100 µs"), (1500.0, "1.5 ms"), (9e7, "90 s")];
        for (us, expected) in cases {
            assert_eq!(latency(us), expected);
        }
    }

    #[test]
    fn pair_of_figures_goes_from_the_baseline_to_the_candidate() {
        assert_eq!(before_after(BeforeAfter { before: 77_752.0, after: 93_592.0 }), "77752 → 93592");
    }

    #[test]
    fn ratios_are_differences_in_percent() {
        assert_eq!([1.156, 1.0, 0.99999, 0.9, 2.45].map(percent), ["+15.6", "+0.0", "+0.0", "-10.0", "+145.0"]);
        assert_eq!([2.0, 2.5, 100.0].map(shortest), ["2", "2.5", "100"]);
        assert_eq!((chance(0.000_1), chance(0.04)), ("< 0.001".to_owned(), "0.040".to_owned()));
    }

    #[test]
    fn moments_are_dates_in_leap_years_too() {
        let cases = [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (1_395_747_104_000, "2014-03-25 11:31 UTC"),
            (4_107_542_399_000, "2100-02-28 23:59 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00 UTC"),
        ];
        for (ms, expected) in cases {
            assert_eq!(moment(ms), expected);
        }
    }
}
