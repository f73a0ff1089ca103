//! The arithmetic of measurements: nothing here reads a clock, a file or a socket, and nothing formats.
//!
//! - [`Histogram`] takes millions of latencies in bounded memory; [`Spread`] does without quantiles in a few bytes;
//!   [`Samples`] keeps a few figures of whole runs as they
//!   were measured.
//! - [`Interval`] says how well a mean or a median is known.
//! - [`Comparison`] says how two ways to do something differ; [`judge`] says what may be claimed of several that are made
//!   together.
//! - [`mann_whitney`], [`rank_correlation`] and [`autocorrelation`] look at the order of figures, [`dip`] at their peaks.
//! - [`Outlier`]s are found so that they can be shown; nothing drops them.
//! - [`shuffled`] and [`paired`] say in which order those that are compared take turns.
//! - [`record`] has the types that a run of an experiment is kept in, and [`analysis`] says what such a run found.
//! - [`Work`] and [`CpuUse`] turn counts into rates and costs; [`ProcessorTicks`] reads what a machine did.
#![forbid(unsafe_code)]

pub mod analysis;
mod bootstrap;
mod comparison;
mod cpu;
mod dip;
mod error;
mod family;
mod histogram;
mod interval;
mod normal;
mod order;
mod outlier;
mod processors;
mod rank;
pub mod record;
mod samples;
mod spread;
mod student;
mod work;

pub use bootstrap::ratio_of_means;
pub use comparison::{Comparison, Estimate, Verdict};
pub use cpu::CpuUse;
pub use dip::dip;
pub use error::Error;
pub use family::{Margin, judge};
pub use histogram::Histogram;
pub use interval::{Interval, Level, MedianInterval};
pub use order::{Turn, paired, shuffled};
pub use outlier::{Outlier, Severity};
pub use processors::ProcessorTicks;
pub use rank::{Correlation, autocorrelation, mann_whitney, rank_correlation};
pub use samples::Samples;
pub use spread::Spread;
pub use work::Work;
