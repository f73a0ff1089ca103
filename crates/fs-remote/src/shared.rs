//! The state that the file system and its open files share.
//!
//! This file, `opens.rs` and `remote_file.rs` use each other: the state holds the open files, so that users share them,
//! and each open file reaches the state to close itself.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

use client_files::{Mount, PathLimits};
use tokio::sync::Semaphore;

use super::caller_runtime::Reactor;
use super::handles::Handles;
use super::lockers::Lockers;
use super::name_locks::NameLocks;
use super::opens::Opens;

/// The state that the file system and its open files share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) mount: Mount,
    pub(super) runtime: Reactor,
    pub(super) handles: Handles,
    pub(super) opens: Opens,
    pub(super) limits: OnceLock<PathLimits>,
    pub(super) locks: Lockers,
    pub(super) name_locks: NameLocks,
    /// Makes hidden names unique among clients; `hidden_names` counts those given.
    pub(super) name_seed: u64,
    pub(super) hidden_names: AtomicU32,
    /// Limits the hidden names whose removal is retried.
    pub(super) hidden_retries: Arc<Semaphore>,
}
