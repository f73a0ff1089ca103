//! Reading and writing one file of a server in a chosen way, or asking what else a server does with it.
//!
//! A [`Job`] says what to do; [`run()`] does it and returns a [`BenchResult`]. Connections are spread over as many
//! threads as this process may use processors, each with a runtime of its own; each connection has its queue depth of
//! operations in flight, and takes the next one as soon as one is over, or with a [`Rate`] when the next one is due.
//! What is measured starts and ends at the same moment everywhere.
//!
//! The files are those of an export, which is called without a mount, or of this machine, such as of a mounted export.
//!
//! ```no_run
//! use std::time::Duration;
//! use lab::bench::{End, Job, run};
//!
//! let url = "nfs://localhost:2049/export/file".parse().unwrap();
//! let end = End::After(Duration::from_secs(5));
//! let job = Job { workload: "randread".parse()?, depth: 64, end, ..Job::new(url) };
//! let outcome = run(&job)?;
//! println!("{} operations", outcome.summary.total().operations);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod arrivals;
mod block_split;
mod build;
mod distribution;
mod error;
mod export;
mod export_tree;
mod gate;
mod job;
pub(crate) mod lane;
mod lane_result;
mod leave;
mod local;
mod local_path;
mod local_tree;
mod metadata;
mod mix;
mod observer;
mod pattern;
mod payload;
pub(crate) mod permutation;
mod plan;
pub(crate) mod run;
mod schedule;
mod stop;
pub(crate) mod tally;
mod target;
pub(crate) mod timer;
mod unstable;
mod watch;
mod workload;

pub use arrivals::{Rate, RateError, Spacing};
pub use block_split::{BlockSplit, BlockSplitError};
pub use distribution::{Distribution, DistributionError};
pub use error::{Error, OperationError};
pub use gate::Gate;
pub use job::{End, Existing, Files, Job};
pub use local_path::LocalPath;
pub use observer::{Observer, Progress};
pub use run::{BenchResult, run};
pub use stop::Stop;
pub use workload::{BuildStep, Contents, Operation, Order, Workload, WorkloadError};
