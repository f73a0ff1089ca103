//! What a mount counts: what its caches answered and what they had to ask for.

mod caches;

pub(crate) use caches::CacheRecorder;
pub use caches::{CacheCounters, HitsMisses};
