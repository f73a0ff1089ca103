//! The engine of all experiments: order, pairs, repeats, noise, and a folder that keeps every pass as soon as it has
//! ended.
//!
//! An [`Experiment`] declares what varies, as a [`Design`](measure::record::Design), and does one pass. [`run()`] does
//! the rest:
//!
//! - In each round, all combinations of levels come in random order. Within one, each contender runs right before or
//!   after the reference, the first level of the contenders' factor.
//! - Servers start again for each round, and are warmed up: rounds with the same server processes would not be
//!   independent, and intervals of them too narrow.
//! - A pass that other programs disturbed is done again at once; both are kept.
//! - A pass that fails is kept with its reason; the others go on.
//! - [`profile()`] samples what servers do, in passes that do not count.
//! - Each pass is a line of `samples.jsonl` as soon as it has ended. A run that was stopped or killed resumes.

mod disturbance;
mod error;
mod event;
mod experiment;
mod folder;
mod machine;
mod planned;
mod precision;
mod profiles;
mod runner;
mod schedule;
mod settings;

pub use error::{Error, PassError};
pub use event::{Ending, Event};
pub use experiment::{Experiment, Figures, Needs};
pub use folder::{FolderError, RunFolder, keep_run, read_run};
pub use precision::Precision;
pub use profiles::{ProfileError, profile, read_profiles};
pub use runner::{head, run};
pub use schedule::Schedule;
pub use settings::{Bound, Settings};
