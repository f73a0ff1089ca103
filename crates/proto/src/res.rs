use xdr::{Decode, Decoder, Encode, Encoder};

/// The statuses of a protocol, one of which is success.
pub trait StatusCode: Copy + Eq + Encode + for<'a> Decode<'a> {
    /// Success.
    const OK: Self;
}

/// A reply with results only for success (RFC 1094 §2.3; RFC 7531 §2, RFC 5662 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Res<T, S> {
    /// Success.
    Ok(T),
    /// Failure; the status is never [`StatusCode::OK`].
    Fail(S),
}

impl<T: Encode, S: StatusCode> Encode for Res<T, S> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Res::Ok(ok) => {
                S::OK.encode(to);
                ok.encode(to);
            }
            Res::Fail(status) => status.encode(to),
        }
    }
}

impl<'a, T: Decode<'a>, S: StatusCode> Decode<'a> for Res<T, S> {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        let status = S::decode(from)?;
        Ok(if status == S::OK { Res::Ok(T::decode(from)?) } else { Res::Fail(status) })
    }
}
