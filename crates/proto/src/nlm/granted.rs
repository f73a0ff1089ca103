//! GRANTED tells a client that it has the lock it waited for (RFC 1813 appendix II).

use std::marker::PhantomData;

use super::{PROGRAM, Res, TestArgs, Version};
use crate::Operation;

/// GRANTED tells a client that it has the lock it waited for.
#[derive(Debug, Clone, Copy)]
pub struct Granted<V>(PhantomData<V>);

/// GRANTED_MSG is its asynchronous form, answered by a call of GRANTED_RES.
#[derive(Debug, Clone, Copy)]
pub struct GrantedMsg<V>(PhantomData<V>);

/// GRANTED_RES answers GRANTED_MSG.
#[derive(Debug, Clone, Copy)]
pub struct GrantedRes<V>(PhantomData<V>);

impl<V: Version> Operation for Granted<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 5;
    const NAME: &'static str = "GRANTED";
    type Arguments<'a> = TestArgs<'a, V::Offset>;
    type Reply<'a> = Res<'a>;
}

impl<V: Version> Operation for GrantedMsg<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 10;
    const NAME: &'static str = "GRANTED_MSG";
    type Arguments<'a> = TestArgs<'a, V::Offset>;
    type Reply<'a> = ();
}

impl<V: Version> Operation for GrantedRes<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 15;
    const NAME: &'static str = "GRANTED_RES";
    type Arguments<'a> = Res<'a>;
    type Reply<'a> = ();
}
