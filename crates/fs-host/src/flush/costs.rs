//! Which way to flush a batch is the cheaper one, by what both have taken before.

use std::time::Duration;

use super::choice::Choice;

/// A batch of one file has nothing to choose.
const MIN_FILES: usize = 2;

/// Batches are told apart by the power of two of how many files they have; the last one is for all that are larger.
const SIZES: usize = 8;

/// A measurement changes an average by this part of the difference.
const WEIGHT: f64 = 0.125;

/// How to flush a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// One file after the other.
    Each,
    /// The whole file system at once.
    All,
}

/// Moving averages of what batches took, each size and each way for itself.
#[derive(Debug)]
pub(super) struct Costs {
    sizes: [Choice; SIZES],
}

impl Default for Costs {
    fn default() -> Costs {
        Costs { sizes: [const { Choice::new(WEIGHT) }; SIZES] }
    }
}

impl Costs {
    /// How to flush so many files. The whole file system is never flushed unless `is_all_cheap` says that little of
    /// others has to be written out, whatever it took before.
    pub(super) fn choose(&mut self, files: usize, is_all_cheap: impl FnOnce() -> bool) -> Way {
        if files < MIN_FILES {
            return Way::Each;
        }
        let is_all = self.size(files).next() == Way::All as usize;
        if is_all && is_all_cheap() { Way::All } else { Way::Each }
    }

    /// Notes what a batch took.
    pub(super) fn note(&mut self, way: Way, files: usize, took: Duration) {
        self.size(files).note(way as usize, took);
    }

    fn size(&mut self, files: usize) -> &mut Choice {
        let size = files.max(1).ilog2() as usize;
        &mut self.sizes[size.min(SIZES - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::RETRY;
    use super::*;

    const SLOW: Duration = Duration::from_millis(10);
    const FAST: Duration = Duration::from_millis(1);

    fn measured(each: Duration, all: Duration) -> Costs {
        let mut costs = Costs::default();
        costs.note(Way::Each, 16, each);
        costs.note(Way::All, 16, all);
        costs
    }

    fn choices(costs: &mut Costs, count: usize) -> Vec<Way> {
        (0..count).map(|_| costs.choose(16, || true)).collect()
    }

    #[test]
    fn each_way_is_tried_before_one_is_preferred() {
        let mut costs = Costs::default();
        assert_eq!(costs.choose(16, || true), Way::Each);
        costs.note(Way::Each, 16, SLOW);
        assert_eq!(costs.choose(16, || true), Way::All);
        assert_eq!(costs.choose(2, || true), Way::Each, "what two files take is another matter");
    }

    #[test]
    fn cheaper_way_is_taken_and_the_other_one_tried_now_and_then() {
        for (each, all, cheaper) in [(SLOW, FAST, Way::All), (FAST, SLOW, Way::Each)] {
            let chosen = choices(&mut measured(each, all), 10 * RETRY as usize);
            let others = chosen.iter().filter(|way| **way != cheaper).count();
            assert_eq!(others, 10, "{cheaper:?}");
        }
    }

    #[test]
    fn averages_follow_what_has_changed() {
        let mut costs = measured(SLOW, FAST);
        (0..100).for_each(|_| costs.note(Way::All, 16, 10 * SLOW));
        assert_eq!(costs.choose(16, || true), Way::Each);
    }

    #[test]
    fn file_system_with_much_unwritten_data_of_others_is_never_flushed_as_a_whole() {
        let mut costs = measured(SLOW, FAST);
        assert!((0..200).all(|_| costs.choose(16, || false) == Way::Each));
    }

    #[test]
    fn one_file_is_flushed_alone_without_a_look_at_anything_else() {
        assert_eq!(measured(SLOW, FAST).choose(1, || panic!("nobody asks for one file")), Way::Each);
    }
}
