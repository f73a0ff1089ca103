use xdr::{Decode, Decoder, Encode, Encoder};

use crate::{MESSAGE_REPLY, OpaqueAuth, RPC_VERSION, Xid};

const REPLY_ACCEPTED: u32 = 0;
const REPLY_DENIED: u32 = 1;
const DENIED_RPC_MISMATCH: u32 = 0;
const DENIED_AUTH_ERROR: u32 = 1;

/// The reason why a credential was refused (RFC 5531 §9, `auth_stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum AuthStat {
    /// There is no error.
    Ok = 0,
    /// The credential is malformed.
    BadCredential = 1,
    /// The client must start a new session.
    RejectedCredential = 2,
    /// The verifier is malformed.
    BadVerifier = 3,
    /// The verifier has expired or was replayed.
    RejectedVerifier = 4,
    /// A stronger flavour is required.
    TooWeak = 5,
    /// The server's reply could not be verified.
    InvalidResponse = 6,
    /// The reason is unknown.
    Failed = 7,
    /// Kerberos failed.
    KerberosGeneric = 8,
    /// The credential has expired.
    TimeExpired = 9,
    /// The ticket file is invalid.
    TicketFile = 10,
    /// The authenticator cannot be decoded.
    Undecodable = 11,
    /// The ticket belongs to another network address.
    NetAddress = 12,
    /// The user has no credentials (RPCSEC_GSS).
    NoGssCredentials = 13,
    /// The context no longer exists (RPCSEC_GSS).
    NoGssContext = 14,
}

/// The reason why a call was not executed (RFC 5531 §9, `accept_stat` and `reject_stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Rejection {
    /// PROG_UNAVAIL: the server does not have this program.
    #[error("the server does not have this program")]
    ProgramUnavailable,
    /// PROG_MISMATCH: the server has only other versions of the program.
    #[error("the server has versions {low} to {high} of this program")]
    ProgramMismatch {
        /// The lowest supported version.
        low: u32,
        /// The highest supported version.
        high: u32,
    },
    /// PROC_UNAVAIL: the program does not have this procedure.
    #[error("the server does not have this procedure")]
    ProcedureUnavailable,
    /// GARBAGE_ARGS: the arguments cannot be decoded.
    #[error("the server could not decode the arguments")]
    GarbageArguments,
    /// SYSTEM_ERR: the server failed, for example for lack of memory.
    #[error("the server had a system error")]
    SystemError,
    /// RPC_MISMATCH: the server requires another version of RPC.
    #[error("the server has RPC versions {low} to {high}")]
    RpcMismatch {
        /// The lowest supported version.
        low: u32,
        /// The highest supported version.
        high: u32,
    },
    /// AUTH_ERROR: the credential was refused.
    #[error("the server refused the credential ({0:?})")]
    AuthError(AuthStat),
}

/// The outcome of a call.
#[derive(Debug, Clone)]
pub enum CallResult<'a> {
    /// Success; the results are not decoded yet.
    Success(Decoder<'a>),
    /// The call was not executed.
    Rejected(Rejection),
}

/// A reply that a client received.
#[derive(Debug, Clone)]
pub struct Reply<'a> {
    /// The number of the call.
    pub xid: Xid,
    /// Its outcome.
    pub outcome: CallResult<'a>,
}

