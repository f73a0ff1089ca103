//! FREE_ALL releases all locks and share reservations of a client that restarted (RFC 1813 appendix II).

use std::marker::PhantomData;

use xdr::{Decode, Encode};

use super::{MAX_NAME_BYTES, PROGRAM, Version};
use crate::Operation;

/// The arguments of FREE_ALL (`nlm_notify` and `nlm4_notify`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct FreeAllArgs<'a> {
    /// The name of the client's host.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
    /// Unused.
    pub state: i32,
}

/// FREE_ALL releases all locks and share reservations of a client that restarted.
#[derive(Debug, Clone, Copy)]
pub struct FreeAll<V>(PhantomData<V>);

impl<V: Version> Operation for FreeAll<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 23;
    const NAME: &'static str = "FREE_ALL";
    type Arguments<'a> = FreeAllArgs<'a>;
    type Reply<'a> = ();
}
