//! A running server: the protocol programs of [`server`] on the sockets of [`net`].
//!
//! This is what a program uses that serves a file system of its own:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! let files = Arc::new(fs_mem::MemFs::new(fs_mem::MemOptions::default()));
//! let options = daemon::Options { listen: vec!["127.0.0.1:0".parse()?], ..daemon::Options::default() };
//! let daemon = daemon::Daemon::start(options, vec![daemon::export_to_this_machine("/files", files)])?;
//! println!("mount -t nfs -o vers=3,port={0},mountport={0} 127.0.0.1:/files /mnt", daemon.addresses()[0].port());
//! daemon.shutdown(Duration::from_secs(1));
//! daemon.wait();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod connections;
mod copiers;
mod courier;
mod daemon;
mod error;
mod grace_log;
mod key_file;
mod make_server;
mod options;
mod place;
mod portmap;
mod records;
mod registration;
mod reply_log;
mod service;
mod state_dir;
mod state_files;
#[allow(unsafe_code)]
mod sys;
mod upkeep;

pub use daemon::{Daemon, export_to_this_machine};
pub use error::{ReloadError, StartError};
pub use options::{BeforeRequests, Options, RpcbindMode};
pub use records::ClientRecordsError;
pub use reply_log::sync as sync_replies;
pub use server::{MadeBefore, ReadPlusMode};
pub use state_dir::{
    StateDirError, StateLock, check_dir as check_state_dir, default_dir as default_state_dir,
    is_in_use as is_state_dir_in_use, lock_dir as lock_state_dir, missing_files_at as missing_state_files,
};
pub use sys::check_stream;
