use xdr::{Decode, Decoder, Encode, Encoder};

use super::Status;
use crate::StatusCode;

impl StatusCode for Status {
    const OK: Status = Status::Ok;
}

/// An operation's reply: a status, and results with success.
pub type Res<T> = crate::Res<T, Status>;

/// A reply in which one failure, with the status number `STATUS`, has a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResOr<T, F, const STATUS: u32> {
    /// Success.
    Ok(T),
    /// Failure with the status that has a body.
    Explained(F),
    /// Failure with any other status.
    Fail(Status),
}

impl<T: Encode, F: Encode, const STATUS: u32> Encode for ResOr<T, F, STATUS> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            ResOr::Ok(ok) => {
                Status::Ok.encode(to);
                ok.encode(to);
            }
            ResOr::Explained(body) => {
                to.u32(STATUS);
                body.encode(to);
            }
            ResOr::Fail(status) => status.encode(to),
        }
    }
}

impl<'a, T: Decode<'a>, F: Decode<'a>, const STATUS: u32> Decode<'a> for ResOr<T, F, STATUS> {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(match Status::decode(from)? {
            Status::Ok => ResOr::Ok(T::decode(from)?),
            status if status as u32 == STATUS => ResOr::Explained(F::decode(from)?),
            status => ResOr::Fail(status),
        })
    }
}
