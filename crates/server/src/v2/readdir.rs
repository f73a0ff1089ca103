//! READDIR (RFC 1094 §2.2.17).

use std::ops::ControlFlow;

use buffer::Output;
use proto::nfs2::{MAX_DATA_BYTES, MAX_NAME_BYTES, ReaddirArgs, Status};
use vfs::{Attributes, Detail, DirEntry};
use xdr::{Decode, Decoder, Encode, Encoder, Reserved};

use super::convert;
use super::reply::{Nfs2Result, finish};
use crate::cookie_jar::as_short;
use crate::cookies::{from_short, to_short};
use crate::fault::{Fault, NoResults};
use crate::listing::{self, Part};
use crate::node::{CallContext, Node};

/// The word that ends the list, and eof.
const TAIL_BYTES: usize = 8;

pub(super) fn run(cx: &CallContext<'_>, mut from: Decoder<'_>, output: &mut Output) -> Result<(), NoResults> {
    let args = ReaddirArgs::decode(&mut from)?;
    let start = output.bytes.len();
    match readdir(cx, &args, output) {
        Ok(()) => Ok(()),
        Err(fault) => {
            output.bytes.truncate(start);
            finish(Nfs2Result::<()>::Err(fault), output)
        }
    }
}

fn readdir(cx: &CallContext<'_>, args: &ReaddirArgs, output: &mut Output) -> Nfs2Result<()> {
    let dir = cx.node(&args.dir.0)?;
    let attributes = dir.attributes()?;
    let part = Part { cookie: from_short(&dir, args.cookie)?, detail: Detail::Names };
    let max_bytes = (args.count as usize).min(MAX_DATA_BYTES);
    list(&dir, &attributes, part, &mut Encoder::new(&mut output.bytes), max_bytes)
}

fn list(
    dir: &Node<'_>,
    attributes: &Attributes,
    part: Part,
    to: &mut Encoder<'_>,
    max_bytes: usize,
) -> Result<(), Fault> {
    let start = to.len();
    Status::Ok.encode(to);
    let (mut any, mut long_cookies) = (false, Vec::new());
    let complete = listing::list(dir, attributes, part, &mut |entry| {
        if entry.name.len() > MAX_NAME_BYTES {
            return ControlFlow::Continue(());
        }
        let before = to.len();
        let cookie_at = put_entry(&entry, to);
        if to.len() - start + TAIL_BYTES > max_bytes {
            to.truncate(before);
            return ControlFlow::Break(());
        }
        any = true;
        match as_short(entry.cookie) {
            Some(cookie) => to.fill(cookie_at, cookie),
            None => long_cookies.push((cookie_at, entry.cookie)),
        }
        ControlFlow::Continue(())
    })?;
    if !any && !complete {
        return Err(Fault::TooSmall);
    }
    fill_cookies(dir, long_cookies, to);
    to.bool(false);
    to.bool(complete);
    Ok(())
}

fn put_entry(entry: &DirEntry<'_>, to: &mut Encoder<'_>) -> Reserved {
    to.bool(true);
    to.u32(convert::fileid(entry.fileid));
    to.opaque(entry.name);
    to.reserve_u32()
}

/// Runs after the listing, so that other calls do not wait for the file system on the jar's lock.
fn fill_cookies(dir: &Node<'_>, long_cookies: Vec<(Reserved, u64)>, to: &mut Encoder<'_>) {
    for (at, long) in long_cookies {
        to.fill(at, to_short(dir, long));
    }
}
