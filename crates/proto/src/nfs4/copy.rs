//! COPY copies a range at the server (RFC 7862 §15.2).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_COPY_SERVERS, NetLoc, OpNumber, ResOr, StableHow, Stateid, Status, Verifier};

/// The arguments of COPY: a range of the saved file is copied into the current one.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CopyArgs<'a> {
    /// The stateid to read the source under.
    pub source_stateid: Stateid,
    /// The stateid to write the destination under.
    pub destination_stateid: Stateid,
    /// The offset in the source, in bytes.
    pub source_offset: u64,
    /// The offset in the destination, in bytes.
    pub destination_offset: u64,
    /// Its length in bytes, or 0 for everything up to the end of the source.
    pub count: u64,
    /// The client's requirements.
    pub requirements: CopyRequirements,
    /// The servers of the source; empty if it is on this server.
    #[xdr(max = MAX_COPY_SERVERS)]
    pub source_servers: Vec<NetLoc<'a>>,
}

/// The requirements of a copy (`copy_requirements4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CopyRequirements {
    /// Whether bytes are copied in order.
    pub consecutive: bool,
    /// Whether the reply follows the end of the copy.
    pub synchronous: bool,
}

/// The results of COPY; with OFFLOAD_NO_REQS, they are the requirements that the server supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CopyOk {
    /// The number of bytes written, or the stateid to wait for.
    pub response: WriteResponse,
    /// The requirements that the copy meets.
    pub requirements: CopyRequirements,
}

/// The result of writing at the server (`write_response4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteResponse {
    /// Identifies an asynchronous copy, whose end CB_OFFLOAD reports.
    pub callback_id: Option<Stateid>,
    /// The number of bytes written.
    pub count: u64,
    /// The stability of the data.
    pub committed: StableHow,
    /// Changes when unstable data may have been lost.
    pub verifier: Verifier,
}

/// COPY copies a range at the server.
#[derive(Debug, Clone, Copy)]
pub struct Copy;

impl CompoundOperation for Copy {
    const NUMBER: OpNumber = OpNumber::Copy;
    type Arguments<'a> = CopyArgs<'a>;
    type Reply<'a> = ResOr<CopyOk, CopyRequirements, { Status::OffloadNoReqs as u32 }>;
}
