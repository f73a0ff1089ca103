//! MNT of versions 1 and 2 gets the handle of an exported directory (RFC 1094 §A.5.2).

use xdr::{Decode, Decoder, Encode, Encoder};

use super::{DirPath, PROGRAM};
use crate::{Operation, nfs2};

/// The reason why a mount was refused: a UNIX error number, never 0 (RFC 1094 §A.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub u32);

/// The results of MNT of versions 1 and 2 (RFC 1094 §A.4.2, `fhstatus`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MntReply {
    /// The directory's handle.
    Ok(nfs2::FileHandle),
    /// The mount was refused.
    Fail(Errno),
}

impl Encode for MntReply {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            MntReply::Ok(handle) => {
                to.u32(0);
                handle.encode(to);
            }
            MntReply::Fail(errno) => to.u32(errno.0),
        }
    }
}

impl<'a> Decode<'a> for MntReply {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(match from.u32()? {
            0 => MntReply::Ok(nfs2::FileHandle::decode(from)?),
            errno => MntReply::Fail(Errno(errno)),
        })
    }
}

/// MNT of versions 1 and 2 gets the handle of an exported directory.
#[derive(Debug, Clone, Copy)]
pub struct Mnt<const VERSION: u32>;

impl<const VERSION: u32> Operation for Mnt<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "MNT";
    type Arguments<'a> = DirPath<'a>;
    type Reply<'a> = MntReply;
}
