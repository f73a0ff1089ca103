//! A log of records on stable storage: many writers share each durable write.
//!
//! [`Log`] keeps byte records in a preallocated [`Device`]. [`Log::append`] puts a record into the next batch,
//! [`Log::wait`] returns when it is durable, and [`Log::trim`] frees the room of records that nobody needs any more.
//! After a crash, [`Log::records`] yields every record that was durable, in order.
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

mod device;
mod log;

pub use device::{AlignedBuffer, Device, FileDevice, MemoryDevice};
pub use log::{Check, Damage, Log, LogError, MAX_OWNER_BYTES, MAX_RECORD_BYTES, Position, Records, Status};
