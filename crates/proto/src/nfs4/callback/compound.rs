//! CB_NULL and CB_COMPOUND, the procedures of the callback program (RFC 7530 §17, RFC 8881 §19).

use xdr::{Decode, Encode};

use super::{CallbackArgOp, CallbackNumber, CallbackResOp};
use crate::Operation;
use crate::nfs4::{CALLBACK_PROGRAM, CALLBACK_VERSION, MAX_COMPOUND_OPS, MAX_TAG_BYTES, Status};

/// One operation of a CB_COMPOUND.
pub trait CallbackOperation {
    /// Its number.
    const NUMBER: CallbackNumber;
    /// The arguments, after the number.
    type Arguments<'a>: Encode + Decode<'a>;
    /// The reply, after the number: a status and its results.
    type Reply<'a>: Encode + Decode<'a>;
}

/// The part of a callback before the operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbCompoundHead<'a> {
    /// Any text; the reply repeats it.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The minor version's number.
    pub minor_version: u32,
    /// The identifier from SETCLIENTID; ignored from 4.1 on.
    pub callback_ident: u32,
    /// The number of operations that follow.
    pub operations: u32,
}

/// The arguments of CB_COMPOUND.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CbCompoundArgs<'a> {
    /// Any text; the reply repeats it.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The minor version's number.
    pub minor_version: u32,
    /// The identifier from SETCLIENTID; ignored from 4.1 on.
    pub callback_ident: u32,
    /// The operations.
    #[xdr(max = MAX_COMPOUND_OPS)]
    pub operations: Vec<CallbackArgOp<'a>>,
}

/// The results of CB_COMPOUND, which begin with a [`CompoundReplyHead`](crate::nfs4::CompoundReplyHead).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CbCompoundReply<'a> {
    /// The status of the last operation that ran.
    pub status: Status,
    /// The tag of the request.
    #[xdr(max = MAX_TAG_BYTES)]
    pub tag: &'a [u8],
    /// The results of the operations up to the first failure.
    #[xdr(max = MAX_COMPOUND_OPS)]
    pub results: Vec<CallbackResOp<'a>>,
}

/// CB_NULL does nothing; a reply shows that the callback path works.
#[derive(Debug, Clone, Copy)]
pub struct CbNull;

/// CB_COMPOUND runs operations at the client in order until one fails.
///
/// Its program number is the default one.
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
