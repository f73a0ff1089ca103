//! CB_WANTS_CANCELLED tells that wishes for delegations are forgotten (RFC 8881 §20.10).

use xdr::{Decode, Encode};

use crate::nfs4::{CallbackNumber, CallbackOperation, Res};

/// What CB_WANTS_CANCELLED needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbWantsCancelledArgs {
    /// Whether the wishes are meant that others were in the way of.
    pub contended: bool,
    /// Whether the wishes are meant that the server lacked resources for.
    pub resourced: bool,
}

/// CB_WANTS_CANCELLED tells that wishes for delegations are forgotten.
#[derive(Debug, Clone, Copy)]
pub struct CbWantsCancelled;

impl CallbackOperation for CbWantsCancelled {
    const NUMBER: CallbackNumber = CallbackNumber::CbWantsCancelled;
    type Arguments<'a> = CbWantsCancelledArgs;
    type Reply<'a> = Res<()>;
}
