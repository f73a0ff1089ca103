//! The performance lab: workloads over Wharf's client, and what is measured of them.
//!
//! - [`mod@bench`] reads and writes one file of a server in a chosen way and says how fast that went.
//! - [`process`] reads what a process spent, from `/proc`.
//!
//! Nothing here formats: a result is a [`report::JobSummary`].
#![forbid(unsafe_code)]

pub mod bench;
pub mod process;
