//! Statistics of measurements. Nothing here reads a clock, a file or a socket, or formats.
//!
//! - [`Histogram`] counts millions of latencies in bounded memory. [`Spread`] needs only a few bytes, without
//!   quantiles. [`Samples`] keeps a few figures of whole runs.
//! - [`Interval`] is the confidence interval of a mean or a median.
//! - [`Comparison`] compares two alternatives; [`judge`] decides what may be claimed of several comparisons together.
//! - [`gate`] judges ratios by limits that they must not pass.
//! - [`detectable`] is the smallest difference that a number of pairs can show.
//! - [`mann_whitney`], [`rank_correlation`] and [`autocorrelation`] examine the order of figures, [`dip`] their peaks.
//! - [`change_points`] finds where a series of figures changes.
//! - [`Outlier`]s are found so that they can be shown; nothing drops them.
//! - [`repeat`] runs several [`Series`] until their means are precise enough.
//! - [`shuffled`] and [`paired`] determine the order of runs.
//! - [`record`] has the types of a recorded run of an experiment, and [`analysis`] evaluates it.
//! - [`Timeline`] counts rates and latencies over time, in [`Period`]s.
//! - [`Work`] and [`CpuUse`] turn counts into rates and costs; [`ProcessorTicks`] reads the use of a machine's
//!   processors.
#![forbid(unsafe_code)]

pub mod analysis;
mod bootstrap;
mod change_point;
mod comparison;
mod cpu;
mod dip;
mod error;
mod family;
mod gate;
mod histogram;
mod interval;
mod normal;
mod order;
mod outlier;
mod power;
mod processors;
mod rank;
pub mod record;
mod samples;
mod series;
mod spread;
mod student;
mod timeline;
mod work;

pub use bootstrap::ratio_of_means;
pub use change_point::{ChangePoint, change_points, fewest_for_change};
pub use comparison::{Comparison, Estimate, Verdict};
pub use cpu::CpuUse;
pub use dip::dip;
pub use error::Error;
pub use family::{Margin, judge};
pub use gate::{Limit, Outcome, Side, gate};
pub use histogram::Histogram;
pub use interval::{Interval, Level, MedianInterval};
pub use order::{Turn, paired, shuffled};
pub use outlier::{Outlier, Severity};
pub use power::{POWER, detectable};
pub use processors::ProcessorTicks;
pub use rank::{Correlation, autocorrelation, mann_whitney, rank_correlation};
pub use samples::Samples;
pub use series::{FigureOf, Repeats, Series, SeriesMean, repeat};
pub use spread::Spread;
pub use timeline::{Period, Timeline};
pub use work::Work;
