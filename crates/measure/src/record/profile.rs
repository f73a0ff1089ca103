use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where the servers of all contenders spent their processor time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profiles {
    /// How often a second samples were taken.
    pub samples_per_second: u32,
    /// In the order of the contenders; the reference is the first one.
    pub contenders: Vec<Profile>,
}

/// Where the server of one contender spent its processor time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The contender.
    pub contender: String,
    /// How many passes were sampled.
    pub passes: u32,
    /// Samples by stack: its functions with semicolons between them, the outermost first.
    #[serde(skip)]
    pub stacks: BTreeMap<String, u64>,
}

impl Profile {
    /// How many samples there are.
    pub fn samples(&self) -> u64 {
        self.stacks.values().sum()
    }

    /// The share of samples that were taken in each function itself, and not in what it called.
    pub fn shares(&self) -> BTreeMap<&str, f64> {
        let (mut shares, all) = (BTreeMap::new(), self.samples() as f64);
        for (stack, &count) in &self.stacks {
            let function = stack.rsplit(';').next().unwrap_or(stack);
            *shares.entry(function).or_default() += count as f64 / all;
        }
        shares
    }

    /// How the shares differ from those of another profile, the largest difference first.
    pub fn changes_from<'p>(&'p self, reference: &'p Profile) -> Vec<ShareChange<'p>> {
        let (before, after) = (reference.shares(), self.shares());
        let mut functions: Vec<&str> = before.keys().chain(after.keys()).copied().collect();
        functions.sort_unstable();
        functions.dedup();
        let share = |shares: &BTreeMap<&str, f64>, function| shares.get(function).copied().unwrap_or(0.0);
        let change =
            |function| ShareChange { function, before: share(&before, function), after: share(&after, function) };
        let mut changes: Vec<ShareChange<'_>> = functions.into_iter().map(change).collect();
        changes.sort_by(|one, other| other.difference().abs().total_cmp(&one.difference().abs()));
        changes
    }
}

/// The share of a function in two profiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareChange<'p> {
    /// The function.
    pub function: &'p str,
    /// Its share in the reference, 0 to 1.
    pub before: f64,
    /// Its share in the contender.
    pub after: f64,
}

impl ShareChange<'_> {
    /// By how much the share is greater.
    pub fn difference(&self) -> f64 {
        self.after - self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(stacks: &[(&str, u64)]) -> Profile {
        let stacks = stacks.iter().map(|&(stack, count)| (stack.to_owned(), count)).collect();
        Profile { contender: "c".to_owned(), passes: 1, stacks }
    }

    #[test]
    fn share_of_a_function_is_its_own_without_what_it_calls() {
        let profile = profile(&[("loop;read;copy", 6), ("loop;read", 1), ("loop;write;copy", 1)]);
        assert_eq!(profile.shares(), BTreeMap::from([("copy", 7.0 / 8.0), ("read", 1.0 / 8.0)]));
    }

    #[test]
    fn largest_change_comes_first_also_of_functions_that_one_side_lacks() {
        let (old, new) = (profile(&[("a;copy", 5), ("a;send", 5)]), profile(&[("a;send", 6), ("a;splice", 14)]));
        let changes = new.changes_from(&old);
        let found: Vec<(&str, f64)> =
            changes.iter().map(|change| (change.function, (change.difference() * 100.0).round())).collect();
        assert_eq!(found, [("splice", 70.0), ("copy", -50.0), ("send", -20.0)]);
    }
}
