//! TEST_STATEID tests whether stateids are valid (RFC 8881 §18.48).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_STATEIDS, OpNumber, Res, Stateid, Status};

/// The arguments of TEST_STATEID.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TestStateidArgs {
    /// The stateids.
    #[xdr(max = MAX_STATEIDS)]
    pub stateids: Vec<Stateid>,
}

/// The results of TEST_STATEID.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TestStateidOk {
    /// A status for each.
    #[xdr(max = MAX_STATEIDS)]
    pub statuses: Vec<Status>,
}

/// TEST_STATEID tests whether stateids are valid.
#[derive(Debug, Clone, Copy)]
pub struct TestStateid;

impl CompoundOperation for TestStateid {
    const NUMBER: OpNumber = OpNumber::TestStateid;
    type Arguments<'a> = TestStateidArgs;
    type Reply<'a> = Res<TestStateidOk>;
}
