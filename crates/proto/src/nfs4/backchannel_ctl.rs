//! BACKCHANNEL_CTL changes how callbacks are made (RFC 8881 §18.33).

use xdr::{Decode, Encode};

use super::{CallbackSec, CompoundOperation, MAX_CALLBACK_SECS, OpNumber, Res};

/// What BACKCHANNEL_CTL needs.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct BackchannelCtlArgs<'a> {
    /// The number of the client's callback program.
    pub program: u32,
    /// How the server may authenticate, best first.
    #[xdr(max = MAX_CALLBACK_SECS)]
    pub security: Vec<CallbackSec<'a>>,
}

/// BACKCHANNEL_CTL changes how callbacks are made.
#[derive(Debug, Clone, Copy)]
pub struct BackchannelCtl;

impl CompoundOperation for BackchannelCtl {
    const NUMBER: OpNumber = OpNumber::BackchannelCtl;
    type Arguments<'a> = BackchannelCtlArgs<'a>;
    type Reply<'a> = Res<()>;
}
