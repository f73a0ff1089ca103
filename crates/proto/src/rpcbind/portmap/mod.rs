//! The port mapper: version 2 of rpcbind's program, which knows only TCP and UDP over IPv4 (RFC 1833 §3).
//!
//! Each module is one procedure.

mod callit;
mod dump;
mod getport;
mod mapping;
mod null;
mod set;
mod unset;

pub use super::PROGRAM;
pub use callit::*;
pub use dump::*;
pub use getport::*;
pub use mapping::Mapping;
pub use null::*;
pub use set::*;
pub use unset::*;

/// The version's number.
pub const VERSION: u32 = 2;

/// The names of the procedures, by number.
pub const PROCEDURES: [&str; 6] = ["NULL", "SET", "UNSET", "GETPORT", "DUMP", "CALLIT"];
