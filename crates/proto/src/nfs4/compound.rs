//! COMPOUND carries out operations one after the other until one fails (RFC 7530 §15.2, RFC 8881 §16.2).

use xdr::{Decode, Encode};

use super::{ArgOp, MAX_COMPOUND_OPS, MAX_TAG_BYTES, OpNumber, PROGRAM, ResOp, Status, VERSION};
use crate::Operation;

/// One operation of a COMPOUND.
pub trait CompoundOperation {
    /// Its number.
    const NUMBER: OpNumber;
    /// What stands behind the number in a request.
    type Arguments<'a>: Encode + Decode<'a>;
    /// What stands behind the number in a reply: a status, and what goes with it.
    type Reply<'a>: Encode + Decode<'a>;
}

/// What goes before the operations of a request, so that a server reads them one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CompoundHead<'a> {
    /// Any text; it comes back in the reply.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The minor version's number.
    pub minor_version: u32,
    /// How many operations follow; a server answers RESOURCE or TOO_MANY_OPS when there are more than it takes.
    pub operations: u32,
}

/// What goes before the results of a reply, so that a server writes them one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CompoundReplyHead<'a> {
    /// The status of the last operation that was carried out.
    pub status: Status,
    /// The tag of the request.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// How many results follow.
    pub results: u32,
}

/// What COMPOUND needs.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CompoundArgs<'a> {
    /// Any text; it comes back in the reply.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The minor version's number.
    pub minor_version: u32,
    /// The operations.
    #[xdr(max = MAX_COMPOUND_OPS)]
    pub operations: Vec<ArgOp<'a>>,
}

/// What COMPOUND tells.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CompoundReply<'a> {
    /// The status of the last operation that was carried out.
    pub status: Status,
    /// The tag of the request.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// What came of the operations; none behind one that failed.
    #[xdr(max = MAX_COMPOUND_OPS)]
    pub results: Vec<ResOp<'a>>,
}

/// COMPOUND carries out operations one after the other until one fails.
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
