//! CB_OFFLOAD reports the result of a copy (RFC 7862 §16.1).

use xdr::{Decode, Decoder, Encode, Encoder};

use crate::nfs4::{CallbackNumber, CallbackOperation, FileHandle, Res, Stateid, Status, WriteResponse};

/// The arguments of CB_OFFLOAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbOffloadArgs {
    /// The destination.
    pub file: FileHandle,
    /// The copy.
    pub stateid: Stateid,
    /// The result.
    pub outcome: OffloadOutcome,
}

/// The result of a copy (`offload_info4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffloadOutcome {
    /// All was copied.
    Ok(WriteResponse),
    /// It failed with this status, which is never [`Status::Ok`].
    Failed {
        /// The status.
        status: Status,
        /// The number of bytes copied before.
        bytes_copied: u64,
    },
}

impl Encode for OffloadOutcome {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            OffloadOutcome::Ok(response) => {
                Status::Ok.encode(to);
                response.encode(to);
            }
            OffloadOutcome::Failed { status, bytes_copied } => {
                status.encode(to);
                to.u64(*bytes_copied);
            }
        }
    }
}

impl<'a> Decode<'a> for OffloadOutcome {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(match Status::decode(from)? {
            Status::Ok => OffloadOutcome::Ok(WriteResponse::decode(from)?),
            status => OffloadOutcome::Failed { status, bytes_copied: from.u64()? },
        })
    }
}

/// CB_OFFLOAD reports the result of a copy.
#[derive(Debug, Clone, Copy)]
pub struct CbOffload;

impl CallbackOperation for CbOffload {
    const NUMBER: CallbackNumber = CallbackNumber::CbOffload;
    type Arguments<'a> = CbOffloadArgs;
    type Reply<'a> = Res<()>;
}
