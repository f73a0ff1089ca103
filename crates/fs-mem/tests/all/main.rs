//! What `MemFs` promises.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attributes;
mod limits;
mod listing;
mod model;
mod names;
mod shell;
mod threads;
