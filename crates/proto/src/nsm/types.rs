use xdr::{Decode, Encode};

use super::MAX_NAME_BYTES;

/// Whether a host is watched (`res`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum MonResult {
    /// The host is watched.
    Success = 0,
    /// The host cannot be watched.
    Failure = 1,
}

/// The state number of a monitor: odd while it is up, and different after each restart (`sm_stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct StateNumber(pub i32);

/// The procedure to notify of restarts (`my_id`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct MyId<'a> {
    /// The name of the host.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
    /// The program's number.
    pub program: u32,
    /// The version's number.
    pub version: u32,
    /// The procedure's number; its arguments are a [`HostStatus`].
    pub procedure: u32,
}

/// A watched host, and the procedure to notify (`mon_id`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct MonId<'a> {
    /// The name of the watched host.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
    /// The procedure to notify.
    pub caller: MyId<'a>,
}

/// The notification of a restart (`status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct HostStatus<'a> {
    /// The name of the watched host.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
    /// Its new state number.
    pub state: i32,
    /// The data from MON.
    pub private: [u8; 16],
}
