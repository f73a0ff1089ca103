//! BACKCHANNEL_CTL changes the callback program and credentials (RFC 8881 §18.33).

use xdr::{Decode, Encode};

use super::{CallbackSec, CompoundOperation, MAX_CALLBACK_SECS, OpNumber, Res};

/// The arguments of BACKCHANNEL_CTL.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct BackchannelCtlArgs<'a> {
    /// The number of the client's callback program.
    pub program: u32,
    /// The credentials that the server may use, best first.
    #[xdr(max = MAX_CALLBACK_SECS)]
    pub security: Vec<CallbackSec<'a>>,
}

/// BACKCHANNEL_CTL changes the callback program and credentials.
#[derive(Debug, Clone, Copy)]
pub struct BackchannelCtl;

impl CompoundOperation for BackchannelCtl {
    const NUMBER: OpNumber = OpNumber::BackchannelCtl;
    type Arguments<'a> = BackchannelCtlArgs<'a>;
    type Reply<'a> = Res<()>;
}
