//! The tests of this crate, in one program that is linked once.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod agents;
mod bench;
mod replay;
