//! UNLOCK unlocks a range (RFC 1813 appendix II).

use std::marker::PhantomData;

use xdr::{Decode, Encode};

use super::{NetObj, PROGRAM, Range, Res, Version};
use crate::Operation;

/// The arguments of UNLOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct UnlockArgs<'a, O> {
    /// The reply repeats it.
    pub cookie: NetObj<'a>,
    /// The lock.
    pub lock: Range<'a, O>,
}

/// UNLOCK unlocks a range.
#[derive(Debug, Clone, Copy)]
pub struct Unlock<V>(PhantomData<V>);

/// UNLOCK_MSG is its asynchronous form, answered by a call of UNLOCK_RES.
#[derive(Debug, Clone, Copy)]
pub struct UnlockMsg<V>(PhantomData<V>);

/// UNLOCK_RES answers UNLOCK_MSG.
#[derive(Debug, Clone, Copy)]
pub struct UnlockRes<V>(PhantomData<V>);

impl<V: Version> Operation for Unlock<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 4;
    const NAME: &'static str = "UNLOCK";
    type Arguments<'a> = UnlockArgs<'a, V::Offset>;
    type Reply<'a> = Res<'a>;
}

impl<V: Version> Operation for UnlockMsg<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 9;
    const NAME: &'static str = "UNLOCK_MSG";
    type Arguments<'a> = UnlockArgs<'a, V::Offset>;
    type Reply<'a> = ();
}

impl<V: Version> Operation for UnlockRes<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 14;
    const NAME: &'static str = "UNLOCK_RES";
    type Arguments<'a> = Res<'a>;
    type Reply<'a> = ();
}
