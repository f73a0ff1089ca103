//! FSINFO (RFC 1813 §3.3.19).

use proto::nfs3::{FSF_CANSETTIME, FSF_HOMOGENEOUS, FSF_LINK, FSF_SYMLINK, FsArgs, FsinfoOk, PostOpAttr, Time};
use vfs::Properties;

use super::convert;
use super::reply::Nfs3Result;
use crate::node::CallContext;
use crate::transfer;

/// The preferred multiple of READ and WRITE sizes, in bytes: a page.
const PREFERRED_MULTIPLE: u32 = 4096;
/// The preferred size of a READDIR, in bytes. It needs few calls for a large directory, and wastes little when a
/// program seeks in one. A listing on the event loop ends after 2 ms in any case.
const PREFERRED_READDIR: u32 = 256 << 10;

pub(super) fn fsinfo(cx: &CallContext<'_>, args: &FsArgs) -> Nfs3Result<FsinfoOk, PostOpAttr> {
    let node = cx.node(args.object.as_bytes())?;
    let properties = node.fs().properties();
    let max_bytes = transfer::max_bytes(cx);
    Ok(FsinfoOk {
        attributes: Some(convert::fattr(&node, &node.attributes()?)),
        read_max: max_bytes,
        read_preferred: max_bytes,
        read_multiple: PREFERRED_MULTIPLE,
        write_max: max_bytes,
        write_preferred: max_bytes,
        write_multiple: PREFERRED_MULTIPLE,
        readdir_preferred: PREFERRED_READDIR.min(max_bytes),
        max_file_bytes: properties.max_file_bytes,
        time_delta: Time { seconds: 0, nanoseconds: properties.time_step_ns },
        properties: bits(&properties),
    })
}

fn bits(properties: &Properties) -> u32 {
    let all = [
        (properties.hard_links, FSF_LINK),
        (properties.symlinks, FSF_SYMLINK),
        (properties.homogeneous, FSF_HOMOGENEOUS),
        (properties.times_can_be_set, FSF_CANSETTIME),
    ];
    all.iter().filter(|(holds, _)| *holds).fold(0, |bits, (_, bit)| bits | bit)
}
