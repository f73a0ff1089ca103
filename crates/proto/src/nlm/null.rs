//! NULL does nothing; a reply shows that the server is up.

use std::marker::PhantomData;

use super::{PROGRAM, Version};
use crate::Operation;

/// NULL does nothing; a reply shows that the server is up.
#[derive(Debug, Clone, Copy)]
pub struct Null<V>(PhantomData<V>);

impl<V: Version> Operation for Null<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 0;
    const NAME: &'static str = "NULL";
    type Arguments<'a> = ();
    type Reply<'a> = ();
}
