use xdr::{Decode, Encode};

use super::MAX_NAME_BYTES;

/// Whether a host is watched (`res`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Outcome {
    /// It is.
    Success = 0,
    /// It cannot be.
    Failure = 1,
}

/// The state number of a monitor: odd while it is up, and another one after each restart (`sm_stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct State(pub i32);

/// Who is told of restarts: a procedure at a host (`my_id`).
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

/// Which host is watched, and for whom (`mon_id`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct MonId<'a> {
    /// The name of the host that is watched.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
    /// Who is told.
    pub caller: MyId<'a>,
}

/// What the one who asked for the watch is told (`status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct HostStatus<'a> {
    /// The name of the host that was watched.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
    /// Its new state number.
    pub state: i32,
    /// What MON said.
    pub private: [u8; 16],
}
