//! The lock manager of NFSv2 and NFSv3, versions 1, 3 and 4 (RFC 1813 appendix II), one module per procedure.
//!
//! Locks are in the same table as those of NFSv4, so that all versions' locks conflict. A lock belongs to a host,
//! identified by address and name ([`host::HostKey`]), and there to a process on an NFSv2 or NFSv3 mount.
//!
//! The versions differ in the width of offsets, in their statuses, and in the procedures from 20 on, which version 1
//! lacks.

mod cancel;
mod file;
mod free_all;
mod granted;
mod host;
mod lock;
mod lock_request;
mod messages;
mod refusal;
mod share;
mod test;
mod unlock;
mod unshare;
mod waits;

use buffer::Output;
use proto::nlm::{
    CancelArgs, CancelRes, FreeAllArgs, GrantedRes, LockArgs, LockRes, Res, ShareArgs, TestArgs, TestRes, UnlockArgs,
    UnlockRes, V1, V3, V4, Version,
};
use rpc::Call;
use xdr::{Decode, Decoder, Encode, Encoder};

use crate::fault::NoResults;
use crate::node::CallContext;

pub(crate) use free_all::free_host;
pub(crate) use granted::{grant, retry};
pub(crate) use host::HostKey;
pub use host::lock_host;
pub(crate) use waits::Waits;

/// Runs one procedure and appends its results.
pub(crate) fn run(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), NoResults> {
    let from = &mut call.arguments.clone();
    let to = &mut Encoder::new(&mut output.bytes);
    match (call.procedure.version, call.procedure.number) {
        (1, 20..) => Err(NoResults::NoProcedure),
        (1, number) => run_version::<V1>(cx, number, from, to),
        (3, number) => run_version::<V3>(cx, number, from, to),
        (_, number) => run_version::<V4>(cx, number, from, to),
    }
}

/// Whether a late duplicate of the procedure must not run: the lock may have been released or taken since.
pub(crate) fn is_non_idempotent(procedure: u32) -> bool {
    matches!(procedure, 2..=4 | 20..=23)
}

fn run_version<V: Version>(
    cx: &CallContext<'_>,
    number: u32,
    from: &mut Decoder<'_>,
    to: &mut Encoder<'_>,
) -> Result<(), NoResults> {
    match number {
        0 => Ok(()),
        1..=5 | 22 => run_call::<V>(cx, number, from, to),
        6..=15 => run_message::<V>(cx, number, from),
        _ => run_share::<V>(cx, number, from, to),
    }
}

/// The procedures that have replies.
fn run_call<V: Version>(
    cx: &CallContext<'_>,
    number: u32,
    from: &mut Decoder<'_>,
    to: &mut Encoder<'_>,
) -> Result<(), NoResults> {
    match number {
        1 => {
            let args = TestArgs::<V::Offset>::decode(from)?;
            let tested = test::test::<V>(cx, &args)?;
            test::reply::<V>(args.cookie, &tested).encode(to);
        }
        3 => {
            let args = CancelArgs::<V::Offset>::decode(from)?;
            refusal::res::<V>(args.cookie, cancel::cancel::<V>(cx, &args))?.encode(to);
        }
        4 => {
            let args = UnlockArgs::<V::Offset>::decode(from)?;
            refusal::res::<V>(args.cookie, unlock::unlock::<V>(cx, &args))?.encode(to);
        }
        5 => granted::refuse(&TestArgs::<V::Offset>::decode(from)?).encode(to),
        // NM_LOCK asks for no monitoring of the client; recording it does no harm.
        _ => {
            let args = LockArgs::<V::Offset>::decode(from)?;
            refusal::res::<V>(args.cookie, lock::lock::<V>(cx, &args, false))?.encode(to);
        }
    }
    Ok(())
}

/// The procedures that are answered by another call, and those that are such answers.
fn run_message<V: Version>(cx: &CallContext<'_>, number: u32, from: &mut Decoder<'_>) -> Result<(), NoResults> {
    match number {
        6 => {
            let args = TestArgs::<V::Offset>::decode(from)?;
            let tested = test::test::<V>(cx, &args)?;
            messages::send::<TestRes<V>>(cx, &test::reply::<V>(args.cookie, &tested));
        }
        7 => {
            let args = LockArgs::<V::Offset>::decode(from)?;
            let outcome = lock::lock::<V>(cx, &args, true);
            messages::send::<LockRes<V>>(cx, &refusal::res::<V>(args.cookie, outcome)?);
        }
        8 => {
            let args = CancelArgs::<V::Offset>::decode(from)?;
            let outcome = cancel::cancel::<V>(cx, &args);
            messages::send::<CancelRes<V>>(cx, &refusal::res::<V>(args.cookie, outcome)?);
        }
        9 => {
            let args = UnlockArgs::<V::Offset>::decode(from)?;
            let outcome = unlock::unlock::<V>(cx, &args);
            messages::send::<UnlockRes<V>>(cx, &refusal::res::<V>(args.cookie, outcome)?);
        }
        10 => {
            let args = TestArgs::<V::Offset>::decode(from)?;
            messages::send::<GrantedRes<V>>(cx, &granted::refuse(&args));
        }
        15 => granted::granted_res(cx, &Res::decode(from)?),
        // The others answer messages that a server does not send.
        _ => {}
    }
    Ok(())
}

/// The procedures of versions 3 and 4 that are not for locks.
fn run_share<V: Version>(
    cx: &CallContext<'_>,
    number: u32,
    from: &mut Decoder<'_>,
    to: &mut Encoder<'_>,
) -> Result<(), NoResults> {
    match number {
        20 => {
            let args = ShareArgs::decode(from)?;
            refusal::share_res::<V>(args.cookie, share::share::<V>(cx, &args))?.encode(to);
        }
        21 => {
            let args = ShareArgs::decode(from)?;
            refusal::share_res::<V>(args.cookie, unshare::unshare::<V>(cx, &args))?.encode(to);
        }
        23 => free_all::free_all(cx, &FreeAllArgs::decode(from)?),
        _ => return Err(NoResults::NoProcedure),
    }
    Ok(())
}
