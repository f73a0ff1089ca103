use std::collections::BTreeMap;

/// The figure of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    pub(super) value: f64,
    /// Whether the pass was disturbed, in its last try too.
    pub(super) is_disturbed: bool,
}

/// The figures of a combination by round and pair.
pub(super) type ByRound<'a> = BTreeMap<u32, BTreeMap<&'a str, Found>>;

/// The figures of two combinations in the rounds that have both, in the order of rounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Pairs {
    pub(super) baseline: Vec<f64>,
    pub(super) candidate: Vec<f64>,
    /// In how many rounds a pass of either was disturbed.
    pub(super) disturbed: usize,
}

impl Pairs {
    /// Takes the figures of a pair that both ran in. Several pairs of a round become one (their geometric mean),
    /// because a disturbance affects the whole round.
    pub(super) fn new(baseline: &ByRound<'_>, candidate: &ByRound<'_>) -> Pairs {
        let mut pairs = Pairs::default();
        for (round, base) in baseline {
            let Some(found) = candidate.get(round) else { continue };
            let has_shared = base.keys().any(|pair| found.contains_key(pair));
            let is_taken = |pair: &str| !has_shared || base.contains_key(pair) && found.contains_key(pair);
            let taken = |of: &BTreeMap<&str, Found>| -> Vec<Found> {
                of.iter().filter(|(pair, _)| is_taken(pair)).map(|(_, found)| *found).collect()
            };
            let [base, found] = [base, found].map(taken);
            pairs.disturbed += usize::from(base.iter().chain(&found).any(|one| one.is_disturbed));
            pairs.baseline.push(geometric_mean(&base));
            pairs.candidate.push(geometric_mean(&found));
        }
        pairs
    }

    /// The logarithms of the ratios.
    pub(super) fn logarithms(&self) -> Vec<f64> {
        self.baseline.iter().zip(&self.candidate).map(|(base, value)| (value / base).ln()).collect()
    }
}

/// The geometric mean of the figures of a round.
pub(super) fn geometric_mean(figures: &[Found]) -> f64 {
    match figures {
        [one] => one.value,
        several => (several.iter().map(|found| found.value.ln()).sum::<f64>() / several.len() as f64).exp(),
    }
}
