//! MOUNT versions 1 and 2 (RFC 1094 Appendix A) and 3 (RFC 1813 §5), one module per procedure.
//!
//! The versions differ only in the reply of MNT and in two procedures that version 3 lacks.

mod directory;
mod dump;
mod export;
mod list;
mod mnt;
mod pathconf;
mod reply;
mod status;
mod umnt;
mod umntall;

use buffer::Output;
use proto::mount::DirPath;
use rpc::Call;
use xdr::{Decode, Encode, Encoder};

use crate::fault::NoResults;
use crate::node::CallContext;

pub(crate) use list::MountList;

/// Runs one procedure and appends its results.
pub(crate) fn run(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), NoResults> {
    let mut from = call.arguments.clone();
    let to = &mut Encoder::new(&mut output.bytes);
    match (call.procedure.version, call.procedure.number) {
        (_, 0) => {}
        (3, 1) => mnt::mnt3(cx, &DirPath::decode(&mut from)?)?.encode(to),
        (_, 1) => mnt::mnt(cx, &DirPath::decode(&mut from)?)?.encode(to),
        (_, 2) => dump::dump(cx, to),
        (_, 3) => umnt::umnt(cx, &DirPath::decode(&mut from)?),
        (_, 4) => umntall::umntall(cx),
        (_, 5) | (1 | 2, 6) => export::export(cx, to),
        (2, 7) => pathconf::pathconf(cx, &DirPath::decode(&mut from)?)?.encode(to),
        _ => return Err(NoResults::NoProcedure),
    }
    Ok(())
}
