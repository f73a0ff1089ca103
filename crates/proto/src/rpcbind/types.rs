use xdr::{Decode, Encode};

use super::{MAX_CALL_BYTES, MAX_NETBUF_BYTES, MAX_NETID_BYTES, MAX_OWNER_BYTES, MAX_UADDR_BYTES};

/// A service and its address (RFC 1833 §2.1, `rpcb`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Rpcb<'a> {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The transport: one of the names in [`netid`](super::netid), or another.
    #[xdr(max = MAX_NETID_BYTES)]
    pub netid: &'a [u8],
    /// The universal address; may be empty in a query.
    #[xdr(max = MAX_UADDR_BYTES)]
    pub address: &'a [u8],
    /// The owner; may be empty in a query.
    #[xdr(max = MAX_OWNER_BYTES)]
    pub owner: &'a [u8],
}

/// A universal address in a message; empty for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Uaddr<'a> {
    /// Its text.
    #[xdr(max = MAX_UADDR_BYTES)]
    pub text: &'a [u8],
}

/// An address in a transport's own form (§2.1, `netbuf`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Netbuf<'a> {
    /// The size of the owner's buffer, in bytes.
    pub max_bytes: u32,
    /// The bytes.
    #[xdr(max = MAX_NETBUF_BYTES)]
    pub bytes: &'a [u8],
}

/// A call to forward (§2.1, `rpcb_rmtcallargs`; §3.1, `call_args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RemoteCall<'a> {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The procedure.
    pub procedure: u32,
    /// The procedure's arguments.
    #[xdr(max = MAX_CALL_BYTES)]
    pub arguments: &'a [u8],
}

/// The result of a forwarded call (§2.1, `rpcb_rmtcallres`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RemoteResult<'a> {
    /// The service's universal address.
    #[xdr(max = MAX_UADDR_BYTES)]
    pub address: &'a [u8],
    /// The procedure's results.
    #[xdr(max = MAX_CALL_BYTES)]
    pub results: &'a [u8],
}
