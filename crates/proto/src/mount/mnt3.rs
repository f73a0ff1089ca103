//! MNT of version 3 gets the handle of an exported directory (RFC 1813 §5.2.1).

use xdr::{Decode, Decoder, Encode, Encoder};

use super::{DirPath, MAX_FLAVORS, PROGRAM};
use crate::{Operation, nfs3};

/// The status of MNT in version 3 (RFC 1813 §5.1.5, `mountstat3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// Only the owner may do it.
    Perm = 1,
    /// There is no such directory.
    NoEnt = 2,
    /// The storage failed.
    Io = 5,
    /// The caller has no access.
    Acces = 13,
    /// It is not a directory.
    NotDir = 20,
    /// The path is invalid.
    Inval = 22,
    /// The path is too long.
    NameTooLong = 63,
    /// The server does not support it.
    NotSupp = 10004,
    /// The server failed in another way.
    ServerFault = 10006,
}

/// The results of MNT of version 3 (§5.2.1, `mountres3`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mnt3Reply {
    /// Success.
    Ok(Mnt3Ok),
    /// Failure; the status is never [`Status::Ok`].
    Fail(Status),
}

/// A mounted directory (§5.2.1, `mountres3_ok`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Mnt3Ok {
    /// Its handle.
    pub handle: nfs3::FileHandle,
    /// The authentication flavours that the server accepts, the best first.
    #[xdr(max = MAX_FLAVORS)]
    pub flavors: Vec<u32>,
}

impl Encode for Mnt3Reply {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Mnt3Reply::Ok(ok) => {
                Status::Ok.encode(to);
                ok.encode(to);
            }
            Mnt3Reply::Fail(status) => status.encode(to),
        }
    }
}

impl<'a> Decode<'a> for Mnt3Reply {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(match Status::decode(from)? {
            Status::Ok => Mnt3Reply::Ok(Mnt3Ok::decode(from)?),
            status => Mnt3Reply::Fail(status),
        })
    }
}

/// MNT of version 3 gets the handle of an exported directory.
#[derive(Debug, Clone, Copy)]
pub struct Mnt3;

impl Operation for Mnt3 {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = 3;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "MNT";
    type Arguments<'a> = DirPath<'a>;
    type Reply<'a> = Mnt3Reply;
}
