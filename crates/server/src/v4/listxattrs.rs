//! LISTXATTRS (RFC 8276 §8.4.3). A cookie is the number of names returned so far, in byte order.

use buffer::Output;
use proto::nfs4::{Component, ListxattrsArgs, ListxattrsOk, MAX_XATTR_NAMES, Status};
use vfs::Access;
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::failure::OpResult;
use super::xattr;

/// The cookie, the number of names, and eof.
const FIXED_BYTES: usize = 8 + 4 + 4;

pub(super) fn run(compound: &mut Compound<'_>, args: &ListxattrsArgs, output: &mut Output) -> OpResult<()> {
    let (node, has_attributes) = xattr::any_node(compound, Access::READ)?;
    // A file that can have none gets an empty list, as from listxattr(2): Linux's client turns WRONG_TYPE into EIO.
    let all = if has_attributes { node.fs().list_xattrs(&node.context, &node.handle)? } else { Vec::new() };
    let first = usize::try_from(args.cookie).ok().filter(|&first| first <= all.len()).ok_or(Status::BadCookie)?;
    let names = fitting(&all[first..], args.max_count as usize);
    if names.is_empty() && first < all.len() {
        return Err(Status::TooSmall.into());
    }
    let after = first + names.len();
    let ok = ListxattrsOk { cookie: after as u64, names, eof: after == all.len() };
    ok.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}

/// The names that fit into `max_bytes` of results.
fn fitting(all: &[Box<[u8]>], max_bytes: usize) -> Vec<Component<'_>> {
    let mut left = max_bytes.saturating_sub(FIXED_BYTES);
    let mut fits = |name: &[u8]| {
        let bytes = 4 + xdr::padded(name.len());
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    };
    all.iter().take(MAX_XATTR_NAMES).map(|name| Component(name)).take_while(|name| fits(name.0)).collect()
}
