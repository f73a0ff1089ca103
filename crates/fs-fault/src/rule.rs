use std::time::Duration;

use vfs::Name;

use crate::{Fault, Operation};

/// Which of the calls that a rule selects it applies to; they are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// All of them.
    Always,
    /// That one only.
    Nth(u64),
    /// That one and all after it.
    From(u64),
    /// Each with this probability, from 0 to 1.
    Chance(f64),
}

impl When {
    /// Whether call `number` of the rule is meant; for chances, `salt` decides.
    pub(crate) fn applies(self, number: u64, salt: u64) -> bool {
        match self {
            When::Always => true,
            When::Nth(nth) => number == nth,
            When::From(first) => number >= first,
            When::Chance(probability) => fraction(salt, number) < probability,
        }
    }
}

/// A number from 0 to 1 that depends on nothing but its arguments (SplitMix64), so that it can be asked for twice.
fn fraction(salt: u64, number: u64) -> f64 {
    let mut z = salt.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// One fault, and the calls that it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The operation, or `None` for all of them.
    pub operation: Option<Operation>,
    /// The name that the call must be about (either name, of a rename), or `None` for all calls.
    pub name: Option<Vec<u8>>,
    /// Which of the calls that the above select.
    pub when: When,
    /// What happens to them.
    pub fault: Fault,
}

impl Rule {
    /// The longest delay, so that a slip of the unit does not look like a hanging server.
    pub const MAX_DELAY: Duration = Duration::from_secs(600);

    /// A rule for every call of `operation`.
    pub fn new(operation: Operation, fault: Fault) -> Rule {
        Rule { operation: Some(operation), name: None, when: When::Always, fault }
    }

    /// The same rule for the calls that `when` names.
    pub fn when(self, when: When) -> Rule {
        Rule { when, ..self }
    }

    /// The same rule for calls that are about `name`.
    pub fn named(self, name: Name<'_>) -> Rule {
        Rule { name: Some(name.as_bytes().to_vec()), ..self }
    }

    /// Whether the rule is for calls like this one.
    pub(crate) fn selects(&self, site: Site<'_>, may_block: bool) -> bool {
        // A stable write has met the rules for all operations as a write.
        let is_first = site.operation != Operation::StableWrite;
        let for_operation = self.operation.map_or(is_first, |operation| operation == site.operation);
        let for_name =
            self.name.as_deref().is_none_or(|name| site.names.iter().flatten().any(|n| n.as_bytes() == name));
        let for_thread = self.fault != Fault::WouldBlock || !may_block;
        for_operation && for_name && for_thread
    }

    /// The operations that the rule may be for, as a set of bits.
    pub(crate) fn operations(&self) -> u32 {
        self.operation.map_or(u32::MAX, Operation::bit)
    }
}

/// A list of rules, and the seed of their chances.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rules {
    /// What all chances follow from.
    pub seed: u64,
    /// The rules, in the order in which they apply.
    pub list: Vec<Rule>,
}

impl Rules {
    /// The most rules that a text may have: each call looks at all of them.
    pub const MAX_RULES: usize = 64;
}

impl From<Vec<Rule>> for Rules {
    fn from(list: Vec<Rule>) -> Self {
        Rules { seed: 0, list }
    }
}

/// What a call is about.
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
