//! GETADDRLIST finds the addresses of a service on all transports (RFC 1833 §2.2.2; version 4 only).

use xdr::{Decode, Encode};

use super::{MAX_ADDRESSES, MAX_NETID_BYTES, MAX_UADDR_BYTES, PROGRAM, Rpcb};
use crate::Operation;

/// The results of GETADDRLIST (`rpcb_entry_list_ptr`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GetaddrlistReply<'a> {
    /// The addresses.
    #[xdr(list, max = MAX_ADDRESSES)]
    pub entries: Vec<Entry<'a>>,
}

/// One address of a service (RFC 1833 §2.1, `rpcb_entry`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Entry<'a> {
    /// The universal address.
    #[xdr(max = MAX_UADDR_BYTES)]
    pub address: &'a [u8],
    /// The transport, such as `tcp6`.
    #[xdr(max = MAX_NETID_BYTES)]
    pub netid: &'a [u8],
    /// The semantics of the transport.
    pub semantics: Semantics,
    /// The family of protocols, such as `inet6`.
    #[xdr(max = MAX_NETID_BYTES)]
    pub family: &'a [u8],
    /// The protocol, such as `tcp`, or `-`.
    #[xdr(max = MAX_NETID_BYTES)]
    pub protocol: &'a [u8],
}

/// The semantics of a transport (`r_nc_semantics`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Semantics {
    /// Datagrams (NC_TPI_CLTS).
    Datagrams = 1,
    /// A connection (NC_TPI_COTS).
    Connection = 2,
    /// A connection with orderly release (NC_TPI_COTS_ORD).
    OrderlyConnection = 3,
    /// Raw packets (NC_TPI_RAW).
    Raw = 4,
}

/// GETADDRLIST finds the addresses of a service on all transports.
#[derive(Debug, Clone, Copy)]
pub struct Getaddrlist;

impl Operation for Getaddrlist {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = 4;
    const PROCEDURE: u32 = 11;
    const NAME: &'static str = "GETADDRLIST";
    type Arguments<'a> = Rpcb<'a>;
    type Reply<'a> = GetaddrlistReply<'a>;
}
