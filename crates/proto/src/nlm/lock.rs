//! LOCK locks a range (RFC 1813 appendix II).

use std::marker::PhantomData;

use xdr::{Decode, Encode};

use super::{NetObj, PROGRAM, Range, Res, Version};
use crate::Operation;

/// The arguments of LOCK and NM_LOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LockArgs<'a, O> {
    /// The reply repeats it.
    pub cookie: NetObj<'a>,
    /// Whether the client waits for a call of GRANTED.
    pub block: bool,
    /// Whether the lock is for writing.
    pub exclusive: bool,
    /// The lock.
    pub lock: Range<'a, O>,
    /// Whether the client held the lock before the server restarted.
    pub reclaim: bool,
    /// The state number of the client's status monitor.
    pub state: i32,
}

/// LOCK locks a range.
#[derive(Debug, Clone, Copy)]
pub struct Lock<V>(PhantomData<V>);

/// LOCK_MSG is its asynchronous form, answered by a call of LOCK_RES.
#[derive(Debug, Clone, Copy)]
pub struct LockMsg<V>(PhantomData<V>);

/// LOCK_RES answers LOCK_MSG.
#[derive(Debug, Clone, Copy)]
pub struct LockRes<V>(PhantomData<V>);

impl<V: Version> Operation for Lock<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 2;
    const NAME: &'static str = "LOCK";
    type Arguments<'a> = LockArgs<'a, V::Offset>;
    type Reply<'a> = Res<'a>;
}

impl<V: Version> Operation for LockMsg<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 7;
    const NAME: &'static str = "LOCK_MSG";
    type Arguments<'a> = LockArgs<'a, V::Offset>;
    type Reply<'a> = ();
}

impl<V: Version> Operation for LockRes<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 12;
    const NAME: &'static str = "LOCK_RES";
    type Arguments<'a> = Res<'a>;
    type Reply<'a> = ();
}
