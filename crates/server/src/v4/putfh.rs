//! PUTFH (RFC 7530 §16.20, RFC 8881 §18.19).

use proto::nfs4::{FileHandle, MinorVersion, OpNumber, Status};
use xdr::Decoder;

use super::compound::Compound;
use super::failure::{Failure, OpResult};
use super::progress::Foreign;
use crate::fault::Fault;

/// Makes a file the current one. The handle, the only argument, is read from the call's bytes: a copy has 128.
pub(super) fn run(compound: &mut Compound<'_>, from: &mut Decoder<'_>) -> OpResult<()> {
    let object = from.opaque(FileHandle::MAX_BYTES).map_err(|_| Status::BadXdr)?;
    let cx = compound.cx;
    match cx.exports.resolve(object) {
        Ok((exported, handle)) => compound.set_current(exported, handle),
        Err(error) => match (Failure::from(Fault::from(error)), FileHandle::new(object)) {
            (Failure::Status(status), Some(handle)) if may_be_foreign(compound, from) => {
                set_foreign(compound, Foreign { handle, status, is_saved: false });
                Ok(())
            }
            (failure, _) => Err(failure),
        },
    }
}

/// Whether the handle may be another server's: the next operation saves it, for a COPY (RFC 7862 §15.2.3).
fn may_be_foreign(compound: &Compound<'_>, rest: &Decoder<'_>) -> bool {
    compound.progress.minor >= MinorVersion::V2
        && compound.cx.server.copies.remote_files().is_some()
        && rest.clone().u32() == Ok(OpNumber::Savefh.number())
}

fn set_foreign(compound: &mut Compound<'_>, foreign: Foreign) {
    compound.current = None;
    compound.progress.current_stateid = None;
    compound.progress.foreign = Some(foreign);
}
