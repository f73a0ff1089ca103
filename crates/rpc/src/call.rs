use std::fmt;

use xdr::{Decode, Decoder, Encode, Encoder};

use crate::{AuthSys, Credential, Flavor, MESSAGE_CALL, OpaqueAuth, RPC_VERSION};

/// A client's number for a call: the reply repeats it, and a retransmission keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Xid(pub u32);

impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// A procedure to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Procedure {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The procedure of that version.
    pub number: u32,
}

/// A call that a server received (RFC 5531 §9, `call_body`).
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The client's number for the call.
    pub xid: Xid,
    /// The called procedure.
    pub procedure: Procedure,
    /// The caller's credential.
    pub credential: OpaqueAuth<'a>,
    /// The proof of the credential.
    pub verifier: OpaqueAuth<'a>,
    /// The procedure's arguments, not decoded yet.
    pub arguments: Decoder<'a>,
}

/// The reason why a message is not a valid call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It is a reply or malformed, so that there is nothing to answer.
    #[error("not a call: {0}")]
    NotACall(#[source] xdr::Error),
    /// It has another version of the RPC protocol; the answer is RPC_MISMATCH.
    #[error("call {xid} is of RPC version {version}")]
    WrongVersion {
        /// The client's number for the call.
        xid: Xid,
        /// The version.
        version: u32,
    },
    /// Its header is malformed after the version; the answer is GARBAGE_ARGS.
    #[error("call {xid} has a broken header: {source}")]
    Broken {
        /// The client's number for the call.
        xid: Xid,
        /// The error.
        source: xdr::Error,
    },
}

impl<'a> Call<'a> {
    /// Decodes the header of a call.
    ///
    /// # Errors
    /// [`CallError`], each variant with its answer.
    pub fn parse(message: &'a [u8]) -> Result<Call<'a>, CallError> {
        let mut from = Decoder::new(message);
        let (xid, version) = Self::parse_start(&mut from).map_err(CallError::NotACall)?;
        if version != RPC_VERSION {
            return Err(CallError::WrongVersion { xid, version });
        }
        Self::parse_body(xid, from).map_err(|source| CallError::Broken { xid, source })
    }

    fn parse_start(from: &mut Decoder<'a>) -> xdr::Result<(Xid, u32)> {
        let xid = Xid(from.u32()?);
        match from.u32()? {
            MESSAGE_CALL => Ok((xid, from.u32()?)),
            other => Err(from.bad_value("call", other)),
        }
    }

    fn parse_body(xid: Xid, mut from: Decoder<'a>) -> xdr::Result<Call<'a>> {
        let procedure = Procedure { program: from.u32()?, version: from.u32()?, number: from.u32()? };
        let credential = OpaqueAuth::decode(&mut from)?;
        let verifier = OpaqueAuth::decode(&mut from)?;
        Ok(Call { xid, procedure, credential, verifier, arguments: from })
    }
}

/// The parts of a message that identify a call: up to the flavour of its credential, and behind it. A retransmission
/// may have another stamp and machine name in its AUTH_SYS credential, which are arbitrary (RFC 5531 appendix A): these
/// are in neither part.
pub fn identifying_parts(message: &[u8]) -> [&[u8]; 2] {
    /// The XID, the kind of message, the versions and numbers of RPC, program and procedure, and the flavour (§9).
    const HEAD_BYTES: usize = 28;
    let (head, behind) = message.split_at(message.len().min(HEAD_BYTES));
    let is_sys = head.ends_with(&Flavor::SYS.0.to_be_bytes());
    let identity = if is_sys { behind_the_arbitrary(behind) } else { None };
    [head, identity.unwrap_or(behind)]
}

/// What follows the length, the stamp and the machine name of an AUTH_SYS credential.
fn behind_the_arbitrary(credential: &[u8]) -> Option<&[u8]> {
    const LENGTH_AND_STAMP_BYTES: usize = 8;
    let mut from = Decoder::new(credential.get(LENGTH_AND_STAMP_BYTES..)?);
    from.opaque(AuthSys::MAX_MACHINE_NAME).ok()?;
    Some(from.rest())
}

impl Procedure {
    /// Appends the header of a call of this procedure; its arguments follow.
    pub fn encode_call(&self, xid: Xid, credential: &Credential<'_>, to: &mut Encoder<'_>) {
        for word in [xid.0, MESSAGE_CALL, RPC_VERSION, self.program, self.version, self.number] {
            to.u32(word);
        }
        credential.encode(to);
        OpaqueAuth::NONE.encode(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use buffer::Buffer;

    const READ: Procedure = Procedure { program: 100_003, version: 3, number: 6 };

    fn call() -> Buffer {
        let mut buffer = Buffer::new();
        let credential = Credential::Sys(AuthSys::new(b"box", 1, 2, &[]));
        READ.encode_call(Xid(9), &credential, &mut Encoder::new(&mut buffer));
        buffer.put(b"args");
        buffer
    }

    #[test]
    fn call_comes_back_out_of_its_bytes() {
        let buffer = call();
        let call = Call::parse(buffer.as_slice()).unwrap();
        assert_eq!((call.xid, call.procedure, call.arguments.rest()), (Xid(9), READ, &b"args"[..]));
        assert!(matches!(Credential::parse(&call.credential), Some(Ok(Credential::Sys(sys))) if sys.uid == 1));
    }

    #[test]
    fn call_is_identified_by_user_and_arguments_and_not_by_stamp_and_machine_name() {
        let parts = |name: &'static [u8], stamp, uid| {
            let mut sys = AuthSys::new(name, uid, 2, &[3]);
            sys.stamp = stamp;
            let mut buffer = Buffer::new();
            READ.encode_call(Xid(9), &Credential::Sys(sys), &mut Encoder::new(&mut buffer));
            identifying_parts(buffer.as_slice()).map(<[u8]>::to_vec)
        };
        assert_eq!(parts(b"box", 1, 1), parts(b"another box", 2, 1));
        assert_ne!(parts(b"box", 1, 1), parts(b"box", 1, 2));
        assert_eq!(identifying_parts(b"short"), [&b"short"[..], &[]]);
    }

    #[test]
    fn reply_is_not_answered() {
        assert!(matches!(Call::parse(&[0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0]), Err(CallError::NotACall(_))));
    }

    #[test]
    fn every_cut_of_a_call_is_an_error() {
        let buffer = call();
        let header_bytes = buffer.len() - 4;
        for length in 0..header_bytes {
            assert!(Call::parse(&buffer.as_slice()[..length]).is_err(), "cut to {length} bytes");
        }
    }

    #[test]
    fn credential_over_400_bytes_is_broken() {
        let mut message = vec![0; 24];
        message[11] = 2;
        message.extend([0, 0, 0, 1, 0, 0, 1, 0x91]);
        message.extend([0; 500]);
        assert!(matches!(
            Call::parse(&message),
            Err(CallError::Broken { source: xdr::Error::TooLong { length: 401, .. }, .. })
        ));
    }
}
