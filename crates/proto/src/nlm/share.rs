//! SHARE opens a file with a share reservation (RFC 1813 appendix II).

use std::marker::PhantomData;

use xdr::{Decode, Encode};

use super::{MAX_CALLER_NAME_BYTES, NetObj, PROGRAM, Status, Version};
use crate::Operation;

/// The arguments of SHARE and UNSHARE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ShareArgs<'a> {
    /// The reply repeats it.
    pub cookie: NetObj<'a>,
    /// The reservation.
    pub share: ShareReservation<'a>,
    /// Whether the client held it before the server restarted.
    pub reclaim: bool,
}

/// A share reservation (`nlm_share` and `nlm4_share`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ShareReservation<'a> {
    /// The name of the client's host.
    #[xdr(max = MAX_CALLER_NAME_BYTES)]
    pub caller_name: &'a [u8],
    /// The file.
    pub file: NetObj<'a>,
    /// The owner.
    pub owner: NetObj<'a>,
    /// The accesses denied to others.
    pub mode: ShareMode,
    /// The owner's access.
    pub access: ShareAccess,
}

/// The accesses denied to others (`fsh_mode` and `fsh4_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ShareMode {
    /// Others may do anything.
    DenyNone = 0,
    /// Others may not read.
    DenyRead = 1,
    /// Others may not write.
    DenyWrite = 2,
    /// Others may neither read nor write.
    DenyBoth = 3,
}

/// The access of an owner (`fsh_access` and `fsh4_access`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ShareAccess {
    /// No access.
    None = 0,
    /// Read.
    Read = 1,
    /// Write.
    Write = 2,
    /// Read and write.
    Both = 3,
}

/// The results of SHARE and UNSHARE (`nlm_shareres` and `nlm4_shareres`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ShareOk<'a> {
    /// The cookie of the call.
    pub cookie: NetObj<'a>,
    /// The result.
    pub status: Status,
    /// Obsolete.
    pub sequence: i32,
}

/// SHARE opens a file with a share reservation.
#[derive(Debug, Clone, Copy)]
pub struct Share<V>(PhantomData<V>);

impl<V: Version> Operation for Share<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 20;
    const NAME: &'static str = "SHARE";
    type Arguments<'a> = ShareArgs<'a>;
    type Reply<'a> = ShareOk<'a>;
}
