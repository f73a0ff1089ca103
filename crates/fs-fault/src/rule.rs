use std::time::Duration;

use vfs::Name;

use crate::{Fault, Operation};

/// The calls that a rule applies to, counted from 1 among those that match it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// All of them.
    Always,
    /// That one only.
    Nth(u64),
    /// This one and all after it.
    From(u64),
    /// Each with this probability from 0 to 1.
    Chance(f64),
}

impl When {
    /// Whether the rule applies to call `number`; `salt` decides chances.
    pub(crate) fn applies(self, number: u64, salt: u64) -> bool {
        match self {
            When::Always => true,
            When::Nth(nth) => number == nth,
            When::From(first) => number >= first,
            When::Chance(probability) => fraction(salt, number) < probability,
        }
    }
}

/// A number from 0 to 1 that depends only on its arguments (SplitMix64), so that it can be computed again.
fn fraction(salt: u64, number: u64) -> f64 {
    let mut z = salt.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A fault, and the calls that it applies to.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The operation, or `None` for all of them.
    pub operation: Option<Operation>,
    /// The name of the call (of a rename, either name), or `None` for all.
    pub name: Option<Vec<u8>>,
    /// The matching calls that it applies to.
    pub when: When,
    /// What happens to them.
    pub fault: Fault,
}

impl Rule {
    /// The longest delay, so that a wrong unit does not look like a hanging server.
    pub const MAX_DELAY: Duration = Duration::from_secs(600);

    /// A rule for every call of `operation`.
    pub fn new(operation: Operation, fault: Fault) -> Rule {
        Rule { operation: Some(operation), name: None, when: When::Always, fault }
    }

    /// The same rule for the calls in `when`.
    pub fn when(self, when: When) -> Rule {
        Rule { when, ..self }
    }

    /// The same rule for calls with `name`.
    pub fn named(self, name: Name<'_>) -> Rule {
        Rule { name: Some(name.as_bytes().to_vec()), ..self }
    }

    /// Whether the rule matches this call.
    pub(crate) fn selects(&self, site: Site<'_>, may_block: bool) -> bool {
        // Rules for all operations have already seen a stable write as a write.
        let is_first = site.operation != Operation::StableWrite;
        let for_operation = self.operation.map_or(is_first, |operation| operation == site.operation);
        let for_name =
            self.name.as_deref().is_none_or(|name| site.names.iter().flatten().any(|n| n.as_bytes() == name));
        let for_thread = self.fault != Fault::WouldBlock || !may_block;
        for_operation && for_name && for_thread
    }

    /// The operations that the rule matches, as a set of bits.
    pub(crate) fn operations(&self) -> u32 {
        self.operation.map_or(u32::MAX, Operation::bit)
    }
}

/// A list of rules, and the seed of their random numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rules {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The rules, in the order in which they apply.
    pub list: Vec<Rule>,
}

impl Rules {
    /// The maximum number of rules in a text: each call checks all of them.
    pub const MAX_RULES: usize = 64;
}

impl From<Vec<Rule>> for Rules {
    fn from(list: Vec<Rule>) -> Self {
        Rules { seed: 0, list }
    }
}

/// The operation and names of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) operation: Operation,
    pub(crate) names: [Option<Name<'a>>; 2],
}

impl<'a> Site<'a> {
    pub(crate) fn new(operation: Operation) -> Site<'a> {
        Site { operation, names: [None, None] }
    }

    pub(crate) fn named(operation: Operation, name: Name<'a>) -> Site<'a> {
        Site { operation, names: [Some(name), None] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_comes_about_as_often_as_it_says() {
        let hits = (0..100_000).filter(|&number| When::Chance(0.01).applies(number, 3)).count();
        assert!((900..1100).contains(&hits), "{hits} of 100000");
        assert!((0..1000).all(|number| When::Chance(1.0).applies(number, 3) && !When::Chance(0.0).applies(number, 3)));
    }
}
