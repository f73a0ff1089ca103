//! In which order servers meet the loads of an experiment.

use measure::Turn;

/// Where a sample stands in its experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// In which round, from 1.
    pub round: u32,
    /// The how many-th sample of the experiment it is, from 0.
    pub position: u32,
    /// Beside which contender, by its number, it was measured.
    pub pair: usize,
}

/// Measures each load in each round by the turns that `order` gives for a number that no other load and round has; collects what
/// `measure_one` finds. The loads are shuffled in each round.
pub(crate) fn take_turns<L: Copy, S, E>(
    (rounds, seed): (u32, u64),
    loads: &[L],
    order: impl Fn(u64) -> Vec<Turn>,
    mut measure_one: impl FnMut(L, usize, Place) -> Result<S, E>,
) -> Result<Vec<S>, E> {
    let mut samples = Vec::new();
    for round in 1..=rounds {
        for load in measure::shuffled(seed, round.into(), loads.len()) {
            for Turn { contender, pair } in order(u64::from(round) << u32::BITS | load as u64) {
                let place = Place { round, position: samples.len() as u32, pair };
                samples.push(measure_one(loads[load], contender, place)?);
            }
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_load_has_all_turns_in_each_round_in_orders_that_change() {
        let order = |number| measure::paired(1, number, 5);
        let turns = take_turns((8, 1), &['a', 'b'], order, |load, server, place| Ok::<_, ()>((load, server, place)));
        let turns = turns.unwrap();
        assert_eq!(turns.len(), 8 * 2 * 8);
        assert!(turns.iter().zip(0..).all(|((.., place), position)| place.position == position));
        let orders: HashSet<Vec<(char, usize)>> =
            turns.chunks(16).map(|round| round.iter().map(|(load, server, _)| (*load, *server)).collect()).collect();
        assert_eq!(orders.len(), 8);
        for (load, pair) in [('a', 1), ('b', 4)] {
            let here = turns.iter().filter(|(of, _, place)| *of == load && place.pair == pair);
            assert_eq!(here.count(), 16);
        }
    }
}
