//! How much each call may grow: what was recorded, and a little more.
//!
//! Bounds are ratios to the smallest size, so that a call may get cheaper or dearer at every size. `cargo xtask
//! instructions` bounds that.

use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::lines::{Spread, Subject};
use crate::callgrind::Cost;
use crate::{Failure, Outcome};

/// The file of the bounds, in the checkout.
const FILE: &str = "xtask/growth.json";

/// How much more than recorded is permitted.
#[derive(Debug, Clone, Copy)]
struct Tolerance {
    /// As a part of the recorded ratio.
    ratio: f64,
    system_calls: f64,
}

impl Tolerance {
    /// A call in twenty may make a system call, such as a write of a full buffer. Whether a loop sleeps before the next
    /// call comes differs from run to run.
    fn of(spread: Spread) -> Tolerance {
        match spread {
            Spread::Hash => Tolerance { ratio: 0.05, system_calls: 0.05 },
            Spread::RandomTree => Tolerance { ratio: 0.3, system_calls: 0.05 },
            Spread::Threads => Tolerance { ratio: 0.15, system_calls: 1.5 },
        }
    }
}

/// The growth from the smallest size to another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// The instructions, as a multiple of those at the smallest size.
    pub ratio: f64,
    /// The additional system calls.
    pub more_system_calls: f64,
}

/// A growth compared with its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    Within,
    /// The bound is too high now.
    Better,
    Worse,
    /// Nothing is recorded.
    Unknown,
}

/// What is recorded.
pub struct Bounds(Map<String, Value>);

impl Growth {
    /// No growth.
    const FLAT: Growth = Growth { ratio: 1.0, more_system_calls: 0.0 };

    /// The growth from the cost at the smallest size to another one. A call that costs nothing at the smallest size
    /// grows by each instruction.
    pub fn between(smallest: &Cost, cost: &Cost) -> Growth {
        Growth {
            ratio: cost.instructions / smallest.instructions.max(1.0),
            more_system_calls: cost.system_calls - smallest.system_calls,
        }
    }

    /// The most that is permitted where this growth is recorded.
    fn bound(&self, tolerance: Tolerance) -> Growth {
        Growth {
            ratio: self.ratio * (1.0 + tolerance.ratio),
            more_system_calls: self.more_system_calls + tolerance.system_calls,
        }
    }

    /// What is recorded of a growth: two digits, and never less than none.
    fn rounded(&self) -> Growth {
        let round = |number: f64| (number * 100.0).round() / 100.0;
        Growth {
            ratio: round(self.ratio).max(Growth::FLAT.ratio),
            more_system_calls: round(self.more_system_calls).max(Growth::FLAT.more_system_calls),
        }
    }

    fn judge(&self, recorded: &Growth, tolerance: Tolerance) -> Verdict {
        let bound = recorded.bound(tolerance);
        // A flat call cannot get better: one that costs less at a larger size has no lower bound.
        let (ratio, more) = (self.ratio.max(1.0), self.more_system_calls.max(0.0));
        if self.ratio > bound.ratio || self.more_system_calls > bound.more_system_calls {
            Verdict::Worse
        } else if ratio < recorded.ratio * (1.0 - tolerance.ratio)
            || more < recorded.more_system_calls - tolerance.system_calls
        {
            Verdict::Better
        } else {
            Verdict::Within
        }
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} times", self.ratio)?;
        // Sums of fractions are rarely exactly 0.
        if self.more_system_calls.abs() < 0.005 {
            return Ok(());
        }
        write!(f, " and {:+.2} system calls", self.more_system_calls)
    }
}

impl Verdict {
    /// The worse of two.
    pub fn and(self, other: Verdict) -> Verdict {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Within => 0,
            Verdict::Better => 1,
            Verdict::Unknown => 2,
            Verdict::Worse => 3,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }
}

impl Bounds {
    #[cfg(test)]
    pub fn empty() -> Bounds {
        Bounds(Map::new())
    }

    pub fn load(root: &Path) -> Outcome<Bounds> {
        let path = root.join(FILE);
        let text = fs::read_to_string(&path).map_err(|source| Failure::File { path: path.clone(), source })?;
        Ok(Bounds(serde_json::from_str(&text).map_err(|source| Failure::Bounds { file: FILE, source })?))
    }

    pub fn store(&self, root: &Path) -> Outcome {
        let path = root.join(FILE);
        let text = format!("{:#}\n", Value::Object(self.0.clone()));
        fs::write(&path, text).map_err(|source| Failure::File { path, source })
    }

    /// Keeps the growth at a size. Other sizes stay as they were.
    pub fn record(&mut self, subject: &Subject, size: usize, growth: &Growth) {
        let growth = growth.rounded();
        let recorded = json!({ "ratio": growth.ratio, "more_system_calls": growth.more_system_calls });
        let row = self.0.entry(subject.key()).or_insert_with(|| json!({}));
        if let Some(row) = row.as_object_mut() {
            row.insert(size.to_string(), recorded);
        }
    }

