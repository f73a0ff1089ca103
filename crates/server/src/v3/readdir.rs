//! READDIR (RFC 1813 §3.3.16).

use std::ops::ControlFlow;

use buffer::Output;
use proto::nfs3::{self, PostOpAttr, ReaddirArgs, ReaddirHead, Status};
use vfs::{Attributes, Detail};
use xdr::{Decode, Decoder, Encode, Encoder};

use super::convert;
use super::reply::{Nfs3Result, finish_in_place};
use crate::fault::{Fault, NoResults};
use crate::listing::{self, Part};
use crate::node::{CallContext, Node};
use crate::transfer;

/// The word that ends the list, and eof.
pub(super) const TAIL_BYTES: usize = 8;

pub(super) fn run(cx: &CallContext<'_>, mut from: Decoder<'_>, output: &mut Output) -> Result<(), NoResults> {
    let args = ReaddirArgs::decode(&mut from)?;
    finish_in_place(output, |output| readdir(cx, &args, output))
}

fn readdir(cx: &CallContext<'_>, args: &ReaddirArgs, output: &mut Output) -> Nfs3Result<(), PostOpAttr> {
    let dir = cx.node(args.dir.as_bytes())?;
    let attributes = dir.attributes()?;
    let max_bytes = args.count.min(transfer::max_reply_bytes(cx)) as usize;
    let to = &mut Encoder::new(&mut output.bytes);
    list(&dir, &attributes, args, to, max_bytes).map_err(|fault| fault.with(|| Some(convert::fattr(&dir, &attributes))))
}

fn list(
    dir: &Node<'_>,
    attributes: &Attributes,
    args: &ReaddirArgs,
    to: &mut Encoder<'_>,
    max_bytes: usize,
) -> Result<(), Fault> {
    let part = Part { cookie: args.cookie, detail: Detail::Names };
    begin(dir, attributes, args.cookie, args.verifier, to)?;
    let start = to.len() - HEAD_BYTES;
    let mut any = false;
    let complete = listing::list(dir, attributes, part, &mut |entry| {
        let before = to.len();
        to.bool(true);
        nfs3::DirEntry { fileid: entry.fileid, name: entry.name, cookie: entry.cookie }.encode(to);
        if to.len() - start + TAIL_BYTES > max_bytes {
            to.truncate(before);
            return ControlFlow::Break(());
        }
        any = true;
        ControlFlow::Continue(())
    })?;
    end(to, any, complete)
}

/// The bytes of [`ReaddirHead`] with attributes.
const HEAD_BYTES: usize = 4 + 84 + 8;

/// Checks the cookie's verifier and appends the status and the head.
pub(super) fn begin(
    dir: &Node<'_>,
    attributes: &Attributes,
    cookie: u64,
    verifier: nfs3::CookieVerifier,
    to: &mut Encoder<'_>,
) -> Result<(), Fault> {
    let current = dir.fs().properties().cookie_verifier.to_be_bytes();
    if cookie != 0 && verifier != current {
        return Err(vfs::Error::BadCookie.into());
    }
    Status::Ok.encode(to);
    ReaddirHead { dir_attributes: Some(convert::fattr(dir, attributes)), verifier: current }.encode(to);
    Ok(())
}

/// Ends the list. A reply without room for its first entry is too small (§3.3.16: TOOSMALL).
pub(super) fn end(to: &mut Encoder<'_>, any: bool, complete: bool) -> Result<(), Fault> {
    if !any && !complete {
        return Err(Fault::TooSmall);
    }
    to.bool(false);
    to.bool(complete);
    Ok(())
}
