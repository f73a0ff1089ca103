//! COPY_NOTIFY lets another server read for a copy (RFC 7862 §15.3).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_COPY_SERVERS, NetLoc, OpNumber, Res, Stateid, Time};

/// What COPY_NOTIFY needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CopyNotifyArgs<'a> {
    /// What the source is read under.
    pub source_stateid: Stateid,
    /// Who will read.
    pub destination_server: NetLoc<'a>,
}

/// What COPY_NOTIFY tells.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CopyNotifyOk<'a> {
    /// How long the other server has for its first READ.
    pub lease_time: Time,
    /// What the other server reads under.
    pub stateid: Stateid,
    /// Where the other server finds this one.
    #[xdr(max = MAX_COPY_SERVERS)]
    pub source_servers: Vec<NetLoc<'a>>,
}

/// COPY_NOTIFY lets another server read for a copy.
#[derive(Debug, Clone, Copy)]
pub struct CopyNotify;

impl CompoundOperation for CopyNotify {
    const NUMBER: OpNumber = OpNumber::CopyNotify;
    type Arguments<'a> = CopyNotifyArgs<'a>;
    type Reply<'a> = Res<CopyNotifyOk<'a>>;
}
