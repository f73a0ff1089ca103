//! What each operation may cost: what was counted when it was last recorded, and a little more.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::count::{Counted, Subject};
use crate::callgrind::Cost;
use crate::{Failure, Outcome};

/// The file of the bounds, in the checkout.
const FILE: &str = "xtask/instructions.json";

/// By how much instructions may differ from what is recorded: what another C library or another layout of the program
/// does. The count itself repeats to less than one instruction per call, although every run has hash seeds of its own.
const TOLERANCE: f64 = 0.05;

/// By how much system calls may differ: more than recording rounds, less than one call in fifty makes.
const SYSTEM_CALLS_TOLERANCE: f64 = 0.015;

/// What is recorded.
pub struct Bounds(Map<String, Value>);

/// What a count is, compared with what is recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    Within,
    Better(Cost),
    Worse(Cost),
    /// Nothing is recorded.
    Unknown,
}

impl Bounds {
    pub fn load(root: &Path) -> Outcome<Bounds> {
        let path = root.join(FILE);
        let text = fs::read_to_string(&path).map_err(|source| Failure::File { path, source })?;
        Ok(Bounds(serde_json::from_str(&text).map_err(|source| Failure::Bounds { file: FILE, source })?))
    }

    pub fn store(&self, root: &Path) -> Outcome {
        let path = root.join(FILE);
        let text = format!("{:#}\n", Value::Object(self.0.clone()));
        fs::write(&path, text).map_err(|source| Failure::File { path, source })
    }

    /// Keeps what was counted; what was skipped stays as it was.
    pub fn record(&mut self, subject: &Subject, counted: &Counted) {
        match counted {
            Counted::Cost(cost) => {
                println!("instructions of {subject}: {cost}: recorded");
                let system_calls = (cost.system_calls * 100.0).round() / 100.0;
                let recorded =
                    json!({ "instructions": cost.instructions.round() as u64, "system_calls": system_calls });
                self.0.insert(subject.key(), recorded);
            }
            Counted::Skipped(why) => println!("skipped: instructions of {subject}: {why}"),
        }
    }

    pub fn judge(&self, subject: &Subject, cost: &Cost) -> Verdict {
        self.recorded(&subject.key()).map_or(Verdict::Unknown, |recorded| judge(cost, recorded))
    }

    fn recorded(&self, key: &str) -> Option<Cost> {
        let recorded = self.0.get(key)?;
        let number = |name| recorded.get(name).and_then(Value::as_f64);
        Some(Cost { instructions: number("instructions")?, system_calls: number("system_calls")? })
    }
}

fn judge(cost: &Cost, recorded: Cost) -> Verdict {
    let more = cost.instructions / recorded.instructions - 1.0;
    let more_calls = cost.system_calls - recorded.system_calls;
    if more > TOLERANCE || more_calls > SYSTEM_CALLS_TOLERANCE {
        Verdict::Worse(recorded)
    } else if more < -TOLERANCE || more_calls < -SYSTEM_CALLS_TOLERANCE {
        Verdict::Better(recorded)
    } else {
        Verdict::Within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(instructions: f64, system_calls: f64) -> Cost {
        Cost { instructions, system_calls }
    }

    #[test]
    fn a_little_more_is_allowed_and_a_system_call_is_not() {
        let recorded = cost(1000.0, 2.0);
        assert_eq!(judge(&cost(1049.0, 2.0), recorded), Verdict::Within);
        assert_eq!(judge(&cost(1051.0, 2.0), recorded), Verdict::Worse(recorded));
        assert_eq!(judge(&cost(1000.0, 3.0), recorded), Verdict::Worse(recorded));
    }

    #[test]
    fn count_that_recording_rounds_is_as_recorded() {
        // 995 and 1004 system calls of 1000 calls.
        for (counted, recorded) in [(0.995, 0.99), (0.995, 1.0), (1.004, 0.99), (1.004, 1.0), (1.005, 0.99)] {
            assert_eq!(judge(&cost(1000.0, counted), cost(1000.0, recorded)), Verdict::Within, "{counted} {recorded}");
        }
        assert_ne!(judge(&cost(1000.0, 1.02), cost(1000.0, 1.0)), Verdict::Within);
    }

    #[test]
    fn what_became_cheaper_is_told_so_that_it_stays_so() {
        let recorded = cost(1000.0, 2.0);
        assert_eq!(judge(&cost(951.0, 2.0), recorded), Verdict::Within);
        assert_eq!(judge(&cost(949.0, 2.0), recorded), Verdict::Better(recorded));
        assert_eq!(judge(&cost(1000.0, 1.0), recorded), Verdict::Better(recorded));
        // Fewer instructions do not make up for a system call.
        assert_eq!(judge(&cost(500.0, 3.0), recorded), Verdict::Worse(recorded));
    }
}
