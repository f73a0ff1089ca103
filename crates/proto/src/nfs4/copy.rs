//! COPY copies a range at the server (RFC 7862 §15.2).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_COPY_SERVERS, NetLoc, OpNumber, ResOr, StableHow, Stateid, Status, Verifier};

/// What COPY needs: a range of the saved file is copied into the current one.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CopyArgs<'a> {
    /// What the source is read under.
    pub source_stateid: Stateid,
    /// What the destination is written under.
    pub destination_stateid: Stateid,
    /// Where the range begins in the source, in bytes.
    pub source_offset: u64,
    /// Where it begins in the destination, in bytes.
    pub destination_offset: u64,
    /// Its length in bytes, or 0 for everything up to the end of the source.
    pub count: u64,
    /// How the client wants it done.
    pub requirements: CopyRequirements,
    /// Where the source is found; none if it is at the same server.
    #[xdr(max = MAX_COPY_SERVERS)]
    pub source_servers: Vec<NetLoc<'a>>,
}

/// How a copy is done (`copy_requirements4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CopyRequirements {
    /// Whether bytes are copied from the first to the last.
    pub consecutive: bool,
    /// Whether the reply comes when all is done.
    pub synchronous: bool,
}

/// What COPY tells; with OFFLOAD_NO_REQS it is what the server could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CopyOk {
    /// How much was written, or what to wait for.
    pub response: WriteResponse,
    /// How it was or will be done.
    pub requirements: CopyRequirements,
}

/// What came of writing at the server (`write_response4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteResponse {
    /// Names the copy if it goes on behind the reply; CB_OFFLOAD tells its end.
    pub callback_id: Option<Stateid>,
    /// How many bytes were written.
    pub count: u64,
    /// How safe they are.
    pub committed: StableHow,
    /// Another one as soon as unstable bytes may have been lost.
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
