use std::time::Duration;

use measure::analysis::ratios;
use measure::record::{Design, Factor, Levels, PassPlace};
use measure::{paired, shuffled};

use super::planned::Planned;
use super::{Error, Experiment, Needs};

/// Every pass of every round, in its order.
#[derive(Debug, Clone)]
pub struct Schedule {
    contenders: String,
    combinations: Vec<Combination>,
    seed: u64,
    passes_per_round: u32,
}

/// Contenders that meet the same levels of all other factors.
#[derive(Debug, Clone)]
struct Combination {
    fixed: Levels,
    /// The reference is the first one, unless it does not exist here.
    contenders: Vec<String>,
    has_reference: bool,
    /// Whether the reference has one pass for all others.
    is_shared: bool,
}

impl Schedule {
    /// The passes of an experiment.
    ///
    /// # Errors
    /// [`Error::Design`] when the design names a factor or level that it does not have, or nothing is left to do.
    pub fn new(experiment: &dyn Experiment, seed: u64) -> Result<Schedule, Error> {
        let design = experiment.design();
        check(&design).map_err(|problem| Error::Design { name: design.name.clone(), problem })?;
        let is_contenders = |factor: &&Factor| factor.name == design.contenders;
        let contenders = design.factors.iter().find(is_contenders).map_or(&[][..], |factor| &factor.levels);
        let others: Vec<&Factor> = design.factors.iter().filter(|factor| !is_contenders(factor)).collect();
        let combinations: Vec<Combination> = product(&others)
            .into_iter()
            .map(|fixed| {
                let has = |level: &&String| experiment.has(&with(&fixed, &design.contenders, level));
                let present: Vec<String> = contenders.iter().filter(has).cloned().collect();
                let has_reference = present.first() == contenders.first();
                Combination { fixed, contenders: present, has_reference, is_shared: experiment.shares_reference() }
            })
            .filter(|combination| !combination.contenders.is_empty())
            .collect();
        let passes_per_round = combinations.iter().map(|combination| combination.turns(seed, 0).len() as u32).sum();
        if passes_per_round == 0 {
            return Err(Error::Design { name: design.name, problem: "no combination of levels exists".to_owned() });
        }
        Ok(Schedule { contenders: design.contenders, combinations, seed, passes_per_round })
    }

    /// How many passes each round has.
    pub fn passes_per_round(&self) -> u32 {
        self.passes_per_round
    }

    /// How many ratios its tables have, at most: some figures do not apply everywhere.
    pub fn ratios(&self, design: &Design) -> usize {
        let all = self.combinations.iter().flat_map(|combination| {
            combination.contenders.iter().map(|level| with(&combination.fixed, &self.contenders, level))
        });
        ratios(design, &all.collect::<Vec<Levels>>())
    }

    /// About how long so many rounds take.
    pub fn estimate(&self, needs: &Needs, rounds: u32) -> Duration {
        let passes = f64::from(self.passes_per_round) + self.warm_up().len() as f64;
        Duration::from_secs_f64(f64::from(rounds) * (needs.round_seconds + passes * needs.pass_seconds))
    }

    /// The passes of a round, which counts from 1.
    pub(super) fn round(&self, round: u32) -> Vec<Planned> {
        let mut passes = Vec::new();
        let mut position = (round - 1) * self.passes_per_round;
        for index in shuffled(self.seed, round.into(), self.combinations.len()) {
            let combination = &self.combinations[index];
            let number = u64::from(round) << u32::BITS | index as u64;
            for (contender, pair) in combination.turns(self.seed, number) {
                let levels = with(&combination.fixed, &self.contenders, contender);
                passes.push(Planned { levels, place: PassPlace { round, position, pair: pair.to_owned() } });
                position += 1;
            }
        }
        passes
    }

    /// At most so many passes of each contender, evenly among all combinations of the other levels: again and again
    /// where these are few. Contenders take turns.
    pub(super) fn sampled(&self, most: usize) -> Vec<Levels> {
        let count = self.combinations.len().max(1);
        let times = (most / count).max(1);
        let some = self.combinations.iter().step_by(count.div_ceil(most.max(1)));
        let passes: Vec<Levels> =
            some.flat_map(|one| one.contenders.iter().map(|level| with(&one.fixed, &self.contenders, level))).collect();
        passes.iter().cycle().take(passes.len() * times).cloned().collect()
    }

    /// The first pass of each contender, to warm it up.
    pub(super) fn warm_up(&self) -> Vec<Levels> {
        let Some(combination) = self.combinations.first() else { return Vec::new() };
        combination.contenders.iter().map(|level| with(&combination.fixed, &self.contenders, level)).collect()
    }
}

impl Combination {
    /// Contenders with the pair that their pass belongs to: one pair for all if the reference is shared. Without a
    /// reference, or without anybody else, each is a pair of its own.
    fn turns(&self, seed: u64, number: u64) -> Vec<(&str, &str)> {
        let name = |index: usize| self.contenders[index].as_str();
        let has_pairs = self.has_reference && self.contenders.len() > 1;
        if has_pairs && !self.is_shared {
            let turns = paired(seed, number, self.contenders.len());
            return turns.into_iter().map(|turn| (name(turn.contender), name(turn.pair))).collect();
        }
        let pair = |index| if has_pairs { name(0) } else { name(index) };
        shuffled(seed, number, self.contenders.len()).into_iter().map(|index| (name(index), pair(index))).collect()
    }
}

fn with(fixed: &Levels, factor: &str, level: &str) -> Levels {
    let mut levels = fixed.clone();
    levels.insert(factor.to_owned(), level.to_owned());
    levels
}

