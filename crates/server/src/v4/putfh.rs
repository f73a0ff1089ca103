//! PUTFH (RFC 7530 §16.20, RFC 8881 §18.19).

use proto::nfs4::{MinorVersion, OpNumber, PutfhArgs, Status};
use xdr::Decoder;

use super::compound::Compound;
use super::failure::{Failure, OpResult};
use super::progress::Foreign;
use crate::fault::Fault;

/// Makes a file the current one; `rest` are the operations after this one.
pub(super) fn putfh(compound: &mut Compound<'_>, args: &PutfhArgs, rest: &Decoder<'_>) -> OpResult<()> {
    let cx = compound.cx;
    match cx.exports.resolve(args.object.as_bytes()) {
        Ok((exported, handle)) => compound.set_current(exported, handle),
        Err(error) => match Failure::from(Fault::from(error)) {
            Failure::Status(status) if may_be_foreign(compound, rest) => {
                set_foreign(compound, args, status);
                Ok(())
            }
            failure => Err(failure),
        },
    }
}

/// Whether the handle may be another server's: the next operation saves it, for a COPY (RFC 7862 §15.2.3).
fn may_be_foreign(compound: &Compound<'_>, rest: &Decoder<'_>) -> bool {
    compound.progress.minor >= MinorVersion::V2
        && compound.cx.server.copies.remote_files().is_some()
        && rest.clone().u32() == Ok(OpNumber::Savefh.number())
}

fn set_foreign(compound: &mut Compound<'_>, args: &PutfhArgs, status: Status) {
    compound.current = None;
    let progress = &mut compound.progress;
    progress.current_stateid = None;
    progress.foreign = Some(Foreign { handle: args.object, status, is_saved: false });
}
