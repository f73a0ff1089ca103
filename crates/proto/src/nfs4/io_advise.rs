//! IO_ADVISE announces how a range will be used (RFC 7862 §15.5).

use xdr::{Decode, Encode};

use super::{Bitmap, CompoundOperation, OpNumber, Res, Stateid};

/// The arguments of IO_ADVISE; the results are the hints that the server follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct IoAdviseArgs {
    /// The stateid of an open, of locks or of a delegation.
    pub stateid: Stateid,
    /// The offset of the range, in bytes.
    pub offset: u64,
    /// Its length in bytes, or 0 for everything from the offset on.
    pub count: u64,
    /// A set of hints by the numbers of [`IoAdvice`].
    pub hints: Bitmap,
}

/// The expected use of a range (`IO_ADVISE_type4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IoAdvice {
    /// No special use.
    Normal = 0,
    /// Accesses by increasing offset.
    Sequential = 1,
    /// Accesses by decreasing offset.
    SequentialBackwards = 2,
    /// Accesses in random order.
    Random = 3,
    /// Accesses soon.
    WillNeed = 4,
    /// Accesses soon, if it is in memory anyway.
    WillNeedOpportunistic = 5,
    /// No accesses soon.
    DontNeed = 6,
    /// A single access.
    NoReuse = 7,
    /// It will be read.
    Read = 8,
    /// It will be written.
    Write = 9,
    /// Put it near the client.
    InitProximity = 10,
}

/// IO_ADVISE announces how a range will be used.
#[derive(Debug, Clone, Copy)]
pub struct IoAdvise;

impl CompoundOperation for IoAdvise {
    const NUMBER: OpNumber = OpNumber::IoAdvise;
    type Arguments<'a> = IoAdviseArgs;
    type Reply<'a> = Res<Bitmap>;
}
