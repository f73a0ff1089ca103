//! NM_LOCK locks a range for a client that is not watched for restarts (RFC 1813 appendix II).

use std::marker::PhantomData;

use super::{LockArgs, PROGRAM, Res, Version};
use crate::Operation;

/// NM_LOCK locks a range for a client that is not watched for restarts.
#[derive(Debug, Clone, Copy)]
pub struct NmLock<V>(PhantomData<V>);

impl<V: Version> Operation for NmLock<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 22;
    const NAME: &'static str = "NM_LOCK";
    type Arguments<'a> = LockArgs<'a, V::Offset>;
    type Reply<'a> = Res<'a>;
}
