//! UMNT removes the caller's mount of a directory from the list (RFC 1094 §A.5.4, RFC 1813 §5.2.3).

use super::{DirPath, PROGRAM};
use crate::Operation;

/// UMNT removes the caller's mount of a directory from the list.
#[derive(Debug, Clone, Copy)]
pub struct Umnt<const VERSION: u32>;

impl<const VERSION: u32> Operation for Umnt<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 3;
    const NAME: &'static str = "UMNT";
    type Arguments<'a> = DirPath<'a>;
    type Reply<'a> = ();
}
