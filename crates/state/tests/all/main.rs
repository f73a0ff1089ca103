//! The tests of this crate, in one program that is linked once. A test that changes or measures its whole process is a
//! program of its own, beside this folder.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod client40;
mod client41;
mod crowds;
mod delegation;
mod grace;
mod held;
mod host_locks;
mod leased;
mod lock;
#[allow(dead_code, reason = "the unit tests use another part of it")]
mod nlm;
mod open;
mod recovery;
mod session;
mod simulation;
