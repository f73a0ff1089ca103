use fastrand::Rng;

/// One run of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The contender; 0 is the reference.
    pub contender: usize,
    /// The contender of the pair: the reference runs once with each other contender.
    pub pair: usize,
}

/// The order of `count` contenders in a round: random, from the seed. In a fixed or rotated order, each would nearly
/// always follow the same one, and after-effects of that would look like a difference.
pub fn shuffled(seed: u64, round: u64, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    random(seed, round).shuffle(&mut order);
    order
}

/// The turns of a round in which each of `count` contenders runs in a pair with the first one, the reference. The order
/// of the pairs is random, and so is the order within each pair.
pub fn paired(seed: u64, round: u64, count: usize) -> Vec<Turn> {
    let mut random = random(seed, round);
    let mut pairs: Vec<usize> = (1..count).collect();
    random.shuffle(&mut pairs);
    let both = |pair| {
        let mut turns = [Turn { contender: 0, pair }, Turn { contender: pair, pair }];
        random.shuffle(&mut turns);
        turns
    };
    pairs.into_iter().flat_map(both).collect()
}

fn random(seed: u64, round: u64) -> Rng {
    // Seeded in two steps, so that the next round of this seed differs from the same round of the next seed.
    Rng::with_seed(Rng::with_seed(seed).u64(..) ^ round)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_has_one_turn_in_each_round_and_follows_everybody_before_long() {
        let mut followed = HashSet::new();
        for round in 0..60 {
            let order = shuffled(7, round, 4);
            followed.extend(order.windows(2).map(|pair| (pair[0], pair[1])));
            let all: HashSet<usize> = order.iter().copied().collect();
            assert_eq!((order.len(), all), (4, (0..4).collect()));
        }
        assert_eq!(followed.len(), 12);
        assert!(shuffled(7, 1, 0).is_empty());
    }

    #[test]
    fn order_follows_from_the_seed_and_the_round() {
        assert_eq!(shuffled(3, 4, 20), shuffled(3, 4, 20));
        assert_eq!(paired(3, 4, 20), paired(3, 4, 20));
        let others = [shuffled(3, 5, 20), shuffled(4, 4, 20), shuffled(4, 3, 20), shuffled(7, 0, 20)];
        let different: HashSet<Vec<usize>> = others.into_iter().chain([shuffled(3, 4, 20)]).collect();
        assert_eq!(different.len(), 5);
    }

    #[test]
    fn reference_runs_right_beside_each_contender_and_before_and_after_it_equally_often() {
        let mut first = [0; 4];
        for round in 0..200 {
            let turns = paired(1, round, 4);
            assert_eq!(turns.len(), 6);
            for pair in turns.chunks(2) {
                assert_eq!(pair[0].pair, pair[1].pair);
                let mut both = [pair[0].contender, pair[1].contender];
                first[pair[0].pair] += usize::from(both[0] == 0);
                both.sort_unstable();
                assert_eq!(both, [0, pair[0].pair]);
            }
            let pairs: HashSet<usize> = turns.iter().map(|turn| turn.pair).collect();
            assert_eq!(pairs, (1..4).collect());
        }
        assert!(first[1..].iter().all(|times| (70..130).contains(times)), "{first:?}");
        assert!(paired(1, 1, 1).is_empty() && paired(1, 1, 0).is_empty());
    }
}
