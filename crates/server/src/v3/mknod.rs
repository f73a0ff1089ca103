//! MKNOD (RFC 1813 §3.3.11).

use proto::nfs3::{CreateOk, MknodArgs, MknodData, Sattr, SpecData, WccData};
use vfs::{Device, NewNode};

use super::convert;
use super::make::make;
use super::reply::Nfs3Result;
use crate::fault::Fault;
use crate::make;
use crate::node::CallContext;

pub(super) fn mknod(cx: &CallContext<'_>, args: &MknodArgs<'_>) -> Nfs3Result<CreateOk, WccData> {
    make(cx, &args.place, |dir, place| {
        let (node, sattr) = node(&args.what)?;
        make::node(dir, place, node, &convert::set_attributes(&sattr)?)
    })
}

/// Regular files, directories and symbolic links have their own procedures: BADTYPE here.
fn node(what: &MknodData) -> Result<(NewNode<'static>, Sattr), Fault> {
    match *what {
        MknodData::BlockDevice(sattr, device) => Ok((NewNode::BlockDevice(numbers(device)), sattr)),
        MknodData::CharDevice(sattr, device) => Ok((NewNode::CharDevice(numbers(device)), sattr)),
        MknodData::Socket(sattr) => Ok((NewNode::Socket, sattr)),
        MknodData::Fifo(sattr) => Ok((NewNode::Fifo, sattr)),
        MknodData::Regular | MknodData::Directory | MknodData::Symlink => Err(Fault::BadType),
    }
}

fn numbers(device: SpecData) -> Device {
    Device { major: device.major, minor: device.minor }
}
