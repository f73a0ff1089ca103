//! The lock manager of NFSv2 and NFSv3, versions 1, 3 and 4 (RFC 1813 appendix II), one module per procedure.
//!
//! Its locks live in the table that NFSv4's live in, so that those of all versions meet. A lock belongs to a host, which is
//! an address together with a name ([`host::HostKey`]), and there to a process.
//!
//! The versions differ in the width of offsets, in the statuses that they know, and in the procedures from 20 on, which version 1
//! has not.

mod cancel;
mod file;
mod free_all;
mod host;
mod lock;
mod refusal;
mod share;
mod test;
mod unlock;
mod unshare;
mod wanted;

use buffer::Output;
use proto::nlm::{CancelArgs, FreeAllArgs, LockArgs, ShareArgs, TestArgs, UnlockArgs, V1, V3, V4, Version};
use rpc::Call;
use xdr::{Decode, Decoder, Encode, Encoder};

use crate::fault::Stop;
use crate::node::CallContext;

pub(crate) use free_all::free_host;
pub(crate) use host::HostKey;

/// Carries out one procedure and appends its results.
pub(crate) fn run(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), Stop> {
    let from = &mut call.arguments.clone();
    let to = &mut Encoder::new(&mut output.bytes);
    match (call.procedure.version, call.procedure.number) {
        (1, 20..) => Err(Stop::NoProcedure),
        (1, number) => run_version::<V1>(cx, number, from, to),
        (3, number) => run_version::<V3>(cx, number, from, to),
        (_, number) => run_version::<V4>(cx, number, from, to),
    }
}

/// Whether a procedure must not be carried out once more when its call comes again late: the lock may have been given up since,
/// or taken.
pub(crate) fn happens_once(procedure: u32) -> bool {
    matches!(procedure, 2..=4 | 20..=23)
}

fn run_version<V: Version>(
    cx: &CallContext<'_>,
    number: u32,
    from: &mut Decoder<'_>,
    to: &mut Encoder<'_>,
) -> Result<(), Stop> {
    match number {
        0 => {}
        1 => {
            let args = TestArgs::<V::Offset>::decode(from)?;
            let tested = test::test::<V>(cx, &args)?;
            test::reply::<V>(args.cookie, &tested).encode(to);
        }
        // NM_LOCK says that nobody need watch the client; that it is on record does no harm.
        2 | 22 => {
            let args = LockArgs::<V::Offset>::decode(from)?;
            refusal::res::<V>(args.cookie, lock::lock::<V>(cx, &args))?.encode(to);
        }
        3 => {
            let args = CancelArgs::<V::Offset>::decode(from)?;
            refusal::res::<V>(args.cookie, cancel::cancel::<V>(cx, &args))?.encode(to);
        }
        4 => {
            let args = UnlockArgs::<V::Offset>::decode(from)?;
            refusal::res::<V>(args.cookie, unlock::unlock::<V>(cx, &args))?.encode(to);
        }
        20 => {
            let args = ShareArgs::decode(from)?;
            refusal::share_res::<V>(args.cookie, share::share(cx, &args))?.encode(to);
        }
        21 => {
            let args = ShareArgs::decode(from)?;
            refusal::share_res::<V>(args.cookie, unshare::unshare(cx, &args))?.encode(to);
        }
        23 => free_all::free_all(cx, &FreeAllArgs::decode(from)?),
        _ => return Err(Stop::NoProcedure),
    }
    Ok(())
}
