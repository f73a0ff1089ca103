//! NFS version 3 (RFC 1813), one module per procedure.

mod access;
mod acl;
mod commit;
mod convert;
mod create;
mod fsinfo;
mod fsstat;
pub(crate) mod gather;
mod getattr;
mod link;
mod lookup;
mod make;
mod mkdir;
mod mknod;
mod pathconf;
mod read;
mod readdir;
mod readdirplus;
mod readlink;
mod remove;
mod rename;
mod reply;
mod rmdir;
mod setattr;
mod status;
mod symlink;
mod wcc;
mod write;

use buffer::Output;
use rpc::Call;
use xdr::{Decode, Decoder, Encode};

use reply::{Nfs3Result, finish};

use crate::fault::NoResults;
use crate::node::CallContext;

/// Runs one procedure and appends its results.
pub(crate) fn run(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), NoResults> {
    let from = call.arguments.clone();
    match call.procedure.number {
        0 => Ok(()),
        1 => answer(cx, from, output, getattr::getattr),
        2 => answer(cx, from, output, setattr::setattr),
        3 => answer(cx, from, output, lookup::lookup),
        4 => answer(cx, from, output, access::access),
        5 => readlink::run(cx, from, output),
        6 => read::run(cx, from, output),
        7 => answer(cx, from, output, write::write),
        8 => answer(cx, from, output, create::create),
        9 => answer(cx, from, output, mkdir::mkdir),
        10 => answer(cx, from, output, symlink::symlink),
        11 => answer(cx, from, output, mknod::mknod),
        12 => answer(cx, from, output, remove::remove),
        13 => answer(cx, from, output, rmdir::rmdir),
        14 => answer(cx, from, output, rename::rename),
        15 => answer(cx, from, output, link::link),
        16 => readdir::run(cx, from, output),
        17 => readdirplus::run(cx, from, output),
        18 => answer(cx, from, output, fsstat::fsstat),
        19 => answer(cx, from, output, fsinfo::fsinfo),
        20 => answer(cx, from, output, pathconf::pathconf),
        21 => answer(cx, from, output, commit::commit),
        _ => Err(NoResults::NoProcedure),
    }
}

/// Whether the procedure is not idempotent (RFC 1813 §4.5). WRITE and COMMIT are idempotent over a stream, which has no
/// late duplicates.
pub(crate) fn is_non_idempotent(procedure: u32) -> bool {
    matches!(procedure, 2 | 8..=15)
}

/// Runs one procedure of NFSACL version 3, and appends its results.
pub(crate) fn run_acl(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), NoResults> {
    let from = call.arguments.clone();
    match call.procedure.number {
        0 => Ok(()),
        1 => answer(cx, from, output, acl::getacl),
        2 => answer(cx, from, output, acl::setacl),
        _ => Err(NoResults::NoProcedure),
    }
}

/// Decodes the arguments, runs the procedure and appends its result.
fn answer<'a, A: Decode<'a>, T: Encode, F: Encode>(
    cx: &CallContext<'_>,
    mut from: Decoder<'a>,
    output: &mut Output,
    procedure: impl FnOnce(&CallContext<'_>, &A) -> Nfs3Result<T, F>,
) -> Result<(), NoResults> {
    let outcome = procedure(cx, &A::decode(&mut from)?);
    finish(outcome, output)
}
