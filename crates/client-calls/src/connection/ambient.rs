//! What connections take from their surroundings: the time, and randomness.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Instant;

/// The time of the runtime, whose clock tests can stop.
pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// A number that differs in each process and in each call; the keys come from the system's randomness.
pub fn random() -> u32 {
    RandomState::new().build_hasher().finish() as u32
}
