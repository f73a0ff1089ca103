//! COMPOUND runs operations in order until one fails (RFC 7530 §15.2, RFC 8881 §16.2).

use xdr::{Decode, Encode};

use super::{ArgOp, MAX_COMPOUND_OPS, MAX_TAG_BYTES, OpNumber, PROGRAM, ResOp, Status, VERSION};
use crate::Operation;

/// One operation of a COMPOUND.
pub trait CompoundOperation {
    /// Its number.
    const NUMBER: OpNumber;
    /// The arguments, after the number.
    type Arguments<'a>: Encode + Decode<'a>;
    /// The reply, after the number: a status and its results.
    type Reply<'a>: Encode + Decode<'a>;
}

/// The part of a request before the operations, so that a server decodes them one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CompoundHead<'a> {
    /// Any text; the reply repeats it.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The minor version's number.
    pub minor_version: u32,
    /// The number of operations that follow; a server answers RESOURCE or TOO_MANY_OPS when there are too many.
    pub operations: u32,
}

/// The part of a reply before the results, so that a server encodes them one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CompoundReplyHead<'a> {
    /// The status of the last operation that ran.
    pub status: Status,
    /// The tag of the request.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The number of results that follow.
    pub results: u32,
}

/// The arguments of COMPOUND.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CompoundArgs<'a> {
    /// Any text; the reply repeats it.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The minor version's number.
    pub minor_version: u32,
    /// The operations.
    #[xdr(max = MAX_COMPOUND_OPS)]
    pub operations: Vec<ArgOp<'a>>,
}

/// The results of COMPOUND.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CompoundReply<'a> {
    /// The status of the last operation that ran.
    pub status: Status,
    /// The tag of the request.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The results of the operations up to the first failure.
    #[xdr(max = MAX_COMPOUND_OPS)]
    pub results: Vec<ResOp<'a>>,
}

/// COMPOUND runs operations in order until one fails.
#[derive(Debug, Clone, Copy)]
pub struct Compound;

impl Operation for Compound {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "COMPOUND";
    type Arguments<'a> = CompoundArgs<'a>;
    type Reply<'a> = CompoundReply<'a>;
}
