//! Statistics of a mount: calls and times of each procedure, hits and misses of each cache.

mod caches;
mod held_state;
mod histogram;
mod label;
mod procedure;
mod recorder;
mod snapshot;

pub use caches::{CacheCounters, HitsMisses};
pub use caches::{CacheRecorder, Recorder};
pub use held_state::HeldState;
pub use histogram::Histogram;
pub(crate) use histogram::nanoseconds;
pub(crate) use label::CompoundLabel;
pub use label::Label;
pub use procedure::Procedure;
pub(crate) use recorder::{Call, CallRecorder};
pub use snapshot::{OperationCounters, ProcedureStatistics, Statistics};
