//! The arithmetic of measurements: nothing here reads a clock, a file or a socket, and nothing formats.
//!
//! - [`Histogram`] takes millions of latencies in bounded memory; [`Spread`] does without quantiles in a few bytes;
//!   [`Samples`] keeps a few figures of whole runs as they
//!   were measured.
//! - [`Interval`] says how well a mean or a median is known.
//! - [`Comparison`] says whether two ways to do something differ: only when the interval of their ratio clears 1.
//! - [`Outlier`]s are found so that they can be shown; nothing drops them.
//! - [`rotation`] says in which order those that are compared take turns.
//! - [`Work`] and [`CpuUse`] turn counts into rates and costs.
#![forbid(unsafe_code)]

mod comparison;
mod cpu;
mod error;
mod histogram;
mod interval;
mod outlier;
mod random;
mod rotation;
mod samples;
mod special;
mod spread;
mod student;
mod work;

pub use comparison::{Comparison, Estimate, Resampling, Verdict};
pub use cpu::CpuUse;
pub use error::Error;
pub use histogram::Histogram;
pub use interval::{Interval, Level, MedianInterval};
pub use outlier::{Outlier, Severity};
pub use rotation::rotation;
pub use samples::Samples;
pub use spread::Spread;
pub use student::t_quantile;
pub use work::Work;