/// Every combination of levels; the last factor varies fastest.
fn product(factors: &[&Factor]) -> Vec<Levels> {
    factors.iter().fold(vec![Levels::new()], |combinations, factor| {
        let extend = |levels: &Levels| factor.levels.iter().map(|level| with(levels, &factor.name, level)).collect();
        combinations.iter().flat_map(|levels| -> Vec<Levels> { extend(levels) }).collect()
    })
}

/// Finds what a design names and does not have.
fn check(design: &Design) -> Result<(), String> {
    let has_level = |factor: &str, level: &str| {
        let found = design.factors.iter().find(|known| known.name == factor);
        match found.map(|known| known.levels.iter().any(|name| name == level)) {
            Some(true) => Ok(()),
            Some(false) => Err(format!("factor '{factor}' has no level '{level}'")),
            None => Err(format!("there is no factor '{factor}'")),
        }
    };
    if let Some(control) = &design.control {
        has_level(&design.contenders, control)?;
    }
    for table in &design.tables {
        has_level(&table.factor, &table.baseline)?;
        if !design.figures.iter().any(|figure| figure.name == table.figure) {
            return Err(format!("table '{}' has no figure '{}'", table.title, table.figure));
        }
        let named = table.document.iter().flat_map(|document| &document.levels).chain(&table.only);
        named.into_iter().try_for_each(|(factor, level)| has_level(factor, level))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::runner::tests::Fake;
    use super::*;

    fn schedule(fake: &Fake) -> Schedule {
        Schedule::new(fake, 1).unwrap()
    }

    #[test]
    fn contenders_are_sampled_equally_often_whether_there_are_few_combinations_or_many() {
        // The fake has two loads and three ways.
        for (most, passes) in [(1, 1), (2, 2), (5, 4), (6, 6)] {
            let sampled = schedule(&Fake::default()).sampled(most);
            for way in ["slow", "slow again", "fast"] {
                assert_eq!(sampled.iter().filter(|levels| levels["way"] == way).count(), passes, "{most}: {sampled:?}");
            }
        }
    }

    #[test]
    fn every_round_has_all_pairs_of_all_combinations_in_an_order_of_its_own() {
        let schedule = schedule(&Fake::default());
        let rounds: Vec<Vec<Planned>> = (1..=8).map(|round| schedule.round(round)).collect();
        // Two loads, and two pairs of three contenders each.
        assert!(rounds.iter().all(|round| round.len() == 8) && schedule.passes_per_round() == 8);
        let all: Vec<u32> = rounds.concat().iter().map(|planned| planned.place.position).collect();
        assert_eq!(all, (0..64).collect::<Vec<_>>());
        let orders: HashSet<Vec<String>> =
            rounds.iter().map(|round| round.iter().map(|planned| format!("{:?}", planned.levels)).collect()).collect();
        assert!(orders.len() > 6, "{orders:?}");
        for pair in rounds.concat().chunks(2) {
            assert_eq!(pair[0].place.pair, pair[1].place.pair);
            assert_eq!(pair[0].levels["load"], pair[1].levels["load"]);
            let ways: HashSet<&str> = pair.iter().map(|planned| planned.levels["way"].as_str()).collect();
            assert_eq!(ways, ["slow", pair[0].place.pair.as_str()].into());
        }
    }

    #[test]
    fn shared_reference_runs_once_in_each_block_and_in_one_pair_with_all_others() {
        let schedule = schedule(&Fake { shares_reference: true, ..Fake::default() });
        let round = schedule.round(1);
        // Two loads of three contenders each.
        assert_eq!(round.len(), 6);
        for block in round.chunks(3) {
            let ways: HashSet<&str> = block.iter().map(|planned| planned.levels["way"].as_str()).collect();
            assert_eq!(ways.len(), 3);
            assert!(block.iter().all(|planned| planned.place.pair == "slow"));
            assert!(block.iter().all(|planned| planned.levels["load"] == block[0].levels["load"]));
        }
    }

    #[test]
    fn ratios_are_those_of_all_combinations_but_the_baseline_and_the_control() {
        let fake = Fake::default();
        assert_eq!(schedule(&fake).ratios(&fake.design), 2);
        let without = Fake { missing: Some(("slow", "small")), ..Fake::default() };
        assert_eq!(schedule(&without).ratios(&without.design), 1);
    }

    #[test]
    fn contender_without_its_reference_runs_alone() {
        let schedule = schedule(&Fake { missing: Some(("slow", "small")), ..Fake::default() });
        let alone: Vec<Planned> =
            schedule.round(1).into_iter().filter(|planned| planned.levels["load"] == "small").collect();
        assert_eq!(alone.len(), 2);
        assert!(alone.iter().all(|planned| planned.place.pair == planned.levels["way"]));
    }

    #[test]
    fn design_that_names_what_it_does_not_have_is_refused() {
        let refused = |change: fn(&mut Design)| {
            let mut fake = Fake::default();
            change(&mut fake.design);
            Schedule::new(&fake, 1).unwrap_err().to_string()
        };
        assert!(refused(|design| design.control = Some("x".to_owned())).contains("'way' has no level 'x'"));
        assert!(refused(|design| design.tables[0].figure = "y".to_owned()).contains("no figure 'y'"));
        assert!(refused(|design| design.contenders = "z".to_owned()).contains("no factor 'z'"));
        assert!(refused(|design| design.factors[0].levels.clear()).contains("no combination"));
    }
}
