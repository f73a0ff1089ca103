//! CB_NULL and CB_COMPOUND, the procedures of the callback program (RFC 7530 §17, RFC 8881 §19).

use xdr::{Decode, Encode};

use super::{CallbackArgOp, CallbackNumber, CallbackResOp};
use crate::Operation;
use crate::nfs4::{CALLBACK_PROGRAM, CALLBACK_VERSION, MAX_COMPOUND_OPS, MAX_TAG_BYTES, Status};

/// One operation of a CB_COMPOUND.
pub trait CallbackOperation {
    /// Its number.
    const NUMBER: CallbackNumber;
    /// What stands behind the number in a request.
    type Arguments<'a>: Encode + Decode<'a>;
    /// What stands behind the number in a reply: a status, and what goes with it.
    type Reply<'a>: Encode + Decode<'a>;
}

/// What goes before the operations of a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbCompoundHead<'a> {
    /// Any text; it comes back in the reply.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The minor version's number.
    pub minor_version: u32,
    /// What the client said in SETCLIENTID; not looked at from 4.1 on.
    pub callback_ident: u32,
    /// How many operations follow.
    pub operations: u32,
}

/// What CB_COMPOUND needs.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CbCompoundArgs<'a> {
    /// Any text; it comes back in the reply.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The minor version's number.
    pub minor_version: u32,
    /// What the client said in SETCLIENTID; not looked at from 4.1 on.
    pub callback_ident: u32,
    /// The operations.
    #[xdr(max = MAX_COMPOUND_OPS)]
    pub operations: Vec<CallbackArgOp<'a>>,
}

/// What CB_COMPOUND tells; what goes before the results is a [`CompoundReplyHead`](crate::nfs4::CompoundReplyHead).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CbCompoundReply<'a> {
    /// The status of the last operation that was carried out.
    pub status: Status,
    /// The tag of the request.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// What came of the operations; none behind one that failed.
    #[xdr(max = MAX_COMPOUND_OPS)]
    pub results: Vec<CallbackResOp<'a>>,
}

/// CB_NULL does nothing: shows that the client can be called.
#[derive(Debug, Clone, Copy)]
pub struct CbNull;

/// CB_COMPOUND carries out operations at the client one after the other until one fails.
///
/// Its program's number is the one that a client names where it does not choose another one.
#[derive(Debug, Clone, Copy)]
pub struct CbCompound;

impl Operation for CbNull {
    const PROGRAM: u32 = CALLBACK_PROGRAM;
    const VERSION: u32 = CALLBACK_VERSION;
    const PROCEDURE: u32 = 0;
    const NAME: &'static str = "CB_NULL";
    type Arguments<'a> = ();
    type Reply<'a> = ();
}

impl Operation for CbCompound {
    const PROGRAM: u32 = CALLBACK_PROGRAM;
    const VERSION: u32 = CALLBACK_VERSION;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "CB_COMPOUND";
    type Arguments<'a> = CbCompoundArgs<'a>;
    type Reply<'a> = CbCompoundReply<'a>;
}
