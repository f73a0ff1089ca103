use std::str::FromStr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use vfs::{Context, Error, Result};

use crate::rule::Site;
use crate::{Fault, InjectedError, Operation, ParseError, Rule, Rules};

/// The current rules, and counters. All clones share them, so a clone can change the faults of a file system in use.
#[derive(Debug, Clone, Default)]
pub struct FaultPlan(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// The operations that any rule matches: calls of others take no lock.
    operations: AtomicU32,
    active: Mutex<Active>,
    calls: [AtomicU64; Operation::COUNT],
}

/// The current rules, each with the number of calls that matched it.
#[derive(Debug, Default)]
struct Active {
    seed: u64,
    rules: Vec<(Rule, u64)>,
    /// Counts replacements, so that a call does not undo counts of newer rules.
    generation: u64,
    injected: u64,
}

impl FaultPlan {
    /// A plan with these rules, for example a `Vec<Rule>`.
    pub fn new(rules: impl Into<Rules>) -> FaultPlan {
        let plan = FaultPlan::default();
        plan.replace(rules);
        plan
    }

    /// Replaces the rules from the next call on, and counts calls from 1 again. Without rules there are no faults.
    pub fn replace(&self, rules: impl Into<Rules>) {
        let rules = rules.into();
        let mut active = self.lock();
        let operations = rules.list.iter().fold(0, |set, rule| set | rule.operations());
        self.0.operations.store(operations, Ordering::Relaxed);
        active.seed = rules.seed;
        active.rules = rules.list.into_iter().map(|rule| (rule, 0)).collect();
        active.generation += 1;
    }

    /// The number of calls of `operation`, with and without faults. Calls that would have waited and were sent away are
    /// not counted.
    pub fn calls(&self, operation: Operation) -> u64 {
        self.0.calls[operation.index()].load(Ordering::Relaxed)
    }

    /// How many times a rule applied.
    pub fn injected(&self) -> u64 {
        self.lock().injected
    }

    /// Whether any rule matches `operation`.
    pub(crate) fn concerns(&self, operation: Operation) -> bool {
        self.0.operations.load(Ordering::Relaxed) & operation.bit() != 0
    }

    /// Performs a call under the rules; `call` gets its maximum number of bytes to write.
    pub(crate) fn run<T>(&self, cx: &Context<'_>, site: Site<'_>, call: impl FnOnce(usize) -> Result<T>) -> Result<T> {
        let verdict = if self.concerns(site.operation) { self.lock().judge(cx, site)? } else { Verdict::default() };
        std::thread::sleep(verdict.delay);
        let result = match verdict.error {
            Some(error) => Err(error.to_error()),
            None => call(verdict.limit_bytes),
        };
        if matches!(result, Err(Error::WouldBlock)) && !cx.may_block {
            self.lock().take_back(&verdict);
        } else {
            self.0.calls[site.operation.index()].fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, Active> {
        self.0.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FromStr for FaultPlan {
    type Err = ParseError;

    fn from_str(text: &str) -> std::result::Result<Self, ParseError> {
        text.parse::<Rules>().map(FaultPlan::new)
    }
}

/// The effect of the rules on one call.
#[derive(Debug)]
struct Verdict {
    delay: Duration,
    error: Option<InjectedError>,
    limit_bytes: usize,
    /// The rules that counted this call, and whether they applied.
    counted: Vec<(usize, bool)>,
    generation: u64,
}

impl Default for Verdict {
    fn default() -> Self {
        Verdict { delay: Duration::ZERO, error: None, limit_bytes: usize::MAX, counted: Vec::new(), generation: 0 }
    }
}

impl Verdict {
    fn add(&mut self, fault: Fault) {
        match fault {
            Fault::Error(error) => self.error = self.error.or(Some(error)),
            Fault::Delay(delay) => self.delay += delay,
            Fault::Short(bytes) => self.limit_bytes = self.limit_bytes.min(bytes.get()),
            Fault::WouldBlock => {}
        }
    }
}

impl Active {
    /// Decides about a call and counts it.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] for a call that would wait and may not. Only rules with this effect count it; others count
    /// the call when it is repeated.
    fn judge(&mut self, cx: &Context<'_>, site: Site<'_>) -> Result<Verdict> {
        let selected: Vec<usize> =
            (0..self.rules.len()).filter(|&index| self.rules[index].0.selects(site, cx.may_block)).collect();
        let (refusals, others): (Vec<usize>, Vec<usize>) =
            selected.into_iter().partition(|&index| self.rules[index].0.fault == Fault::WouldBlock);
        if self.count(&refusals).iter().any(|(_, applied)| *applied) {
            return Err(Error::WouldBlock);
        }
        if !cx.may_block && others.iter().any(|&index| self.would_delay(index)) {
            return Err(Error::WouldBlock);
        }
        let mut verdict = Verdict { counted: self.count(&others), generation: self.generation, ..Verdict::default() };
        for index in verdict.counted.clone().into_iter().filter_map(|(index, applied)| applied.then_some(index)) {
            verdict.add(self.rules[index].0.fault);
        }
        Ok(verdict)
    }

    /// Whether rule `index` would apply to the next call.
    fn would_apply(&self, index: usize) -> bool {
        let (rule, selected) = &self.rules[index];
        rule.when.applies(selected + 1, salt(self.seed, index))
    }

    fn would_delay(&self, index: usize) -> bool {
        matches!(self.rules[index].0.fault, Fault::Delay(_)) && self.would_apply(index)
    }

    /// Counts a call for these rules, and returns whether each applies.
    fn count(&mut self, indexes: &[usize]) -> Vec<(usize, bool)> {
        let counted: Vec<_> = indexes.iter().map(|&index| (index, self.would_apply(index))).collect();
        for (index, applies) in &counted {
            self.rules[*index].1 += 1;
            self.injected += u64::from(*applies);
        }
        counted
    }

    /// Undoes the count of a call that the file system itself sent away.
    fn take_back(&mut self, verdict: &Verdict) {
        if verdict.generation != self.generation {
            return;
        }
        for (index, applied) in &verdict.counted {
            self.rules[*index].1 -= 1;
            self.injected -= u64::from(*applied);
        }
    }
}

/// Makes the random numbers of two rules independent.
fn salt(seed: u64, index: usize) -> u64 {
    seed.wrapping_add(index as u64).wrapping_mul(0xd134_2543_de82_ef95)
}
