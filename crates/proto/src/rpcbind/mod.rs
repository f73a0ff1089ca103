//! rpcbind, which returns the addresses of services: versions 3 and 4 (RFC 1833 §2), and version 2 in [`portmap`].
//!
//! Each module is one procedure. Most are equal in both versions, and have the version as a constant parameter:
//! `Set<4>`.

mod callit;
mod dump;
mod getaddr;
mod getaddrlist;
mod getstat;
mod gettime;
mod getversaddr;
mod indirect;
pub mod netid;
mod null;
pub mod portmap;
mod set;
mod taddr2uaddr;
mod types;
mod uaddr2taddr;
mod universal_address;
mod unset;

pub use callit::*;
pub use dump::*;
pub use getaddr::*;
pub use getaddrlist::*;
pub use getstat::*;
pub use gettime::*;
pub use getversaddr::*;
pub use indirect::*;
pub use null::*;
pub use set::*;
pub use taddr2uaddr::*;
pub use types::*;
pub use uaddr2taddr::*;
pub use universal_address::{UniversalAddress, UniversalAddressError};
pub use unset::*;

/// The program's number.
pub const PROGRAM: u32 = 100_000;
/// The port of rpcbind.
pub const PORT: u16 = 111;
/// The longest name of a transport or a protocol, in bytes. The RFC sets no limit here nor below.
pub const MAX_NETID_BYTES: usize = 128;
/// The longest universal address, in bytes: more than the path of a local socket.
pub const MAX_UADDR_BYTES: usize = 256;
/// The longest name of an owner, in bytes.
pub const MAX_OWNER_BYTES: usize = 256;
/// The longest address in a transport's own form, in bytes: twice what a socket's address takes.
pub const MAX_NETBUF_BYTES: usize = 256;
/// The most arguments or results of a forwarded call, in bytes: what a datagram holds.
pub const MAX_CALL_BYTES: usize = 1 << 16;
/// The most services in a reply of DUMP.
pub const MAX_SERVICES: usize = 1 << 12;
/// The most addresses in a reply of GETADDRLIST.
pub const MAX_ADDRESSES: usize = 1 << 8;
/// The most services in each list of GETSTAT.
pub const MAX_STATISTICS: usize = 1 << 12;

/// The names of the procedures of version 4, by number; version 3 has the first nine.
pub const PROCEDURES: [&str; 13] = [
    "NULL",
    "SET",
    "UNSET",
    "GETADDR",
    "DUMP",
    "CALLIT",
    "GETTIME",
    "UADDR2TADDR",
    "TADDR2UADDR",
    "GETVERSADDR",
    "INDIRECT",
    "GETADDRLIST",
    "GETSTAT",
];
