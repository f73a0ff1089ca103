//! The lock manager and the status monitor, driven by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

#[path = "../caller/mod.rs"]
mod caller;

mod access;
mod host;
mod locks;
mod restarts;
mod shares;
mod waits;