/// The reason why a message is not a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an RPC reply: {0}")]
pub struct ReplyError(#[from] xdr::Error);

/// Whether a message is marked as a reply; it may still be malformed.
pub fn is_reply(message: &[u8]) -> bool {
    message.get(4..8) == Some(&MESSAGE_REPLY.to_be_bytes())
}

impl<'a> Reply<'a> {
    /// Decodes the header of a reply.
    ///
    /// # Errors
    /// When the message is not a reply.
    pub fn parse(message: &'a [u8]) -> Result<Reply<'a>, ReplyError> {
        let mut from = Decoder::new(message);
        let xid = Xid(from.u32()?);
        match from.u32()? {
            MESSAGE_REPLY => {}
            other => return Err(from.bad_value("reply", other).into()),
        }
        let outcome = match from.u32()? {
            REPLY_ACCEPTED => Self::parse_accepted(from)?,
            REPLY_DENIED => CallResult::Rejected(Self::parse_denied(&mut from)?),
            other => return Err(from.bad_value("reply_stat", other).into()),
        };
        Ok(Reply { xid, outcome })
    }

    fn parse_accepted(mut from: Decoder<'a>) -> xdr::Result<CallResult<'a>> {
        OpaqueAuth::decode(&mut from)?;
        let rejection = match from.u32()? {
            0 => return Ok(CallResult::Success(from)),
            1 => Rejection::ProgramUnavailable,
            2 => Rejection::ProgramMismatch { low: from.u32()?, high: from.u32()? },
            3 => Rejection::ProcedureUnavailable,
            4 => Rejection::GarbageArguments,
            5 => Rejection::SystemError,
            other => return Err(from.bad_value("accept_stat", other)),
        };
        Ok(CallResult::Rejected(rejection))
    }

    fn parse_denied(from: &mut Decoder<'a>) -> xdr::Result<Rejection> {
        match from.u32()? {
            DENIED_RPC_MISMATCH => Ok(Rejection::RpcMismatch { low: from.u32()?, high: from.u32()? }),
            DENIED_AUTH_ERROR => Ok(Rejection::AuthError(AuthStat::decode(from)?)),
            other => Err(from.bad_value("reject_stat", other)),
        }
    }

    /// Appends the header of a successful reply; its results follow.
    #[inline]
    pub fn encode_success(xid: Xid, to: &mut Encoder<'_>) {
        const AFTER_XID: [u8; 20] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        to.u32(xid.0);
        to.fixed(&AFTER_XID);
    }

    /// Appends the complete reply to a call that was not executed.
    pub fn encode_rejection(xid: Xid, rejection: Rejection, to: &mut Encoder<'_>) {
        to.u32(xid.0);
        to.u32(MESSAGE_REPLY);
        match rejection {
            Rejection::RpcMismatch { low, high } => words(to, &[REPLY_DENIED, DENIED_RPC_MISMATCH, low, high]),
            Rejection::AuthError(stat) => {
                words(to, &[REPLY_DENIED, DENIED_AUTH_ERROR]);
                stat.encode(to);
            }
            accepted => {
                to.u32(REPLY_ACCEPTED);
                OpaqueAuth::NONE.encode(to);
                words(to, accepted.accept_words().as_slice());
            }
        }
    }

    /// Appends the complete reply to a call of another RPC version.
    pub fn encode_wrong_version(xid: Xid, to: &mut Encoder<'_>) {
        Self::encode_rejection(xid, Rejection::RpcMismatch { low: RPC_VERSION, high: RPC_VERSION }, to);
    }
}

impl Rejection {
    fn accept_words(self) -> Vec<u32> {
        match self {
            Rejection::ProgramUnavailable => vec![1],
            Rejection::ProgramMismatch { low, high } => vec![2, low, high],
            Rejection::ProcedureUnavailable => vec![3],
            Rejection::GarbageArguments => vec![4],
            Rejection::SystemError | Rejection::RpcMismatch { .. } | Rejection::AuthError(_) => vec![5],
        }
    }
}

fn words(to: &mut Encoder<'_>, words: &[u32]) {
    words.iter().for_each(|word| to.u32(*word));
}

#[cfg(test)]
mod tests {
    use super::*;
    use buffer::Buffer;

    fn written(write: impl FnOnce(&mut Encoder<'_>)) -> Buffer {
        let mut buffer = Buffer::new();
        write(&mut Encoder::new(&mut buffer));
        buffer
    }

    #[test]
    fn success_is_24_bytes_and_then_the_results() {
        let buffer = written(|to| {
            Reply::encode_success(Xid(5), to);
            to.u32(77);
        });
        assert_eq!(buffer.len(), 28);
        let reply = Reply::parse(buffer.as_slice()).unwrap();
        assert!(
            matches!(reply, Reply { xid: Xid(5), outcome: CallResult::Success(from) } if from.rest() == [0, 0, 0, 77])
        );
    }

    #[test]
    fn every_rejection_comes_back_out_of_its_bytes() {
        let all = [
            Rejection::ProgramUnavailable,
            Rejection::ProgramMismatch { low: 2, high: 4 },
            Rejection::ProcedureUnavailable,
            Rejection::GarbageArguments,
            Rejection::SystemError,
            Rejection::RpcMismatch { low: 2, high: 2 },
            Rejection::AuthError(AuthStat::TooWeak),
        ];
        for rejection in all {
            let buffer = written(|to| Reply::encode_rejection(Xid(1), rejection, to));
            let reply = Reply::parse(buffer.as_slice()).unwrap();
            assert!(matches!(reply.outcome, CallResult::Rejected(found) if found == rejection), "{rejection:?}");
        }
    }
}
