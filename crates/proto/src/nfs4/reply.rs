use xdr::{Decode, Decoder, Encode, Encoder};

use super::Status;

/// An operation's reply: a status, and what goes with success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Res<T> {
    /// It was carried out.
    Ok(T),
    /// It was not; the status is never [`Status::Ok`].
    Fail(Status),
}

/// A reply in which one failure, the status of number `STATUS`, is explained by a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResOr<T, F, const STATUS: u32> {
    /// It was carried out.
    Ok(T),
    /// It failed with the status that has a body.
    Explained(F),
    /// It failed with any other status.
    Fail(Status),
}

impl<T: Encode> Encode for Res<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Res::Ok(ok) => {
                Status::Ok.encode(to);
                ok.encode(to);
            }
            Res::Fail(status) => status.encode(to),
        }
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Res<T> {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(match Status::decode(from)? {
            Status::Ok => Res::Ok(T::decode(from)?),
            status => Res::Fail(status),
        })
    }
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
