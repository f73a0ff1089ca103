/// In which order `count` contenders have their turns in a round: one after the other, another one first in each round, so that what
/// else the machine does meets all of them.
pub fn rotation(round: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| (round + place) % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contender_that_is_first_changes_from_round_to_round_and_each_has_one_turn_in_each() {
        let rounds: Vec<Vec<usize>> = (0..4).map(|round| rotation(round, 3).collect()).collect();
        assert_eq!(rounds, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    }

    #[test]
    fn nobody_has_no_turn() {
        assert_eq!(rotation(7, 0).count(), 0);
    }
}
