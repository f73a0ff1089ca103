//! What the tests of several programs or crates share. Only tests, examples and benchmarks depend on this crate.
//!
//! A crate's integration tests use it though it depends on that crate. Unit tests cannot pass it types of their own
//! crate: a crate that is compiled for its unit tests is another one.

#![allow(missing_docs, reason = "names of helpers say what a test does")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]
#![allow(clippy::missing_panics_doc, clippy::new_without_default, clippy::should_implement_trait)]

#[cfg(feature = "server")]
pub mod caller;
#[cfg(feature = "server")]
pub mod compound;
#[cfg(feature = "disks")]
pub mod disks;
#[cfg(feature = "net")]
pub mod echo;
#[cfg(feature = "fs-host")]
pub mod host_export;
#[cfg(any(feature = "program", feature = "stable"))]
mod immutable;
#[cfg(feature = "stable")]
pub mod model;
pub mod naive_locks;
#[cfg(feature = "program")]
pub mod program;
mod random;
#[cfg(feature = "disks")]
mod rebooted;
mod scratch;
#[cfg(feature = "server")]
pub mod session;
#[cfg(feature = "disks")]
pub mod stable_changes;
#[cfg(feature = "measure")]
pub mod synthetic;
mod waiting;
#[cfg(feature = "state")]
pub mod world;

#[cfg(any(feature = "program", feature = "stable"))]
pub use immutable::Immutable;
pub use random::Random;
#[cfg(feature = "disks")]
pub use rebooted::Rebooted;
pub use scratch::{Scratch, private_dir};
pub use waiting::{PATIENCE, wait_until};
