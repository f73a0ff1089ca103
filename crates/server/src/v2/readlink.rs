//! READLINK (RFC 1094 §2.2.6).

use buffer::Output;
use proto::nfs2::{MAX_PATH_BYTES, ReadlinkArgs, ReadlinkOk};
use xdr::{Decode, Decoder};

use super::reply::{Nfs2Result, finish};
use crate::fault::NoResults;
use crate::node::CallContext;

pub(super) fn run(cx: &CallContext<'_>, mut from: Decoder<'_>, output: &mut Output) -> Result<(), NoResults> {
    let args = ReadlinkArgs::decode(&mut from)?;
    match readlink(cx, &args) {
        Ok(target) => finish(Ok(ReadlinkOk { target: &target }), output),
        Err(fault) => finish(Nfs2Result::<()>::Err(fault), output),
    }
}

/// A target longer than this version carries is an error, since half of a path leads elsewhere.
fn readlink(cx: &CallContext<'_>, args: &ReadlinkArgs) -> Nfs2Result<Vec<u8>> {
    let node = cx.node(&args.symlink.0)?;
    let target = node.fs().read_link(&node.context, &node.handle)?;
    if target.len() > MAX_PATH_BYTES { Err(vfs::Error::NameTooLong.into()) } else { Ok(target) }
}
