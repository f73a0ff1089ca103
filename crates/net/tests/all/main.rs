//! The tests of this crate, in one program that is linked once. A test that changes or measures its whole process is a
//! program of its own, beside this folder.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod budget;
mod busy_poll;
mod channel;
mod datagrams;
mod deferred;
mod delivery;
mod fairness;
mod files;
mod lifetime;
mod own_sending;
mod runs;
mod send_paths;
mod stream;
