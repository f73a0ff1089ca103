//! UNSHARE ends a share reservation (RFC 1813 appendix II).

use std::marker::PhantomData;

use super::{PROGRAM, ShareArgs, ShareOk, Version};
use crate::Operation;

/// UNSHARE ends a share reservation.
#[derive(Debug, Clone, Copy)]
pub struct Unshare<V>(PhantomData<V>);

impl<V: Version> Operation for Unshare<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 21;
    const NAME: &'static str = "UNSHARE";
    type Arguments<'a> = ShareArgs<'a>;
    type Reply<'a> = ShareOk<'a>;
}
