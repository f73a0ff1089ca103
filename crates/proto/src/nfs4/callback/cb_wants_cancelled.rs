//! CB_WANTS_CANCELLED reports that pending requests for delegations are cancelled (RFC 8881 §20.10).

use xdr::{Decode, Encode};

use crate::nfs4::{CallbackNumber, CallbackOperation, Res};

/// The arguments of CB_WANTS_CANCELLED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbWantsCancelledArgs {
    /// Whether requests that conflicted with other clients are cancelled.
    pub contended: bool,
    /// Whether requests for which the server lacked resources are cancelled.
    pub resourced: bool,
}

/// CB_WANTS_CANCELLED reports that pending requests for delegations are cancelled.
#[derive(Debug, Clone, Copy)]
pub struct CbWantsCancelled;

impl CallbackOperation for CbWantsCancelled {
    const NUMBER: CallbackNumber = CallbackNumber::CbWantsCancelled;
    type Arguments<'a> = CbWantsCancelledArgs;
    type Reply<'a> = Res<()>;
}
