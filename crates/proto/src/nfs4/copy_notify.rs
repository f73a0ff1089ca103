//! COPY_NOTIFY permits another server to read for a copy (RFC 7862 §15.3).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_COPY_SERVERS, NetLoc, OpNumber, Res, Stateid, Time};

/// The arguments of COPY_NOTIFY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CopyNotifyArgs<'a> {
    /// The stateid to read the source under.
    pub source_stateid: Stateid,
    /// The server that will read.
    pub destination_server: NetLoc<'a>,
}

/// The results of COPY_NOTIFY.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CopyNotifyOk<'a> {
    /// The time for the other server's first READ.
    pub lease_time: Time,
    /// The stateid for the other server's READs.
    pub stateid: Stateid,
    /// The addresses of this server.
    #[xdr(max = MAX_COPY_SERVERS)]
    pub source_servers: Vec<NetLoc<'a>>,
}

/// COPY_NOTIFY permits another server to read for a copy.
#[derive(Debug, Clone, Copy)]
pub struct CopyNotify;

impl CompoundOperation for CopyNotify {
    const NUMBER: OpNumber = OpNumber::CopyNotify;
    type Arguments<'a> = CopyNotifyArgs<'a>;
    type Reply<'a> = Res<CopyNotifyOk<'a>>;
}
