//! READDIRPLUS (RFC 1813 §3.3.17).

use std::ops::ControlFlow;

use buffer::Output;
use proto::nfs3::{self, DirEntryPlus, PostOpAttr, ReaddirplusArgs};
use vfs::{Attributes, Detail, DirEntry};
use xdr::{Decode, Decoder, Encode, Encoder};

use super::convert;
use super::readdir::{TAIL_BYTES, begin, end};
use super::reply::{Nfs3Result, finish_in_place};
use crate::fault::{Fault, NoResults};
use crate::listing::{self, Part};
use crate::node::{CallContext, Node};
use crate::transfer;

pub(super) fn run(cx: &CallContext<'_>, mut from: Decoder<'_>, output: &mut Output) -> Result<(), NoResults> {
    let args = ReaddirplusArgs::decode(&mut from)?;
    finish_in_place(output, |output| readdirplus(cx, &args, output))
}

fn readdirplus(cx: &CallContext<'_>, args: &ReaddirplusArgs, output: &mut Output) -> Nfs3Result<(), PostOpAttr> {
    let dir = cx.node(args.dir.as_bytes())?;
    let attributes = dir.attributes()?;
    let args = ReaddirplusArgs { max_count: args.max_count.min(transfer::max_reply_bytes(cx)), ..*args };
    let to = &mut Encoder::new(&mut output.bytes);
    list(&dir, &attributes, &args, to).map_err(|fault| fault.with(|| Some(convert::fattr(&dir, &attributes))))
}

fn list(dir: &Node<'_>, attributes: &Attributes, args: &ReaddirplusArgs, to: &mut Encoder<'_>) -> Result<(), Fault> {
    let status_at = to.len();
    begin(dir, attributes, args.cookie, args.verifier, to)?;
    let start = status_at + 4;
    let part = Part { cookie: args.cookie, detail: Detail::Entries };
    let (mut any, mut names_bytes) = (false, 0);
    let complete = listing::list(dir, attributes, part, &mut |entry| {
        let before = to.len();
        to.bool(true);
        entry_plus(dir, &entry).encode(to);
        names_bytes += names_part(&entry);
        // The first entry is sent however small `dir_count` is, since that limit only saves work.
        let is_full = to.len() - start + TAIL_BYTES > args.max_count as usize;
        if is_full || (any && names_bytes > args.dir_count as usize) {
            to.truncate(before);
            return ControlFlow::Break(());
        }
        any = true;
        ControlFlow::Continue(())
    })?;
    end(to, any, complete)
}

/// The bytes that count against `dir_count`: number, name and cookie.
fn names_part(entry: &DirEntry<'_>) -> usize {
    8 + 4 + xdr::padded(entry.name.len()) + 8
}

fn entry_plus<'e>(dir: &Node<'_>, entry: &DirEntry<'e>) -> DirEntryPlus<'e> {
    let file = entry.entry;
    DirEntryPlus {
        entry: nfs3::DirEntry { fileid: entry.fileid, name: entry.name, cookie: entry.cookie },
        attributes: file.map(|file| convert::fattr(dir, &file.attributes)),
        handle: file.map(|file| convert::file_handle(&dir.sibling(file.handle))),
    }
}
