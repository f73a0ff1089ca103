/// Why a computation is not possible.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Error {
    /// There are too few figures.
    #[error("{got} of {needed} samples that are needed")]
    TooFew {
        /// How many there are.
        got: usize,
        /// How many there have to be.
        needed: usize,
    },
    /// A figure is infinite or not a number.
    #[error("sample {index} is {value}, which is no finite number")]
    NotFinite {
        /// Where it is, from 0.
        index: usize,
        /// What it is.
        value: f64,
    },
    /// A divisor, or a figure whose logarithm is taken, is not above 0.
    #[error("sample {index} is {value}: only figures above 0 have a ratio")]
    NotPositive {
        /// Where it is, from 0.
        index: usize,
        /// What it is.
        value: f64,
    },
    /// Two paired series have different lengths.
    #[error("{baseline} and {candidate} samples do not make pairs")]
    Unpaired {
        /// The length of the one.
        baseline: usize,
        /// The length of the other.
        candidate: usize,
    },
    /// A level of confidence is not between 0 and 1.
    #[error("{0} is not a level of confidence between 0 and 1")]
    Level(f64),
    /// A margin of equality is not between 0 and 1.
    #[error("{0} is not a margin between 0 and 1: 0.02 stands for 2 %")]
    Margin(f64),
}
