//! CANCEL gives up waiting for a lock (RFC 1813 appendix II).

use std::marker::PhantomData;

use xdr::{Decode, Encode};

use super::{NetObj, PROGRAM, Range, Res, Version};
use crate::Operation;

/// The arguments of CANCEL: those of LOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CancelArgs<'a, O> {
    /// The reply repeats it.
    pub cookie: NetObj<'a>,
    /// Whether LOCK waits.
    pub block: bool,
    /// Whether the lock is for writing.
    pub exclusive: bool,
    /// The lock.
    pub lock: Range<'a, O>,
}

/// CANCEL gives up waiting for a lock.
#[derive(Debug, Clone, Copy)]
pub struct Cancel<V>(PhantomData<V>);

/// CANCEL_MSG is its asynchronous form, answered by a call of CANCEL_RES.
#[derive(Debug, Clone, Copy)]
pub struct CancelMsg<V>(PhantomData<V>);

/// CANCEL_RES answers CANCEL_MSG.
#[derive(Debug, Clone, Copy)]
pub struct CancelRes<V>(PhantomData<V>);

impl<V: Version> Operation for Cancel<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 3;
    const NAME: &'static str = "CANCEL";
    type Arguments<'a> = CancelArgs<'a, V::Offset>;
    type Reply<'a> = Res<'a>;
}

impl<V: Version> Operation for CancelMsg<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 8;
    const NAME: &'static str = "CANCEL_MSG";
    type Arguments<'a> = CancelArgs<'a, V::Offset>;
    type Reply<'a> = ();
}

impl<V: Version> Operation for CancelRes<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 13;
    const NAME: &'static str = "CANCEL_RES";
    type Arguments<'a> = Res<'a>;
    type Reply<'a> = ();
}
