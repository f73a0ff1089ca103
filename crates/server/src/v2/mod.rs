//! NFS version 2 (RFC 1094), one module per procedure.
//!
//! Sizes, offsets, file numbers and cookies have 32 bits. `convert.rs` maps larger numbers, and `crate::cookies` larger
//! cookies.

mod acl;
mod convert;
mod create;
mod getattr;
mod link;
mod lookup;
mod mkdir;
mod read;
mod readdir;
mod readlink;
mod remove;
mod rename;
mod reply;
mod rmdir;
mod setattr;
mod statfs;
mod status;
mod symlink;
mod write;

use buffer::Output;
use rpc::Call;
use xdr::{Decode, Decoder, Encode};

use reply::{Nfs2Result, finish};

use crate::fault::NoResults;
use crate::node::CallContext;

/// Runs one procedure and appends its results.
pub(crate) fn run(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), NoResults> {
    let from = call.arguments.clone();
    match call.procedure.number {
        // NULL, ROOT and WRITECACHE; the latter two are obsolete and do nothing (§2.2.4, §2.2.8).
        0 | 3 | 7 => Ok(()),
        1 => answer(cx, from, output, getattr::getattr),
        2 => answer(cx, from, output, setattr::setattr),
        4 => answer(cx, from, output, lookup::lookup),
        5 => readlink::run(cx, from, output),
        6 => read::run(cx, from, output),
        8 => answer(cx, from, output, write::write),
        9 => answer(cx, from, output, create::create),
        10 => answer(cx, from, output, remove::remove),
        11 => answer(cx, from, output, rename::rename),
        12 => answer(cx, from, output, link::link),
        13 => answer(cx, from, output, symlink::symlink),
        14 => answer(cx, from, output, mkdir::mkdir),
        15 => answer(cx, from, output, rmdir::rmdir),
        16 => readdir::run(cx, from, output),
        17 => answer(cx, from, output, statfs::statfs),
        _ => Err(NoResults::NoProcedure),
    }
}

/// Whether the procedure is not idempotent. WRITE is idempotent over a stream, which has no late duplicates.
pub(crate) fn is_non_idempotent(procedure: u32) -> bool {
    matches!(procedure, 2 | 9..=15)
}

/// Runs one procedure of NFSACL version 2, and appends its results.
pub(crate) fn run_acl(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), NoResults> {
    let from = call.arguments.clone();
    match call.procedure.number {
        0 => Ok(()),
        1 => answer(cx, from, output, acl::getacl),
        2 => answer(cx, from, output, acl::setacl),
        3 => answer(cx, from, output, getattr::getattr),
        4 => answer(cx, from, output, acl::access),
        _ => Err(NoResults::NoProcedure),
    }
}

/// Decodes the arguments, runs the procedure and appends its result.
fn answer<'a, A: Decode<'a>, T: Encode>(
    cx: &CallContext<'_>,
    mut from: Decoder<'a>,
    output: &mut Output,
    procedure: impl FnOnce(&CallContext<'_>, &A) -> Nfs2Result<T>,
) -> Result<(), NoResults> {
    let outcome = procedure(cx, &A::decode(&mut from)?);
    finish(outcome, output)
}
