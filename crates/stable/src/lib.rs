//! Stable writes at the speed of a log.
//!
//! A [`StableFs`] is a file system whose stable writes and changes of names and attributes are acknowledged when the
//! [`WriteLog`] has them. They are flushed to storage later, and replayed after a power failure.
//!
//! Below it is a log of records on stable storage: many writers share each durable write.
//! [`Log`] keeps byte records in a preallocated [`Device`]. [`Log::append`] puts a record into the next batch,
//! [`Log::wait`] returns when it is durable, and [`Log::trim`] frees the room of records that are no longer needed.
//! After a crash, [`Log::records`] yields every durable record, in order.
//!
//! ```
//! # fn main() -> Result<(), stable::LogError> {
//! use std::sync::Arc;
//! use stable::{Log, MemoryDevice};
//!
//! let device = Arc::new(MemoryDevice::new(1 << 20));
//! let log = Log::create(device.clone(), b"exports: /srv")?;
//! let position = log.append(&[b"one ", b"record"])?;
//! log.wait(position)?;
//!
//! drop(log);
//! let log = Log::open(device)?;
//! let (_, record) = log.records().next().expect("a record was durable")?;
//! assert_eq!(record, b"one record");
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod aliases;
mod dependence;
mod device;
mod error;
mod hex;
mod layer;
mod log;
mod log_site;
mod mark;
mod owner;
mod record;
mod replay;
mod set_aside_file;
mod state_file;
mod state_line;
mod unreadable;
mod write_log;

pub use dependence::{check_unlogged, exports_of_log, give_up_log, left_behind};
pub use device::{AlignedBuffer, Device, FileDevice, MemoryDevice};
pub use error::WriteLogError;
pub use layer::StableFs;
pub use log::{Check, Damage, Log, LogError, MAX_OWNER_BYTES, MAX_RECORD_BYTES, Position, Records, Status};
pub use log_site::LogSite;
pub use owner::owners_exports;
pub use replay::{MadeChange, Replayed};
pub use set_aside_file::{SetAside, changes_set_aside, set_aside_path};
pub use state_file::{check_may_make_log, missing_state};
pub use unreadable::UnreadableLog;
pub use write_log::{Options, WriteLog};
