//! READLINK (RFC 1813 §3.3.5).

use buffer::Output;
use proto::nfs3::{PostOpAttr, ReadlinkArgs, ReadlinkOk};
use xdr::{Decode, Decoder};

use super::convert;
use super::reply::{Nfs3Result, finish};
use crate::fault::{Fault, NoResults};
use crate::node::CallContext;

pub(super) fn run(cx: &CallContext<'_>, mut from: Decoder<'_>, output: &mut Output) -> Result<(), NoResults> {
    let args = ReadlinkArgs::decode(&mut from)?;
    match readlink(cx, &args) {
        Ok((attributes, target)) => {
            finish(Nfs3Result::<_, PostOpAttr>::Ok(ReadlinkOk { attributes, target: &target }), output)
        }
        Err(failed) => finish(Nfs3Result::<(), _>::Err(failed), output),
    }
}

fn readlink(cx: &CallContext<'_>, args: &ReadlinkArgs) -> Nfs3Result<(PostOpAttr, Vec<u8>), PostOpAttr> {
    let node = cx.node(args.symlink.as_bytes())?;
    let target = node.fs().read_link(&node.context, &node.handle);
    let target = target.map_err(|error| Fault::from(error).with(|| convert::post_op(&node)))?;
    Ok((convert::post_op(&node), target))
}
