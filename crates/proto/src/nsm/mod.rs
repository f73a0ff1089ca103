//! The status monitor, which notifies lock managers of restarted hosts: version 1 (X/Open XNFS).
//!
//! Each module is one procedure; common items are here.

mod mon;
mod notify;
mod null;
mod simu_crash;
mod stat;
mod types;
mod unmon;
mod unmon_all;

pub use mon::*;
pub use notify::*;
pub use null::*;
pub use simu_crash::*;
pub use stat::*;
pub use types::*;
pub use unmon::*;
pub use unmon_all::*;

/// The program's number.
pub const PROGRAM: u32 = 100_024;
/// The version's number.
pub const VERSION: u32 = 1;
/// The longest name of a host, in bytes: SM_MAXSTRLEN.
pub const MAX_NAME_BYTES: usize = 1024;

/// The names of the procedures, by number.
pub const PROCEDURES: [&str; 7] = ["NULL", "STAT", "MON", "UNMON", "UNMON_ALL", "SIMU_CRASH", "NOTIFY"];
