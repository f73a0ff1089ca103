//! The performance lab: workloads over Wharf's client, and what is measured of them.
//!
//! - [`mod@bench`] reads and writes one file of a server in a chosen way and says how fast that went.
//! - [`reply_path`] holds ways to build and send the replies to READ against each other.
//! - [`read_ahead`] reads files on disk that are not in memory, with several readers and in several orders.
//! - [`process`] reads what a process spent, from `/proc`.
//!
//! Nothing here formats: a result is a [`report::JobSummary`], or samples.
#![forbid(unsafe_code)]

pub mod bench;
mod data_file;
pub mod process;
pub mod read_ahead;
pub mod reply_path;
mod server;
mod turns;

pub use server::StartError;
pub use turns::Place;
