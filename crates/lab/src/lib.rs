//! The performance lab: workloads over Wharf's client, and what is measured of them.
//!
//! - [`agents`] has several hosts load a server in step.
//! - [`mod@bench`] reads and writes one file of a server in a chosen way and says how fast that went.
//! - [`engine`] runs an experiment: order, pairs, repeats, noise, and a folder that keeps every pass.
//! - [`experiments`] has the experiments: each declares what varies, and does one pass.
//! - [`contender`] starts the servers that take part.
//! - [`ceiling`] answers with next to no work: no server is faster.
//! - [`cache`] brings a server's file into memory or takes it out, and verifies that.
//! - [`disk`] is a disk that serves one request at a time.
//! - [`process`] reads what a process spent, from `/proc`.
//! - [`replay`] replays the NFS calls of a packet capture as a load.
//!
//! Nothing here formats: a result is a [`measure::record`].

pub mod agents;
pub mod bench;
mod bench_load;
pub mod cache;
pub mod ceiling;
mod cgroup;
pub mod contender;
mod data_file;
pub mod disk;
pub mod engine;
pub mod experiments;
mod file_load;
pub mod leftovers;
mod mounted;
mod perf;
pub mod process;
mod processors;
mod quota;
mod read_limit;
mod reads;
pub mod replay;
mod scratch;
mod servers;
#[allow(unsafe_code)]
mod sys;
mod tool;
mod volume;

pub use cgroup::GroupError;
pub use mounted::MountError;
pub use scratch::{Parent, ScratchError};
pub use tool::ToolError;