    /// The growth recorded at a size.
    pub fn recorded(&self, subject: &Subject, size: usize) -> Option<Growth> {
        let recorded = self.0.get(&subject.key())?.get(size.to_string())?;
        let number = |name| recorded.get(name).and_then(Value::as_f64);
        Some(Growth { ratio: number("ratio")?, more_system_calls: number("more_system_calls")? })
    }

    /// The most that is permitted at a size.
    pub fn bound(&self, subject: &Subject, size: usize) -> Option<Growth> {
        Some(self.recorded(subject, size)?.bound(Tolerance::of(subject.line.spread)))
    }

    /// The reason why a call grows, in words.
    pub fn why(&self, subject: &Subject) -> Option<&str> {
        self.0.get(&subject.key())?.get("why")?.as_str()
    }

    pub fn judge(&self, subject: &Subject, size: usize, growth: &Growth) -> Verdict {
        self.recorded(subject, size)
            .map_or(Verdict::Unknown, |recorded| growth.judge(&recorded, Tolerance::of(subject.line.spread)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::lines::DIMENSIONS;

    fn cost(instructions: f64, system_calls: f64) -> Cost {
        Cost { instructions, system_calls }
    }

    fn growth(ratio: f64, more_system_calls: f64) -> Growth {
        Growth { ratio, more_system_calls }
    }

    #[test]
    fn growth_is_a_ratio_of_instructions_and_a_difference_of_system_calls() {
        assert_eq!(Growth::between(&cost(2_000.0, 3.0), &cost(5_000.0, 4.5)), growth(2.5, 1.5));
        assert_eq!(Growth::between(&cost(0.0, 0.0), &cost(7.0, 0.0)), growth(7.0, 0.0));
    }

    #[test]
    fn flat_call_may_grow_by_the_tolerance_and_no_system_call() {
        assert_eq!(growth(1.049, 0.04).judge(&Growth::FLAT, Tolerance::of(Spread::Hash)), Verdict::Within);
        assert_eq!(growth(1.051, 0.0).judge(&Growth::FLAT, Tolerance::of(Spread::Hash)), Verdict::Worse);
        assert_eq!(growth(1.0, 0.06).judge(&Growth::FLAT, Tolerance::of(Spread::Hash)), Verdict::Worse);
        // Cheaper at the larger size is nothing to record.
        assert_eq!(growth(0.5, -2.0).judge(&Growth::FLAT, Tolerance::of(Spread::Hash)), Verdict::Within);
    }

    #[test]
    fn recorded_growth_is_permitted_and_its_end_reported() {
        let recorded = growth(30.0, 2.0);
        assert_eq!(growth(31.4, 2.0).judge(&recorded, Tolerance::of(Spread::Hash)), Verdict::Within);
        assert_eq!(growth(31.6, 2.0).judge(&recorded, Tolerance::of(Spread::Hash)), Verdict::Worse);
        assert_eq!(growth(28.0, 2.0).judge(&recorded, Tolerance::of(Spread::Hash)), Verdict::Better);
        assert_eq!(growth(30.0, 0.0).judge(&recorded, Tolerance::of(Spread::Hash)), Verdict::Better);
        // Fewer instructions do not make up for a system call.
        assert_eq!(growth(1.0, 3.0).judge(&recorded, Tolerance::of(Spread::Hash)), Verdict::Worse);
    }

    #[test]
    fn calls_over_sockets_may_differ_more() {
        assert_eq!(growth(1.1, 1.0).judge(&Growth::FLAT, Tolerance::of(Spread::Hash)), Verdict::Worse);
        assert_eq!(growth(1.1, 1.0).judge(&Growth::FLAT, Tolerance::of(Spread::Threads)), Verdict::Within);
        assert_eq!(growth(1.2, 0.0).judge(&Growth::FLAT, Tolerance::of(Spread::Threads)), Verdict::Worse);
    }

    #[test]
    fn what_is_recorded_is_judged_as_within() {
        let subject = DIMENSIONS[0].subjects().next().unwrap();
        let mut bounds = Bounds::empty();
        for (size, growth) in [(10, growth(0.7, -1.0)), (100, growth(1.234_5, 0.333))] {
            assert_eq!(bounds.judge(&subject, size, &growth), Verdict::Unknown);
            bounds.record(&subject, size, &growth);
            assert_eq!(bounds.judge(&subject, size, &growth), Verdict::Within);
        }
        assert_eq!(bounds.recorded(&subject, 10), Some(Growth::FLAT));
        assert_eq!(bounds.recorded(&subject, 100), Some(growth(1.23, 0.33)));
    }

    #[test]
    fn row_is_as_bad_as_its_worst_size() {
        assert_eq!(Verdict::Within.and(Verdict::Worse).and(Verdict::Better), Verdict::Worse);
        assert_eq!(Verdict::Within.and(Verdict::Better), Verdict::Better);
        assert_eq!(Verdict::Unknown.and(Verdict::Within), Verdict::Unknown);
    }
}
