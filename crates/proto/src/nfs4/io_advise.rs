//! IO_ADVISE tells how a range will be used (RFC 7862 §15.5).

use xdr::{Decode, Encode};

use super::{Bitmap, CompoundOperation, OpNumber, Res, Stateid};

/// What IO_ADVISE needs; it tells which of the hints the server follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct IoAdviseArgs {
    /// The open, the locks or the delegation that it is done under.
    pub stateid: Stateid,
    /// Where the range begins, in bytes.
    pub offset: u64,
    /// Its length in bytes, or 0 for everything from there on.
    pub count: u64,
    /// A set of hints by the numbers of [`IoAdvice`].
    pub hints: Bitmap,
}

/// How a range will be used (`IO_ADVISE_type4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IoAdvice {
    /// In no special way.
    Normal = 0,
    /// From lower to higher offsets.
    Sequential = 1,
    /// From higher to lower offsets.
    SequentialBackwards = 2,
    /// In no order.
    Random = 3,
    /// Soon.
    WillNeed = 4,
    /// Soon, if it is in memory anyway.
    WillNeedOpportunistic = 5,
    /// Not soon.
    DontNeed = 6,
    /// Once.
    NoReuse = 7,
    /// It will be read.
    Read = 8,
    /// It will be written.
    Write = 9,
    /// Put it near the client.
    InitProximity = 10,
}

/// IO_ADVISE tells how a range will be used.
#[derive(Debug, Clone, Copy)]
pub struct IoAdvise;

impl CompoundOperation for IoAdvise {
    const NUMBER: OpNumber = OpNumber::IoAdvise;
    type Arguments<'a> = IoAdviseArgs;
    type Reply<'a> = Res<Bitmap>;
}
